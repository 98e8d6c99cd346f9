"""What Azure's content filter stopped, in words that repeat nothing of the text."""

from collections.abc import Mapping

# learn.microsoft.com/azure/foundry/openai/concepts/content-filter; a reply's other words are not repeated
FILTER_CATEGORIES = ("hate", "sexual", "violence", "self_harm", "profanity", "jailbreak", "indirect_attack")


def read_filter_result(body: object) -> object:
    """Return what Azure's content filter found in a prompt, from the body of its refusal; None where it is missing."""
    inner = body.get("innererror") if isinstance(body, Mapping) else None
    return inner.get("content_filter_result") if isinstance(inner, Mapping) else None


def describe_filtered_categories(results: object) -> str:
    """Return the categories that Azure's content filter stopped, as words to end a sentence with; "" for none."""
    found = results if isinstance(results, Mapping) else {}
    stopped = {name: each for name, each in found.items() if isinstance(each, Mapping)}
    known = [n for n in FILTER_CATEGORIES if stopped.get(n, {}).get("filtered") or stopped.get(n, {}).get("detected")]
    return f": its content filter found {', '.join(known)}" if known else ""
