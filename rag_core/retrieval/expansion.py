"""What a question becomes before it is searched for: other wordings, an imagined answer, its intent and its names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_core import prompts
from rag_core.core.ports import LLM
from rag_core.prompts.replies import garbled, read_object
from rag_core.prompts.screening import screen
from rag_core.text.intent import named

WORDING_CHARS = 400  # twice what the prompt allows: a longer one is not a wording of a question
IMAGINED_CHARS = 4000  # about what an embedder reads of one text
ENTITIES = 20
ENTITY_CHARS = 100


@dataclass(frozen=True, slots=True)
class Expansion:
    """A question's other `wordings`, each once, a text `imagined` to answer it, its `intent`, and what it names.

    What is not there is empty; `missing` names, in words, the parts that were asked for and are not.
    """

    wordings: tuple[str, ...] = ()
    imagined: str = ""
    intent: str = ""
    entities: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


async def expand(
    text: str, passages: Sequence[str], llm: LLM, *, count: int, imagine: bool, told: str = ""
) -> Expansion:
    """At most `count` other wordings of a question and, if it is to `imagine`, a passage that would answer it.

    A reply that has a part of this is used for that part. `told` is an edited wording of the prompt.

    Raises:
        Unavailable: the model did not answer, or with nothing of either (llm_output_invalid).
    """
    reply = await llm.complete(prompts.query_expansion(text, passages, count=count, imagine=imagine, told=told))
    found = understood(read_object(reply.text), text, count=count, imagine=imagine)
    if reply.local:  # it may have no passages to work from
        return replace(found, missing=())
    if found.missing and not (found.wordings or found.imagined):
        raise garbled(f"has no {' and no '.join(found.missing)}")
    return found


def understood(said: Mapping[str, Any], text: str, *, count: int, imagine: bool) -> Expansion:
    """What a reply in the fields of the prompt gives, without links that the question does not have."""
    wordings = tuple(_others(said.get("queries"), text))[:count]
    imagined = _text(said.get("hyde"), text)[:IMAGINED_CHARS] if imagine else ""
    intent = named(_text(said.get("intent"), text))
    entities = tuple(dict.fromkeys(_short(said.get("entities"), text, ENTITY_CHARS)))[:ENTITIES]
    parts = {"other wording": wordings or not count, "imagined answer": imagined or not imagine}
    return Expansion(wordings, imagined, intent, entities, tuple(name for name, part in parts.items() if not part))


def _others(said: object, text: str) -> list[str]:
    """The usable wordings, each once: neither the question itself again, nor what is too long for one."""
    first = {_folded(text): text}
    for wording in _short(said, text, WORDING_CHARS):
        first.setdefault(_folded(wording), wording)
    return list(first.values())[1:]


def _short(said: object, text: str, most: int) -> Iterator[str]:
    for one in said if isinstance(said, list) else ():
        if isinstance(one, str) and 0 < len(one.strip()) <= most:
            yield screen(one.strip(), [text])[0]


def _text(said: object, text: str) -> str:
    return screen(said.strip(), [text])[0] if isinstance(said, str) else ""


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
