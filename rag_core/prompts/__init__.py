"""One function a prompt; its wording is the constant text of the .md of that name.

What documents and users wrote goes into the user message only, as JSON within a fence, so that it can neither pose as
our words nor end the fence: whatever could (brackets of tags, of chat templates' tokens, line ends) is escaped in it.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

from rag_core.core.model import Evidence
from rag_core.core.ports import Prompt

FENCE = re.compile(r"<data ([0-9a-f]{16})>\n(.*)\n</data \1>")  # "." ends at a line end: there is none in the data
CONTROL = re.compile(r"[<>&\x85\u2028\u2029]|\[(?=/?[A-Z_]+\])")  # <|im_end|>, </data>, [INST]; JSON's own "[" is not


def query_expansion(text: str, passages: Sequence[str], *, count: int, imagine: bool, told: str = "") -> Prompt:
    """Asks at once for `count` other wordings of a question, its intent, what it names and, if it is to `imagine`, a
    passage that would answer it (Gao et al., ACL 2023). `passages` of the index show how it speaks.

    `told` stands in for the packaged wording.
    """
    inputs = {"query": text, "passages": list(passages), "count": count, "imagine": imagine}
    schema = _object(queries=_texts(count), hyde={"type": "string"}, intent={"type": "string"}, entities=_texts(20))
    made = _prompt("query_expansion", inputs, schema=schema)
    return replace(made, system=told or made.system, max_tokens=1024)  # a passage beside the wordings


def rerank(text: str, passages: Sequence[str]) -> Prompt:
    """Asks for a grade of 0 to 10 a passage, in their order."""
    grades = {"type": "array", "items": {"type": "number"}, "minItems": len(passages), "maxItems": len(passages)}
    return _prompt("rerank", {"query": text, "passages": list(passages)}, schema=_object(scores=grades))


def summary(title: str, passages: Sequence[str]) -> Prompt:
    """Asks for a short summary of a document, given in order."""
    return _prompt("summary", {"title": title, "passages": list(passages)})


def answer(question: str, evidence: Sequence[Evidence]) -> Prompt:
    """Asks for an answer from the evidence alone, each sentence with the ids of the passages that state it."""
    cited = {"type": "array", "items": {"type": "string", "enum": [passage.id for passage in evidence]}}
    sentences = {"type": "array", "items": _object(text={"type": "string"}, evidence=cited)}
    inputs = {"question": question, "evidence": [given(passage) for passage in evidence]}
    return _prompt("answer", inputs, schema=_object(answerable={"type": "boolean"}, sentences=sentences))


def given(evidence: Evidence) -> Mapping[str, object]:
    """A passage as an answerer is given it."""
    chunk = evidence.hit.chunk
    place = chunk.place(evidence.start, evidence.end)
    return {
        "id": evidence.id,
        "title": chunk.title,
        "page": place.page if place else None,
        "section": " > ".join(chunk.heading_path),
        "text": evidence.text,
    }


def _prompt(task: str, inputs: Mapping[str, object], *, schema: Mapping[str, object] | None = None) -> Prompt:
    return Prompt(task=task, system=wording(task), user=_fenced(inputs), inputs=inputs, schema=schema)


def unfenced(user: str) -> object:
    """The data in a user message of ours.

    Raises:
        ValueError: it is not one fence and nothing else.
    """
    fence = FENCE.fullmatch(user)
    if fence is None:
        raise ValueError("the message is not one fence of data")
    return json.loads(fence[2])


def _fenced(inputs: Mapping[str, object]) -> str:
    """As JSON between two marks that do not stand in it. The same data is fenced alike, so that replies can be kept."""
    data = CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(inputs, ensure_ascii=False))
    sign = mark(data)
    return f"<data {sign}>\n{data}\n</data {sign}>"


def mark(data: str) -> str:
    """Drawn from the data, none of whose writers knows all of it; drawn again should it stand there."""
    drawn = hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return drawn if drawn not in data else mark(f"{drawn}{data}")


def _texts(most: int) -> Mapping[str, object]:
    return {"type": "array", "items": {"type": "string"}, "maxItems": most}


def _object(**properties: object) -> Mapping[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@cache
def wording(task: str) -> str:
    """What a model is told of the task; the same whatever the data."""
    return resources.files(__name__).joinpath(f"{task}.md").read_text("utf-8").strip()
