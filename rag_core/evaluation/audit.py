"""The isolation audit: plants canaries in several scopes and tries to read and change them from other scopes."""

import string
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from secrets import choice
from typing import get_args

from rag_core import service
from rag_core.core import presets
from rag_core.core.errors import Conflict, InvalidRequest, NotFound
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import (
    ANY_ENTITY,
    Chunk,
    Document,
    Entity,
    Filter,
    Query,
    SavedQuery,
    SavedResult,
    Scope,
    SearchType,
    Span,
    Work,
)
from rag_core.core.ports import ChunkStore, Probe
from rag_core.core.run import Run
from rag_core.ingestion import source_view
from rag_core.ingestion.indexing import Limits
from rag_core.retrieval.graph import Operation, explore

LIMIT = 100
TYPE = "canary"  # the type of the planted entities
FIELDS = (ANY_ENTITY, TYPE, "title", "source", "document_id", "page")
REFUSALS = (NotFound, InvalidRequest, Conflict)  # valid replies, whose texts are searched for leaks too
LIMITS = Limits(max_upload_bytes=1024, parse_timeout_s=10.0)  # of the planted documents


@dataclass(frozen=True, slots=True)
class Path:
    """An audited read or write path: the number of attempts, and a message for each leak."""

    name: str
    tries: int
    leaks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Canary:
    """The data planted in one scope, marked by three random words.

    Others query with `known`; `hidden` must not be returned to them, and `lost`, of a deleted document, to nobody.
    There are three documents: a live one, one with the hidden word in its id, and a deleted one.
    """

    scope: Scope
    known: str
    hidden: str
    lost: str

    @property
    def ids(self) -> tuple[str, str, str]:
        return f"audit-{self.known}", f"audit-{self.hidden}", f"audit-{self.known}-deleted"


@dataclass(frozen=True, slots=True)
class Reader:
    """A scope that attempts every path and knows all others' known words and ids.

    `secrets` maps the words that must not be returned to their owners.
    """

    scope: Scope
    others: tuple[Canary, ...]
    secrets: Mapping[str, str]

    @property
    def text(self) -> str:
        return f"Which {' '.join(canary.known for canary in self.others)} valve opens at what pressure?"

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(id for canary in self.others for id in (canary.ids[0], canary.ids[2]))


Way = Callable[[Reader, Kit], Iterator[Awaitable[object]]]


async def isolation(kit: Kit, *, only: Sequence[str] = ()) -> tuple[Path, ...]:
    """Plant canaries in four scopes and attempt every path, or `only` those named, from each other scope.

    All planted data is removed, also when the audit fails. Two scopes are workflows; two are users of a third workflow.
    More intruders have no user, or groups with the name of a user. Every attempt is made twice, in both orders of the
    intruders, so that values cached for one are offered to the next. Configured chat and embedding models are called.

    Raises:
        Unavailable: a service did not answer.
    """
    canaries = _canaries()
    shared_workflow_id = canaries[-1].scope.workflow_id
    extra_scopes = [
        Scope(shared_workflow_id),
        Scope(canaries[1].scope.workflow_id),
        Scope(shared_workflow_id, "eve", ("ann", "user:ann", "*")),
    ]
    intruders = [
        *(_reader(canary.scope, canaries) for canary in canaries),
        *(_reader(scope, canaries) for scope in extra_scopes),
    ]
    try:
        side_channel = await _side_channel(canaries, kit)
        order = [*intruders, *reversed(intruders)]
        audited_paths = [
            await _tried(name, build_attempts, order, kit)
            for name, build_attempts in WAYS.items()
            if not only or name in only
        ]
        return *audited_paths, side_channel, await _kept(canaries, kit.index.store)
    finally:
        await _removed(canaries, intruders, kit)


def _canaries() -> list[Canary]:
    first, second, third = (f"audit-{_word()}" for _ in range(3))
    scopes = [Scope(first), Scope(second, "ann"), Scope(third, "ann"), Scope(third, "bob")]
    return [Canary(scope, _word(), _word(), _word()) for scope in scopes]


def _word() -> str:
    return "".join(choice(string.ascii_lowercase) for _ in range(16))


def _reader(scope: Scope, canaries: Sequence[Canary]) -> Reader:
    other_canaries = tuple(canary for canary in canaries if canary.scope != scope)
    secrets = {word: _named(canary.scope) for canary in other_canaries for word in (canary.hidden, canary.lost)}
    own_canary = next((canary for canary in canaries if canary.scope == scope), None)
    own_deleted = {own_canary.lost: "a deleted document"} if own_canary else {}
    return Reader(scope, other_canaries, {**secrets, **own_deleted})


async def _tried(name: str, way: Way, readers: Sequence[Reader], kit: Kit) -> Path:
    leaks, attempts = dict[str, None](), 0
    for reader in readers:
        for attempt in way(reader, kit):
            attempts += 1
            leaks |= dict.fromkeys(_leaks(name, reader, await _answer(attempt)))
    return Path(name, attempts, tuple(leaks))


async def _answer(asked: Awaitable[object]) -> str:
    try:
        return repr(await asked).casefold()
    except REFUSALS as refusal:
        return repr((refusal.message, refusal.details)).casefold()


def _leaks(name: str, reader: Reader, answer: str) -> list[str]:
    owners = [owner for word, owner in reader.secrets.items() if word in answer]
    return [f"{name}: {_named(reader.scope)} received data of {owner}" for owner in owners]


def _named(scope: Scope) -> str:
    return f"{scope.workflow_id}/{scope.user_id or '(nobody)'}"


async def _side_channel(canaries: Sequence[Canary], kit: Kit) -> Path:
    """Plant the first canary, then the others; the replies to the first scope must not change."""
    first, *others = canaries
    await _plant(first, kit)
    builders = [_search, _select, _facets, _facet_fields]
    first_reader = Reader(first.scope, (first,), {})
    before = [await _answer(attempt) for build_attempts in builders for attempt in build_attempts(first_reader, kit)]
    for canary in others:
        await _plant(canary, kit)
    after = [await _answer(attempt) for build_attempts in builders for attempt in build_attempts(first_reader, kit)]
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    counts = f"{changed} of {len(before)} replies changed with documents of other scopes"
    message = f"scores: {counts}: give each tenant its own index"
    return Path("scores", len(before), (message,) if changed else ())


async def _plant(canary: Canary, kit: Kit) -> None:
    for id in canary.ids:
        document, chunk = _document(id, canary), _chunk(id, canary)
        await kit.index.add(document, [chunk], canary.scope)
        if kit.keep_originals:
            await kit.archive.save_work(_work(document, chunk))
    await _keep_question(canary, kit)
    await kit.index.store.delete(canary.ids[2], canary.scope)


def _document(id: str, canary: Canary) -> Document:
    scope = canary.scope
    return Document(
        id, scope.workflow_id, _title(canary), f"{canary.hidden}.txt", canary.hidden, "audit", user_id=scope.user_id
    )


def _chunk(id: str, canary: Canary) -> Chunk:
    """Create a chunk with the hidden word in every field that a reply may show, and the known word to query by."""
    secret_word = canary.lost if id == canary.ids[2] else canary.hidden
    content = f"The {canary.known} valve of {secret_word} opens at 7 bar. The pressure is set by {secret_word}."
    return Chunk(
        id=f"{id}:0",
        document_id=id,
        ordinal=0,
        content=content,
        title=_title(canary),
        source=f"{canary.hidden}.txt",
        content_hash=f"{id}{secret_word}",
        spans=(Span(0, len(content), 1, 1, 1),),
        heading_path=(secret_word,),
        summary=f"On {secret_word}.",
        entities=(Entity(TYPE, canary.known), Entity(TYPE, secret_word)),
        metadata={"known": canary.known, secret_word: secret_word},
    )


def _work(document: Document, chunk: Chunk) -> Work:
    data = chunk.content.encode()
    metadata = document.title, document.source, "text", document.content_hash
    return Work(document.id, document.workflow_id, *metadata, data)


def _title(canary: Canary) -> str:
    return f"Valves of {canary.hidden}"


async def _kept(canaries: Sequence[Canary], store: ChunkStore) -> Path:
    """Check that every scope still reads its own documents as planted, so that no intruder changed them."""
    problems = []
    for canary in canaries:
        contents = {chunk.document_id: chunk.content for chunk in await store.select(canary.scope, limit=LIMIT)}
        planted = {id: _chunk(id, canary).content for id in canary.ids[:2]}
        deleted_ids = [document.id for document in await store.deleted(canary.scope)]
        if contents != planted or deleted_ids != [canary.ids[2]]:
            problems.append(f"own documents: those of {_named(canary.scope)} differ from what was planted")
    return Path("own documents", len(canaries), tuple(problems))


async def _keep_question(canary: Canary, kit: Kit) -> None:
    """Save a query with a result in the canary's scope."""
    text = f"Which {canary.known} valve is {canary.hidden}?"
    saved_query = SavedQuery(0, "", text, retrieved_context=({"document_id": canary.ids[0], "content": text},))
    stored = await kit.archive.add(saved_query, canary.scope)
    await kit.archive.add_result(SavedResult(0, stored.id, text, canary.hidden), canary.scope)


async def _questions_removed(scope: Scope, kit: Kit) -> None:
    for saved_query in await kit.archive.queries(scope, limit=LIMIT):
        await kit.archive.remove(saved_query.id, scope)


async def _removed(canaries: Sequence[Canary], readers: Sequence[Reader], kit: Kit) -> None:
    """Remove all planted data, also documents that an intruder added under another scope's id."""
    for canary in canaries:
        await _questions_removed(canary.scope, kit)
    for scope, canary in product((intruder.scope for intruder in readers), canaries):
        for id in canary.ids:
            await kit.index.store.purge(id, scope)
            await kit.archive.remove_work(id, scope.workflow_id)


def _search(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_found(reader.text, scope, kit.index) for scope in _scopes(reader))


async def _found(text: str, scope: Scope, index: Index) -> object:
    vector = (await index.embed([text]))[0] if index.embedder.dimensions else None
    probes = [Probe("words", text), Probe("both", text, vector, text), Probe("meaning", "", vector)]
    return await index.find(probes, scope, limit=LIMIT)


def _select(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    store = kit.index.store
    return (
        store.select(scope, filters=filters, limit=LIMIT)
        for scope, filters in product(_scopes(reader), _filters(reader))
    )


def _get(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.get([f"{id}:0" for id in reader.ids], scope) for scope in _scopes(reader))


def _neighbours(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    chunks = [replace(_chunk(id, canary), id="", ordinal=1) for canary in reader.others for id in canary.ids]
    return (kit.index.store.neighbours(chunk, reader.scope, before=2, after=2) for chunk in chunks)


def _facets(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    store, fields = kit.index.store, (*FIELDS, "metadata.known")
    return (
        store.facets(fields, scope, filters=filters, limit=LIMIT)
        for scope, filters in product(_scopes(reader), _filters(reader))
    )


def _facet_fields(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.facet_fields(scope) for scope in _scopes(reader))


def _document_of(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.document(id, scope) for id, scope in product(reader.ids, _scopes(reader)))


def _documents(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.documents(scope) for scope in _scopes(reader))


def _deleted(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.deleted(scope) for scope in _scopes(reader))


def _vectors(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.vectors(id, reader.scope) for id in reader.ids)


def _consult(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    search_types: tuple[SearchType, ...] = get_args(SearchType) if kit.index.embedder.dimensions else ("keyword",)
    combinations = product(presets.PRESETS, search_types, _filters(reader)[:2])
    return (
        _consulted(*_query(reader, preset_name, search_type, filters), kit)
        for preset_name, search_type, filters in combinations
    )


async def _consulted(query: Query, pipeline: str, kit: Kit) -> object:
    run = Run()
    return await service.consult(query, kit, run, pipeline=pipeline), run.warnings, run.degraded


def _ask(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_asked(*_query(reader, "standard", "hybrid", filters), kit) for filters in _filters(reader)[:2])


async def _asked(query: Query, pipeline: str, kit: Kit) -> object:
    run = Run()
    return await service.ask(query, kit, run, pipeline=pipeline), run.warnings, run.degraded


def _query(reader: Reader, name: str, how: SearchType, filters: Sequence[Filter]) -> tuple[Query, str]:
    preset = presets.resolve(name, how=how)
    fields = (*FIELDS, "metadata.known") if preset.pipeline == "facets" else ()
    return preset.query(reader.text, reader.scope, filters=filters, facets=fields), preset.pipeline


def _summary(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (service.summarize(id, reader.scope, kit, Run()) for id in reader.ids)


def _listed(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (source_view.listed(scope, kit, Run()) for scope in _scopes(reader))


def _source(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt the source view: the extracted text and the original's lines."""
    combinations = product(reader.ids, _scopes(reader))
    return (source_view.view(id, scope, kit, Run(), LIMITS) for id, scope in combinations)


def _page(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt page images; a text has none, but only a reader of the document may learn that."""
    return (_drawn(id, canary, reader.scope, kit) for canary in reader.others for id in canary.ids)


async def _drawn(id: str, canary: Canary, scope: Scope, kit: Kit) -> object:
    try:
        return await source_view.page(id, 1, scope, kit, Run(), LIMITS), canary.hidden
    except NotFound as refusal:
        return refusal.code, refusal.code != "document_not_found" and canary.hidden


def _citations(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    text = " ".join(f"The {canary.known} valve opens at 7 bar." for canary in reader.others)
    return (service.cite(text, scope, kit, Run()) for scope in _scopes(reader))


def _graph(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    known_words = [canary.known for canary in reader.others]
    combinations = product(get_args(Operation), zip(known_words, [*known_words[1:], *known_words[:1]], strict=True))
    return (
        explore(operation, reader.scope, kit.index, entity=entity, target=target, depth=2)
        for operation, (entity, target) in combinations
    )


def _save_summary(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    store = kit.index.store
    return (_given(canary, store.save_summary(canary.ids[0], "changed", reader.scope)) for canary in reader.others)


def _delete(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_given(canary, kit.index.store.delete(canary.ids[0], reader.scope)) for canary in reader.others)


def _restore(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_given(canary, kit.index.store.restore(canary.ids[2], reader.scope)) for canary in reader.others)


def _purge(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    combinations = product(reader.others, (0, 2))
    return (
        _given(canary, kit.index.store.purge(canary.ids[position], reader.scope)) for canary, position in combinations
    )


def _replace(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt to replace documents of the same workflow; in another workflow an id is free to use."""
    return (
        _given(canary, kit.index.add(_renamed(id, reader), [], reader.scope))
        for canary in reader.others
        for id in canary.ids
        if canary.scope.workflow_id == reader.scope.workflow_id
    )


def _renamed(id: str, reader: Reader) -> Document:
    return Document(id, reader.scope.workflow_id, "", "", "", "audit", user_id=reader.scope.user_id)


async def _given(canary: Canary, change: Awaitable[object]) -> object:
    """Return the hidden word, which counts as a leak, when a change of another scope's data succeeded."""
    return await change is not False and canary.hidden


def _questions(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    """Attempt to list saved queries, and to read those of others, with their results, by id."""
    yield kit.archive.queries(reader.scope, limit=LIMIT)
    for canary in reader.others:
        yield _question(canary, reader.scope, kit)


async def _question(canary: Canary, scope: Scope, kit: Kit) -> object:
    saved_query, archive = await _kept_of(canary, kit), kit.archive
    replies = [await archive.query(saved_query.id, scope), await archive.results(saved_query.id, scope)]
    results = await archive.results(saved_query.id, canary.scope)
    return replies, [await archive.result(saved_query.id, result.id, scope) for result in results]


def _change_question(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_given(canary, _changed(canary, reader.scope, kit)) for canary in reader.others)


async def _changed(canary: Canary, scope: Scope, kit: Kit) -> object:
    return await kit.archive.change(replace(await _kept_of(canary, kit), intent="changed"), scope)


def _answer_question(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_given(canary, _answered(canary, reader.scope, kit)) for canary in reader.others)


async def _answered(canary: Canary, scope: Scope, kit: Kit) -> object:
    return await kit.archive.add_result(SavedResult(0, (await _kept_of(canary, kit)).id, "changed"), scope)


def _remove_question(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_given(canary, _taken(canary, reader.scope, kit)) for canary in reader.others)


async def _taken(canary: Canary, scope: Scope, kit: Kit) -> bool:
    return await kit.archive.remove((await _kept_of(canary, kit)).id, scope)


async def _kept_of(canary: Canary, kit: Kit) -> SavedQuery:
    """Return the canary's saved query, whose id anyone can guess. Raises NotFound once it was removed."""
    saved_queries = await kit.archive.queries(canary.scope, limit=1)
    if not saved_queries:
        raise NotFound("the planted query was removed", code="query_not_found")
    return saved_queries[0]


def _scopes(reader: Reader) -> list[Scope]:
    return [reader.scope, replace(reader.scope, document_ids=reader.ids)]


def _filters(reader: Reader) -> list[tuple[Filter, ...]]:
    known_words = tuple(canary.known for canary in reader.others)
    return [
        (),
        (Filter("document_id", "in", reader.ids),),
        (Filter(ANY_ENTITY, "in", known_words),),
        (Filter("metadata.known", "in", known_words),),
        (Filter("title", "ne", ""),),
    ]


WAYS: Mapping[str, Way] = {
    "search": _search,
    "select": _select,
    "get": _get,
    "neighbours": _neighbours,
    "facets": _facets,
    "facet_fields": _facet_fields,
    "document": _document_of,
    "documents": _documents,
    "deleted": _deleted,
    "vectors": _vectors,
    "consult": _consult,
    "ask": _ask,
    "summary": _summary,
    "listed": _listed,
    "source": _source,
    "page": _page,
    "citations": _citations,
    "graph": _graph,
    "questions": _questions,
    "change_question": _change_question,
    "answer_question": _answer_question,
    "remove_question": _remove_question,
    "save_summary": _save_summary,
    "replace": _replace,
    "restore": _restore,
    "delete": _delete,
    "purge": _purge,
}
