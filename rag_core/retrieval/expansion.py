"""Query expansion by a chat model: expanded queries, a HyDE answer, and the intent and entities of a question."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_core import prompts
from rag_core.core.ports import LLM
from rag_core.prompts.completions import complete_object, make_invalid_completion_error
from rag_core.prompts.screening import screen_text
from rag_core.retrieval.excerpts import cut_passage
from rag_core.text.intent import normalize_intent
from rag_core.text.terms import normalize_query_text

EXPANSION_EXCERPT_CHARS = 200  # of a passage: enough to show how the index speaks of what is asked for
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
    prompt = prompts.build_query_expansion_prompt(
        query_text,
        passages,
        excerpts=cut_grounding_passages(query_text, passages),
        count=count,
        with_hyde=with_hyde,
        template=template,
    )
    reply = await complete_object(prompt, llm, sources=[query_text], max_chars=MAX_HYDE_ANSWER_CHARS)
    expansion = expansion_from_fields(reply.fields, query_text, count=count, with_hyde=with_hyde)
    if reply.local:  # a local technique may have no passages to work from
        return replace(expansion, missing_parts=())
    if expansion.missing_parts and not (expansion.expanded_queries or expansion.hyde_answer):
        raise make_invalid_completion_error(f"has no {' and no '.join(expansion.missing_parts)}")
    return expansion


def cut_grounding_passages(query_text: str, passages: Sequence[str]) -> list[str]:
    """Return passages that show a model the vocabulary of the index, each cut to what bears on the question most."""
    return [cut_passage(query_text, passage, max_chars=EXPANSION_EXCERPT_CHARS) for passage in passages]


def expansion_from_fields(fields: Mapping[str, Any], query_text: str, *, count: int, with_hyde: bool) -> QueryExpansion:
    """Return the fields "queries", "hyde", "intent" and "entities", which were screened, as an expansion of a query.

    Unusable values are left out.
    """
    queries = tuple(_parse_expanded_queries(fields.get("queries"), query_text))[:count]
    hyde = _parse_text(fields.get("hyde")) if with_hyde else ""
    intent, _ = screen_text(normalize_intent(_parse_text(fields.get("intent"))), ())  # it may have cut an address
    entities = tuple(dict.fromkeys(_parse_short_texts(fields.get("entities"), MAX_QUERY_ENTITY_CHARS)))[
        :MAX_QUERY_ENTITIES
    ]
    is_complete = {"expanded query": bool(queries) or not count, "HyDE answer": bool(hyde) or not with_hyde}
    return QueryExpansion(queries, hyde, intent, entities, tuple(part for part, ok in is_complete.items() if not ok))


def _parse_expanded_queries(value: object, query_text: str) -> list[str]:
    """Return the usable expanded queries, each once: neither the query text itself nor texts that are too long."""
    by_normal_form = {normalize_query_text(query_text): query_text}
    for wording in _parse_short_texts(value, MAX_EXPANDED_QUERY_CHARS):
        by_normal_form.setdefault(normalize_query_text(wording), wording)
    return list(by_normal_form.values())[1:]


def _parse_short_texts(value: object, max_chars: int) -> Iterator[str]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, str) and 0 < len(item.strip()) <= max_chars:
            yield item.strip()


def _parse_text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
