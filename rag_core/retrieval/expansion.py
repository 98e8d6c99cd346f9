"""Query expansion by a chat model: expanded queries, a HyDE answer, and the intent and entities of a question."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_core import prompts
from rag_core.core.ports import LLM
from rag_core.prompts.completions import make_invalid_completion_error, parse_completion_object
from rag_core.prompts.screening import screen_text
from rag_core.text.intent import normalize_intent
from rag_core.text.terms import normalize_query_text

MAX_EXPANDED_QUERY_CHARS = 400  # twice what the prompt allows: a longer text is not another wording of a question
MAX_HYDE_ANSWER_CHARS = 4000  # about as much as an embedder reads of one text
MAX_QUERY_ENTITIES = 20
MAX_QUERY_ENTITY_CHARS = 100


@dataclass(frozen=True, slots=True)
class QueryExpansion:
    """A question's expanded queries (each once), HyDE answer, intent and entities, as a model gave them.

    A part that is not there is empty; `missing_parts` names the parts that were requested and are not there, as words
    for a message.
    """

    expanded_queries: tuple[str, ...] = ()
    hyde_answer: str = ""
    intent: str = ""
    entities: tuple[str, ...] = ()
    missing_parts: tuple[str, ...] = ()


async def generate_expansion(
    query_text: str, passages: Sequence[str], llm: LLM, *, count: int, with_hyde: bool, template: str = ""
) -> QueryExpansion:
    """Ask a chat model for at most `count` expanded queries and, if `with_hyde`, a hypothetical answer (HyDE).

    HyDE is due to Gao et al., ACL 2023. `passages` show the model the vocabulary of the index. A reply that has only
    some of the parts is used for those. `template` is an edited prompt template; "" uses the packaged one.

    Raises:
        Unavailable: the model did not answer, or gave neither expanded query nor HyDE answer (llm_output_invalid).
    """
    reply = await llm.complete(
        prompts.build_query_expansion_prompt(query_text, passages, count=count, with_hyde=with_hyde, template=template)
    )
    expansion = expansion_from_reply(parse_completion_object(reply.text), query_text, count=count, with_hyde=with_hyde)
    if reply.local:  # a local technique may have no passages to work from
        return replace(expansion, missing_parts=())
    if expansion.missing_parts and not (expansion.expanded_queries or expansion.hyde_answer):
        raise make_invalid_completion_error(f"has no {' and no '.join(expansion.missing_parts)}")
    return expansion


def expansion_from_reply(fields: Mapping[str, Any], query_text: str, *, count: int, with_hyde: bool) -> QueryExpansion:
    """Parse the fields of a model's reply ("queries", "hyde", "intent", "entities") to an expansion of the query text.

    Links that the query text does not contain are removed, and unusable values are left out.
    """
    queries = tuple(_parse_expanded_queries(fields.get("queries"), query_text))[:count]
    hyde = _parse_screened_text(fields.get("hyde"), query_text)[:MAX_HYDE_ANSWER_CHARS] if with_hyde else ""
    intent = normalize_intent(_parse_screened_text(fields.get("intent"), query_text))
    entities = tuple(dict.fromkeys(_parse_short_texts(fields.get("entities"), query_text, MAX_QUERY_ENTITY_CHARS)))[
        :MAX_QUERY_ENTITIES
    ]
    is_complete = {"expanded query": bool(queries) or not count, "HyDE answer": bool(hyde) or not with_hyde}
    return QueryExpansion(queries, hyde, intent, entities, tuple(part for part, ok in is_complete.items() if not ok))


def _parse_expanded_queries(value: object, query_text: str) -> list[str]:
    """Return the usable expanded queries, each once: neither the query text itself nor texts that are too long."""
    by_normal_form = {normalize_query_text(query_text): query_text}
    for wording in _parse_short_texts(value, query_text, MAX_EXPANDED_QUERY_CHARS):
        by_normal_form.setdefault(normalize_query_text(wording), wording)
    return list(by_normal_form.values())[1:]


def _parse_short_texts(value: object, query_text: str, max_chars: int) -> Iterator[str]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str) and 0 < len(item.strip()) <= max_chars:
            yield screen_text(item.strip(), [query_text])[0]


def _parse_screened_text(value: object, query_text: str) -> str:
    return screen_text(value.strip(), [query_text])[0] if isinstance(value, str) else ""
