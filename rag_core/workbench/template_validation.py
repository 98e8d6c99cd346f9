"""The prompts whose templates can be edited, and the validation of an edited template (S0-64, S0-69)."""

from rag_core.core.errors import InvalidRequest
from rag_core.prompts.augmentation import list_missing_variables

EXPANSION_PARTS = ("queries", "hyde", "intent", "entities")  # the keys that are read from a reply
MAX_TEMPLATE_CHARS = 20_000


def validate_template(tag: str, template: str) -> None:
    """Raise InvalidRequest for the field "wording" when the template of a prompt cannot work.

    A template must not be empty or too long. That of rag_augmentation must contain {query} and {contexts}, that of
    query_expansion must name the keys of the reply.
    """
    if not template.strip() or len(template) > MAX_TEMPLATE_CHARS:
        raise InvalidRequest("wording", f"must have 1 to {MAX_TEMPLATE_CHARS} characters")
    if tag == "rag_augmentation" and (variables := list_missing_variables(template)):
        raise InvalidRequest("wording", f"must contain {' and '.join(variables)}, which are replaced by their values")
    parts = [f'"{part}"' for part in EXPANSION_PARTS if f'"{part}"' not in template]
    if tag == "query_expansion" and parts:
        raise InvalidRequest("wording", f"must ask for a JSON object that also has {', '.join(parts)}")
