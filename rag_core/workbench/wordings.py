"""The prompts whose wording can be edited, and what an edited one must still say (S0-64, S0-69)."""

from rag_core.core.errors import InvalidRequest
from rag_core.prompts.augmentation import lacking

PARTS = ("queries", "hyde", "intent", "entities")  # of the reply, by the names that are read
TAGS = ("query_expansion", "rag_augmentation")
CHARS = 20_000


def check_wording(tag: str, wording: str) -> None:
    """Refuse a wording with which its step could not work.

    Raises:
        InvalidRequest: it is empty or too long, has no {query} or {contexts} (of rag_augmentation), or does not name
            the parts of the reply (of query_expansion); `wording` is named.
    """
    if not wording.strip() or len(wording) > CHARS:
        raise InvalidRequest("wording", f"must have 1 to {CHARS} characters")
    if tag == "rag_augmentation" and (variables := lacking(wording)):
        raise InvalidRequest("wording", f"must contain {' and '.join(variables)}, in place of which the values stand")
    parts = [f'"{part}"' for part in PARTS if f'"{part}"' not in wording]
    if tag == "query_expansion" and parts:
        raise InvalidRequest("wording", f"must ask for a JSON object with {', '.join(parts)} as well: these are read")
