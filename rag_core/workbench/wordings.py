"""The prompts whose templates can be edited, and the validation of an edited template (S0-64, S0-69)."""

from rag_core.core.errors import InvalidRequest
from rag_core.prompts.augmentation import lacking

PARTS = ("queries", "hyde", "intent", "entities")  # the keys that are read from a reply
TAGS = ("query_expansion", "rag_augmentation")
CHARS = 20_000


def check_wording(tag: str, wording: str) -> None:
    """Raise InvalidRequest for the field "wording" when the template of a prompt cannot work.

    A template must not be empty or too long. That of rag_augmentation must contain {query} and {contexts}, that of
    query_expansion must name the keys of the reply.
    """
    if not wording.strip() or len(wording) > CHARS:
        raise InvalidRequest("wording", f"must have 1 to {CHARS} characters")
    if tag == "rag_augmentation" and (variables := lacking(wording)):
        raise InvalidRequest("wording", f"must contain {' and '.join(variables)}, which are replaced by their values")
    parts = [f'"{part}"' for part in PARTS if f'"{part}"' not in wording]
    if tag == "query_expansion" and parts:
        raise InvalidRequest("wording", f"must ask for a JSON object that also has {', '.join(parts)}")
