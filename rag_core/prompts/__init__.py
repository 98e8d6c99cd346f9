"""One function a prompt; its wording is the constant text of the .md of that name.

What documents and users wrote goes into the user message only, as JSON, so that it cannot pose as instructions.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from rag_core.ports import Prompt


def query_expansion(text: str, passages: Sequence[str], *, count: int) -> Prompt:
    """Asks for `count` other wordings of a question; `passages` of the index show how it speaks."""
    wordings = {"type": "array", "items": {"type": "string"}, "maxItems": count}
    inputs = {"query": text, "passages": list(passages), "count": count}
    return _prompt("query_expansion", inputs, schema=_object(queries=wordings))


def hyde(text: str, passages: Sequence[str]) -> Prompt:
    """Asks for a passage that would answer the question (Gao et al., ACL 2023)."""
    return _prompt("hyde", {"query": text, "passages": list(passages)})


def rerank(text: str, passages: Sequence[str]) -> Prompt:
    """Asks for a grade of 0 to 10 a passage, in their order."""
    grades = {"type": "array", "items": {"type": "number"}, "minItems": len(passages), "maxItems": len(passages)}
    return _prompt("rerank", {"query": text, "passages": list(passages)}, schema=_object(scores=grades))


def summary(title: str, passages: Sequence[str]) -> Prompt:
    """Asks for a short summary of a document, given in order."""
    return _prompt("summary", {"title": title, "passages": list(passages)})


def _prompt(task: str, inputs: Mapping[str, object], *, schema: Mapping[str, object] | None = None) -> Prompt:
    user = json.dumps(inputs, ensure_ascii=False)
    return Prompt(task=task, system=_wording(task), user=user, inputs=inputs, schema=schema)


def _object(**properties: object) -> Mapping[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@cache
def _wording(task: str) -> str:
    return resources.files(__name__).joinpath(f"{task}.md").read_text("utf-8").strip()
