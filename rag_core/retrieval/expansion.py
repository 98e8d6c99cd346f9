"""Query expansion by a chat model: expanded queries, a HyDE answer, and the intent and entities of a question."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_core import prompts
from rag_core.core.ports import LLM
from rag_core.prompts.replies import garbled, read_object
from rag_core.prompts.screening import screen
from rag_core.text.intent import named

WORDING_CHARS = 400  # twice what the prompt allows: a longer text is not another wording of a question
IMAGINED_CHARS = 4000  # about as much as an embedder reads of one text
ENTITIES = 20
ENTITY_CHARS = 100


@dataclass(frozen=True, slots=True)
class Expansion:
    """A question's expanded queries (each once), HyDE answer, intent and entities, as a model gave them.

    A part that is not there is empty; `missing_parts` names the parts that were requested and are not there, as words
    for a message.
    """

    wordings: tuple[str, ...] = ()
    imagined: str = ""
    intent: str = ""
    entities: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


async def expand(
    text: str, passages: Sequence[str], llm: LLM, *, count: int, imagine: bool, told: str = ""
) -> Expansion:
    """Ask a chat model for at most `count` expanded queries and, if `with_hyde`, a hypothetical answer (HyDE).

    HyDE is due to Gao et al., ACL 2023. `passages` show the model the vocabulary of the index. A reply that has only
    some of the parts is used for those. `template` is an edited prompt template; "" uses the packaged one.

    Raises:
        Unavailable: the model did not answer, or gave neither expanded query nor HyDE answer (llm_output_invalid).
    """
    reply = await llm.complete(prompts.query_expansion(text, passages, count=count, imagine=imagine, told=told))
    expansion = understood(read_object(reply.text), text, count=count, imagine=imagine)
    if reply.local:  # a local technique may have no passages to work from
        return replace(expansion, missing=())
    if expansion.missing and not (expansion.wordings or expansion.imagined):
        raise garbled(f"has no {' and no '.join(expansion.missing)}")
    return expansion


def understood(said: Mapping[str, Any], text: str, *, count: int, imagine: bool) -> Expansion:
    """Parse the fields of a model's reply ("queries", "hyde", "intent", "entities") to an expansion of the query text.

    Links that the query text does not contain are removed, and unusable values are left out.
    """
    queries = tuple(_others(said.get("queries"), text))[:count]
    hyde = _text(said.get("hyde"), text)[:IMAGINED_CHARS] if imagine else ""
    intent = named(_text(said.get("intent"), text))
    entities = tuple(dict.fromkeys(_short(said.get("entities"), text, ENTITY_CHARS)))[:ENTITIES]
    is_complete = {"expanded query": bool(queries) or not count, "HyDE answer": bool(hyde) or not imagine}
    return Expansion(queries, hyde, intent, entities, tuple(part for part, ok in is_complete.items() if not ok))


def _others(value: object, query_text: str) -> list[str]:
    """Return the usable expanded queries, each once: neither the query text itself nor texts that are too long."""
    by_fold = {_folded(query_text): query_text}
    for wording in _short(value, query_text, WORDING_CHARS):
        by_fold.setdefault(_folded(wording), wording)
    return list(by_fold.values())[1:]


def _short(value: object, query_text: str, max_chars: int) -> Iterator[str]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str) and 0 < len(item.strip()) <= max_chars:
            yield screen(item.strip(), [query_text])[0]


def _text(value: object, query_text: str) -> str:
    return screen(value.strip(), [query_text])[0] if isinstance(value, str) else ""


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
