"""The isolation audit: plants canaries in several scopes and tries to read and change them from other scopes."""

import string
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from secrets import choice
from typing import get_args

from rag_core.core import presets
from rag_core.core.errors import Conflict, InvalidRequest, NotFound
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import (
    ANY_ENTITY_FIELD,
    Chunk,
    Document,
    Entity,
    Filter,
    Original,
    SavedQuery,
    SavedResult,
    Scope,
    SearchType,
    Span,
)
from rag_core.core.ports import ChunkStore, Probe
from rag_core.core.run import Run
from rag_core.ingestion import source_view
from rag_core.ingestion.upload import UploadLimits
from rag_core.rag import RAG
from rag_core.retrieval.graph import GraphOperation

AUDIT_RESULT_LIMIT = 100
CANARY_ENTITY_TYPE = "canary"  # the type of the planted entities
AUDITED_FACET_FIELDS = (ANY_ENTITY_FIELD, CANARY_ENTITY_TYPE, "title", "source", "document_id", "page")
REFUSAL_ERRORS = (NotFound, InvalidRequest, Conflict)  # valid replies, whose texts are searched for leaks too
CANARY_UPLOAD_LIMITS = UploadLimits(max_upload_bytes=1024, parse_timeout_s=10.0)  # of the planted documents


@dataclass(frozen=True, slots=True)
class AuditedPath:
    """An audited read or write path: the number of attempts, and a message for each leak."""

    name: str
    attempts: int
    leaks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Canary:
    """The data planted in one scope, marked by three random words.

    Others query with `known_word`; `secret_word` must not be returned to them, and `deleted_word`, of a deleted
    document, to nobody.
    There are three documents: a live one, one with the hidden word in its id, and a deleted one.
    """

    scope: Scope
    known_word: str
    secret_word: str
    deleted_word: str

    @property
    def document_ids(self) -> tuple[str, str, str]:
        return f"audit-{self.known_word}", f"audit-{self.secret_word}", f"audit-{self.known_word}-deleted"


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


async def run_isolation_audit(kit: Kit, *, only_paths: Sequence[str] = ()) -> tuple[AuditedPath, ...]:
    """Plant canaries in four scopes and attempt every path, or those of `only_paths`, from each other scope.

    All planted data is removed, also when the audit fails. Two scopes are workflows; two are users of a third workflow.
    More intruders have no user, or groups with the name of a user. Every attempt is made twice, in both orders of the
    intruders, so that values cached for one are offered to the next. Configured chat and embedding models are called.

    Raises:
        Unavailable: a service did not answer.
    """
    canaries = _create_canaries()
    shared_workflow_id = canaries[-1].scope.workflow_id
    extra_scopes = [
        Scope(shared_workflow_id),
        Scope(canaries[1].scope.workflow_id),
        Scope(shared_workflow_id, "eve", ("ann", "user:ann", "*")),
    ]
    intruders = [
        *(_create_intruder(canary.scope, canaries) for canary in canaries),
        *(_create_intruder(scope, canaries) for scope in extra_scopes),
    ]
    try:
        side_channel = await _audit_score_side_channel(canaries, kit)
        order = [*intruders, *reversed(intruders)]
        audited_paths = [
            await _audit_path(name, build_attempts, order, kit)
            for name, build_attempts in ATTEMPTS_BY_PATH.items()
            if not only_paths or name in only_paths
        ]
        return *audited_paths, side_channel, await _audit_own_documents(canaries, kit.index.store)
    finally:
        await _remove_planted_data(canaries, intruders, kit)


def _create_canaries() -> list[Canary]:
    first, second, third = (f"audit-{_create_random_word()}" for _ in range(3))
    scopes = [Scope(first), Scope(second, "ann"), Scope(third, "ann"), Scope(third, "bob")]
    return [Canary(scope, _create_random_word(), _create_random_word(), _create_random_word()) for scope in scopes]


def _create_random_word() -> str:
    return "".join(choice(string.ascii_lowercase) for _ in range(16))


def _create_intruder(scope: Scope, canaries: Sequence[Canary]) -> Intruder:
    other_canaries = tuple(canary for canary in canaries if canary.scope != scope)
    secrets = {
        word: _format_scope(canary.scope)
        for canary in other_canaries
        for word in (canary.secret_word, canary.deleted_word)
    }
    own_canary = next((canary for canary in canaries if canary.scope == scope), None)
    own_deleted = {own_canary.deleted_word: "a deleted document"} if own_canary else {}
    return Intruder(scope, other_canaries, {**secrets, **own_deleted})


async def _audit_path(
    name: str, build_attempts: AttemptBuilder, intruders: Sequence[Intruder], kit: Kit
) -> AuditedPath:
    leaks, attempts = dict[str, None](), 0
    for reader in intruders:
        for attempt in build_attempts(reader, kit):
            attempts += 1
            leaks |= dict.fromkeys(_find_leaks(name, reader, await _collect_reply_text(attempt)))
    return AuditedPath(name, attempts, tuple(leaks))


async def _collect_reply_text(attempt: Awaitable[object]) -> str:
    try:
        return repr(await attempt).casefold()
    except REFUSAL_ERRORS as refusal:
        return repr((refusal.message, refusal.details)).casefold()


def _find_leaks(name: str, intruder: Intruder, reply_text: str) -> list[str]:
    owners = [owner for word, owner in intruder.owners_by_secret.items() if word in reply_text]
    return [f"{name}: {_format_scope(intruder.scope)} received data of {owner}" for owner in owners]


def _format_scope(scope: Scope) -> str:
    return f"{scope.workflow_id}/{scope.user_id or '(nobody)'}"


async def _audit_score_side_channel(canaries: Sequence[Canary], kit: Kit) -> AuditedPath:
    """Plant the first canary, then the others; the replies to the first scope must not change."""
    first, *others = canaries
    await _plant_canary(first, kit)
    builders = [_attempt_search, _attempt_select, _attempt_facets, _attempt_facet_fields]
    first_reader = Intruder(first.scope, (first,), {})
    before = [
        await _collect_reply_text(attempt)
        for build_attempts in builders
        for attempt in build_attempts(first_reader, kit)
    ]
    for canary in others:
        await _plant_canary(canary, kit)
    after = [
        await _collect_reply_text(attempt)
        for build_attempts in builders
        for attempt in build_attempts(first_reader, kit)
    ]
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    counts = f"{changed} of {len(before)} replies changed with documents of other scopes"
    message = f"scores: {counts}: give each tenant its own index"
    return AuditedPath("scores", len(before), (message,) if changed else ())


async def _plant_canary(canary: Canary, kit: Kit) -> None:
    for id in canary.document_ids:
        document, chunk = _create_canary_document(id, canary), _create_canary_chunk(id, canary)
        await kit.index.add_document(document, [chunk], canary.scope)
        if kit.keep_originals:
            await kit.archive.save_original(_create_canary_original(document, chunk))
    await _plant_saved_query(canary, kit)
    await kit.index.store.delete(canary.document_ids[2], canary.scope)


def _create_canary_document(id: str, canary: Canary) -> Document:
    scope = canary.scope
    return Document(
        id,
        scope.workflow_id,
        _format_canary_title(canary),
        f"{canary.secret_word}.txt",
        canary.secret_word,
        "audit",
        user_id=scope.user_id,
    )


def _create_canary_chunk(id: str, canary: Canary) -> Chunk:
    """Create a chunk with the hidden word in every field that a reply may show, and the known word to query by."""
    secret_word = canary.deleted_word if id == canary.document_ids[2] else canary.secret_word
    content = f"The {canary.known_word} valve of {secret_word} opens at 7 bar. The pressure is set by {secret_word}."
    return Chunk(
        id=f"{id}:0",
        document_id=id,
        ordinal=0,
        content=content,
        title=_format_canary_title(canary),
        source=f"{canary.secret_word}.txt",
        content_hash=f"{id}{secret_word}",
        spans=(Span(0, len(content), 1, 1, 1),),
        heading_path=(secret_word,),
        summary=f"On {secret_word}.",
        entities=(Entity(CANARY_ENTITY_TYPE, canary.known_word), Entity(CANARY_ENTITY_TYPE, secret_word)),
        metadata={"known": canary.known_word, secret_word: secret_word},
    )


def _create_canary_original(document: Document, chunk: Chunk) -> Original:
    data = chunk.content.encode()
    metadata = document.title, document.source, "text", document.content_hash
    return Original(document.id, document.workflow_id, *metadata, data)


def _format_canary_title(canary: Canary) -> str:
    return f"Valves of {canary.secret_word}"


async def _audit_own_documents(canaries: Sequence[Canary], store: ChunkStore) -> AuditedPath:
    """Check that every scope still reads its own documents as planted, so that no intruder changed them."""
    problems = []
    for canary in canaries:
        contents = {
            chunk.document_id: chunk.content for chunk in await store.select(canary.scope, limit=AUDIT_RESULT_LIMIT)
        }
        planted = {id: _create_canary_chunk(id, canary).content for id in canary.document_ids[:2]}
        deleted_ids = [document.id for document in await store.list_deleted(canary.scope)]
        if contents != planted or deleted_ids != [canary.document_ids[2]]:
            problems.append(f"own documents: those of {_format_scope(canary.scope)} differ from what was planted")
    return AuditedPath("own documents", len(canaries), tuple(problems))


async def _plant_saved_query(canary: Canary, kit: Kit) -> None:
    """Save a query with a result in the canary's scope."""
    text = f"Which {canary.known_word} valve is {canary.secret_word}?"
    saved_query = SavedQuery(0, "", text, retrieved_context=({"document_id": canary.document_ids[0], "content": text},))
    stored = await kit.archive.add_query(saved_query, canary.scope)
    await kit.archive.add_result(SavedResult(0, stored.id, text, canary.secret_word), canary.scope)


async def _remove_saved_queries(scope: Scope, kit: Kit) -> None:
    for saved_query in await kit.archive.list_queries(scope, limit=AUDIT_RESULT_LIMIT):
        await kit.archive.delete_query(saved_query.id, scope)


async def _remove_planted_data(canaries: Sequence[Canary], intruders: Sequence[Intruder], kit: Kit) -> None:
    """Remove all planted data, also documents that an intruder added under another scope's id."""
    for canary in canaries:
        await _remove_saved_queries(canary.scope, kit)
    for scope, canary in product((intruder.scope for intruder in intruders), canaries):
        for id in canary.document_ids:
            await kit.index.store.purge(id, scope)
            await kit.archive.delete_original(id, scope.workflow_id)


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
        replace(_create_canary_chunk(id, canary), id="", ordinal=1)
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


def _attempt_consult(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    search_types: tuple[SearchType, ...] = get_args(SearchType) if kit.index.embedder.dimensions else ("keyword",)
    combinations = product(presets.PRESETS, search_types, _build_intruder_filters(intruder)[:2])
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
    saved_query, archive = await _get_planted_query(canary, kit), kit.archive
    replies = [await archive.load_query(saved_query.id, scope), await archive.list_results(saved_query.id, scope)]
    results = await archive.list_results(saved_query.id, canary.scope)
    return replies, [await archive.load_result(saved_query.id, result.id, scope) for result in results]


def _attempt_change_saved_query(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        _reveal_if_changed(canary, _change_saved_query(canary, intruder.scope, kit))
        for canary in intruder.other_canaries
    )


async def _change_saved_query(canary: Canary, scope: Scope, kit: Kit) -> object:
    return await kit.archive.update_query(replace(await _get_planted_query(canary, kit), intent="changed"), scope)


def _attempt_add_saved_result(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        _reveal_if_changed(canary, _add_saved_result(canary, intruder.scope, kit)) for canary in intruder.other_canaries
    )


async def _add_saved_result(canary: Canary, scope: Scope, kit: Kit) -> object:
    return await kit.archive.add_result(SavedResult(0, (await _get_planted_query(canary, kit)).id, "changed"), scope)


def _attempt_remove_saved_query(intruder: Intruder, kit: Kit) -> Iterator[Awaitable[object]]:
    return (
        _reveal_if_changed(canary, _remove_saved_query(canary, intruder.scope, kit))
        for canary in intruder.other_canaries
    )


async def _remove_saved_query(canary: Canary, scope: Scope, kit: Kit) -> bool:
    return await kit.archive.delete_query((await _get_planted_query(canary, kit)).id, scope)


async def _get_planted_query(canary: Canary, kit: Kit) -> SavedQuery:
    """Return the canary's saved query, whose id anyone can guess. Raises NotFound once it was removed."""
    saved_queries = await kit.archive.list_queries(canary.scope, limit=1)
    if not saved_queries:
        raise NotFound("the planted query was removed", code="query_not_found")
    return saved_queries[0]


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
    "save_summary": _attempt_save_summary,
    "replace": _attempt_replace,
    "restore": _attempt_restore,
    "delete": _attempt_delete,
    "purge": _attempt_purge,
}
