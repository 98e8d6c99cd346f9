"""The attempts of the isolation audit: every path by which a scope could read or change the data of another."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import get_args

from rag_core.core import presets
from rag_core.core.errors import NotFound
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import ANY_ENTITY_FIELD, Document, Filter, SavedResult, Scope, SearchType
from rag_core.core.ports import Probe
from rag_core.core.run import Run
from rag_core.evaluation.isolation_canaries import (
    AUDIT_RESULT_LIMIT,
    CANARY_ENTITY_TYPE,
    Canary,
    create_canary_chunk,
    create_canary_document,
    load_planted_query,
)
from rag_core.ingestion import source_view
from rag_core.ingestion.upload import UploadLimits
from rag_core.rag import RAG
from rag_core.retrieval.graph import GraphOperation

AUDITED_FACET_FIELDS = (ANY_ENTITY_FIELD, CANARY_ENTITY_TYPE, "title", "source", "document_id", "page")
CANARY_UPLOAD_LIMITS = UploadLimits(max_upload_bytes=1024, parse_timeout_s=10.0)  # of the planted documents


@dataclass(frozen=True, slots=True)
class Intruder:
    """A scope that attempts every path and knows all others' known words and ids.

    `secrets` maps the words that must not be returned to their owners.
    """

    scope: Scope
    other_canaries: tuple[Canary, ...]
    owners_by_secret: Mapping[str, str]

    @property
    def query_text(self) -> str:
        return f"Which {' '.join(canary.known_word for canary in self.other_canaries)} valve opens at what pressure?"

    @property
    def document_ids(self) -> tuple[str, ...]:
        return tuple(id for canary in self.other_canaries for id in (canary.document_ids[0], canary.document_ids[2]))


AttemptBuilder = Callable[[Intruder, Kit], Iterator[Awaitable[object]]]


def _attempt_search(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_search_store(intruder.query_text, scope, kit.index) for scope in _build_intruder_scopes(intruder))


async def _search_store(query_text: str, scope: Scope, index: Index) -> object:
    vector = (await index.embed_queries([query_text]))[0] if index.embedder.dimensions else None
    probes = [Probe("words", query_text), Probe("both", query_text, vector, query_text), Probe("meaning", "", vector)]
    return await index.search(probes, scope, limit=AUDIT_RESULT_LIMIT)


def _attempt_select(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    store = kit.index.store
    return (
        store.select(scope, filters=filters, limit=AUDIT_RESULT_LIMIT)
        for scope, filters in product(_build_intruder_scopes(intruder), _build_intruder_filters(intruder))
    )


def _attempt_get(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        kit.index.store.get([f"{id}:0" for id in intruder.document_ids], scope)
        for scope in _build_intruder_scopes(intruder)
    )


def _attempt_neighbours(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    chunks = [
        replace(create_canary_chunk(id, canary), id="", ordinal=1)
        for canary in intruder.other_canaries
        for id in canary.document_ids
    ]
    return (kit.index.store.load_neighbours(chunk, intruder.scope, before=2, after=2) for chunk in chunks)


def _attempt_facets(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    store, fields = kit.index.store, (*AUDITED_FACET_FIELDS, "metadata.known")
    return (
        store.count_facets(fields, scope, filters=filters, limit=AUDIT_RESULT_LIMIT)
        for scope, filters in product(_build_intruder_scopes(intruder), _build_intruder_filters(intruder))
    )


def _attempt_facet_fields(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.list_facet_fields(scope) for scope in _build_intruder_scopes(intruder))


def _attempt_document(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        kit.index.store.load_document(id, scope)
        for id, scope in product(intruder.document_ids, _build_intruder_scopes(intruder))
    )


def _attempt_documents(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.list_documents(scope) for scope in _build_intruder_scopes(intruder))


def _attempt_deleted(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.list_deleted(scope) for scope in _build_intruder_scopes(intruder))


def _attempt_vectors(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.load_vectors(id, intruder.scope) for id in intruder.document_ids)


def _attempt_embedded(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt to learn, by guessing a document with its text, that it is there."""
    return (
        _reveal_if_changed(
            canary,
            kit.index.store.is_embedded(
                create_canary_document(id, canary), [create_canary_chunk(id, canary)], intruder.scope
            ),
        )
        for canary in intruder.other_canaries
        for id in canary.document_ids
    )


def _attempt_consult(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    search_types: tuple[SearchType, ...] = get_args(SearchType) if kit.index.embedder.dimensions else ("keyword",)
    names = [
        name for name, preset in presets.PRESETS.items() if preset.pipeline != "agentic" or kit.index.knowledge_base
    ]
    combinations = product(names, search_types, _build_intruder_filters(intruder)[:2])
    return (
        _consult_with_warnings(intruder, preset_name, search_type, filters, kit)
        for preset_name, search_type, filters in combinations
    )


async def _consult_with_warnings(
    intruder: Intruder, preset_name: str, search_type: SearchType, filters: Sequence[Filter], kit: Kit
) -> object:
    preset = presets.resolve_preset(preset_name, search_type=search_type)
    fields = (*AUDITED_FACET_FIELDS, "metadata.known") if preset.pipeline == "facets" else ()
    reply = await RAG(kit).search(
        intruder.query_text, scope=intruder.scope, filters=filters, facets=fields, preset=preset
    )
    return reply.result, reply.run.warnings, reply.run.degraded


def _attempt_ask(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_ask_with_warnings(intruder, filters, kit) for filters in _build_intruder_filters(intruder)[:2])


async def _ask_with_warnings(intruder: Intruder, filters: Sequence[Filter], kit: Kit) -> object:
    reply = await RAG(kit).answer(intruder.query_text, scope=intruder.scope, filters=filters, preset="standard")
    return reply.answer, reply.run.warnings, reply.run.degraded


def _attempt_summary(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (RAG(kit).summarize(id, scope=intruder.scope) for id in intruder.document_ids)


def _attempt_listing(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (RAG(kit).documents(scope=scope) for scope in _build_intruder_scopes(intruder))


def _attempt_source_view(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt the source view: the extracted text and the original's lines."""
    combinations = product(intruder.document_ids, _build_intruder_scopes(intruder))
    return (source_view.view_document(id, scope, kit, Run(), CANARY_UPLOAD_LIMITS) for id, scope in combinations)


def _attempt_page_image(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt page images; a text has none, but only a reader of the document may learn that."""
    return (
        _render_canary_page(id, canary, intruder.scope, kit)
        for canary in intruder.other_canaries
        for id in canary.document_ids
    )


async def _render_canary_page(id: str, canary: Canary, scope: Scope, kit: Kit) -> object:
    try:
        return await source_view.view_page(id, 1, scope, kit, Run(), CANARY_UPLOAD_LIMITS), canary.secret_word
    except NotFound as refusal:
        return refusal.code, refusal.code != "document_not_found" and canary.secret_word


def _attempt_citations(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    text = " ".join(f"The {canary.known_word} valve opens at 7 bar." for canary in intruder.other_canaries)
    return (RAG(kit).cite(text, scope=scope) for scope in _build_intruder_scopes(intruder))


def _attempt_graph(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    known_words = [canary.known_word for canary in intruder.other_canaries]
    combinations = product(
        get_args(GraphOperation), zip(known_words, [*known_words[1:], *known_words[:1]], strict=True)
    )
    return (
        RAG(kit).graph(operation, scope=intruder.scope, entity=entity, target=target, depth=2)
        for operation, (entity, target) in combinations
    )


def _attempt_save_summary(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    store = kit.index.store
    return (
        _reveal_if_changed(canary, store.save_summary(canary.document_ids[0], "changed", intruder.scope))
        for canary in intruder.other_canaries
    )


def _attempt_delete(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        _reveal_if_changed(canary, kit.index.store.delete(canary.document_ids[0], intruder.scope))
        for canary in intruder.other_canaries
    )


def _attempt_restore(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        _reveal_if_changed(canary, kit.index.store.restore(canary.document_ids[2], intruder.scope))
        for canary in intruder.other_canaries
    )


def _attempt_purge(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    combinations = product(intruder.other_canaries, (0, 2))
    return (
        _reveal_if_changed(canary, kit.index.store.purge(canary.document_ids[position], intruder.scope))
        for canary, position in combinations
    )


def _attempt_replace(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt to replace documents of the same workflow; in another workflow an id is free to use."""
    return (
        _reveal_if_changed(canary, kit.index.add_document(_create_intruder_document(id, intruder), [], intruder.scope))
        for canary in intruder.other_canaries
        for id in canary.document_ids
        if canary.scope.workflow_id == intruder.scope.workflow_id
    )


def _create_intruder_document(id: str, intruder: Intruder) -> Document:
    return Document(id, intruder.scope.workflow_id, "", "", "", "audit", user_id=intruder.scope.user_id)


async def _reveal_if_changed(canary: Canary, change: Awaitable[object]) -> object:
    """Return the hidden word, which counts as a leak, when a change of another scope's data succeeded."""
    return await change is not False and canary.secret_word


def _attempt_read_saved_queries(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt to list saved queries, and to read those of others, with their results, by id."""
    yield kit.archive.list_queries(intruder.scope, limit=AUDIT_RESULT_LIMIT)
    for canary in intruder.other_canaries:
        yield _read_saved_query(canary, intruder.scope, kit)


async def _read_saved_query(canary: Canary, scope: Scope, kit: Kit) -> object:
    saved_query, archive = await load_planted_query(canary, kit), kit.archive
    replies = [await archive.load_query(saved_query.id, scope), await archive.list_results(saved_query.id, scope)]
    results = await archive.list_results(saved_query.id, canary.scope)
    return replies, [await archive.load_result(saved_query.id, result.id, scope) for result in results]


def _attempt_change_saved_query(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        _reveal_if_changed(canary, _change_saved_query(canary, intruder.scope, kit))
        for canary in intruder.other_canaries
    )


async def _change_saved_query(canary: Canary, scope: Scope, kit: Kit) -> object:
    return await kit.archive.update_query(replace(await load_planted_query(canary, kit), intent="changed"), scope)


def _attempt_add_saved_result(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        _reveal_if_changed(canary, _add_saved_result(canary, intruder.scope, kit)) for canary in intruder.other_canaries
    )


async def _add_saved_result(canary: Canary, scope: Scope, kit: Kit) -> object:
    return await kit.archive.add_result(SavedResult(0, (await load_planted_query(canary, kit)).id, "changed"), scope)


def _attempt_remove_saved_query(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        _reveal_if_changed(canary, _remove_saved_query(canary, intruder.scope, kit))
        for canary in intruder.other_canaries
    )


async def _remove_saved_query(canary: Canary, scope: Scope, kit: Kit) -> bool:
    return await kit.archive.delete_query((await load_planted_query(canary, kit)).id, scope)


def _attempt_read_answer_logs(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt to poll the answers of others, by their ids."""
    return (
        kit.answer_log.read(canary.progress_id, scope)
        for canary, scope in product(intruder.other_canaries, _build_intruder_scopes(intruder))
    )


def _build_intruder_scopes(intruder: Intruder) -> list[Scope]:
    return [intruder.scope, replace(intruder.scope, document_ids=intruder.document_ids)]


def _build_intruder_filters(intruder: Intruder) -> list[tuple[Filter, ...]]:
    known_words = tuple(canary.known_word for canary in intruder.other_canaries)
    return [
        (),
        (Filter("document_id", "in", intruder.document_ids),),
        (Filter(ANY_ENTITY_FIELD, "in", known_words),),
        (Filter("metadata.known", "in", known_words),),
        (Filter("title", "ne", ""),),
    ]


ATTEMPTS_BY_PATH: Mapping[str, AttemptBuilder] = {
    "search": _attempt_search,
    "select": _attempt_select,
    "get": _attempt_get,
    "neighbours": _attempt_neighbours,
    "facets": _attempt_facets,
    "facet_fields": _attempt_facet_fields,
    "document": _attempt_document,
    "documents": _attempt_documents,
    "deleted": _attempt_deleted,
    "vectors": _attempt_vectors,
    "embedded": _attempt_embedded,
    "consult": _attempt_consult,
    "ask": _attempt_ask,
    "summary": _attempt_summary,
    "listed": _attempt_listing,
    "source": _attempt_source_view,
    "page": _attempt_page_image,
    "citations": _attempt_citations,
    "graph": _attempt_graph,
    "questions": _attempt_read_saved_queries,
    "change_question": _attempt_change_saved_query,
    "answer_question": _attempt_add_saved_result,
    "remove_question": _attempt_remove_saved_query,
    "answer_events": _attempt_read_answer_logs,
    "save_summary": _attempt_save_summary,
    "replace": _attempt_replace,
    "restore": _attempt_restore,
    "delete": _attempt_delete,
    "purge": _attempt_purge,
}
# the paths whose replies hold scores or counts, which the documents of other scopes must not change
SCORED_ATTEMPTS = tuple(ATTEMPTS_BY_PATH[name] for name in ("search", "select", "facets", "facet_fields"))
