"""Tries, on the store in use, everything that must not be possible: seeing what another scope has planted."""

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
TYPE = "canary"  # of the planted entities
FIELDS = (ANY_ENTITY, TYPE, "title", "source", "document_id", "page")
REFUSALS = (NotFound, InvalidRequest, Conflict)  # answers too: what they say is searched
LIMITS = Limits(max_upload_bytes=1024, parse_timeout_s=10.0)  # of what is planted


@dataclass(frozen=True, slots=True)
class Path:
    """A way to read or write: how often others tried it, and what they were given that is not theirs, in words."""

    name: str
    tries: int
    leaks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Canary:
    """What one scope plants. Others ask with `known`; `hidden` must not come back to them, `lost` to nobody.

    One document is there, one bears the hidden word in its very id, and one was deleted.
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
    """Who tries, knowing words and ids of all others; `secrets` are what must not come back, with whose they are."""

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
    """Plant canaries in scopes of their own and try every path from each of the others, or `only` those of these names.

    What was planted is removed, also when this fails. Two scopes are workflows, two are users in a third. Others ask
    without a user, and with groups of a user's name. Everything is asked twice, in both orders of who asks, so that
    what is remembered for one is offered to the next. Chat and embedding models that are configured are asked too.

    Raises:
        Unavailable: a part did not answer.
    """
    canaries = _canaries()
    shared = canaries[-1].scope.workflow_id
    strangers = [Scope(shared), Scope(canaries[1].scope.workflow_id), Scope(shared, "eve", ("ann", "user:ann", "*"))]
    readers = [*(_reader(canary.scope, canaries) for canary in canaries), *(_reader(s, canaries) for s in strangers)]
    try:
        moved = await _side_channel(canaries, kit)
        order = [*readers, *reversed(readers)]
        tried = [await _tried(name, way, order, kit) for name, way in WAYS.items() if not only or name in only]
        return *tried, moved, await _kept(canaries, kit.index.store)
    finally:
        await _removed(canaries, readers, kit)


def _canaries() -> list[Canary]:
    first, second, shared = (f"audit-{_word()}" for _ in range(3))
    scopes = [Scope(first), Scope(second, "ann"), Scope(shared, "ann"), Scope(shared, "bob")]
    return [Canary(scope, _word(), _word(), _word()) for scope in scopes]


def _word() -> str:
    return "".join(choice(string.ascii_lowercase) for _ in range(16))


def _reader(scope: Scope, canaries: Sequence[Canary]) -> Reader:
    others = tuple(canary for canary in canaries if canary.scope != scope)
    secrets = {word: _named(canary.scope) for canary in others for word in (canary.hidden, canary.lost)}
    own = next((canary for canary in canaries if canary.scope == scope), None)
    gone = {own.lost: "a deleted document"} if own else {}
    return Reader(scope, others, {**secrets, **gone})


async def _tried(name: str, way: Way, readers: Sequence[Reader], kit: Kit) -> Path:
    found, tries = dict[str, None](), 0
    for reader in readers:
        for asked in way(reader, kit):
            tries += 1
            found |= dict.fromkeys(_leaks(name, reader, await _answer(asked)))
    return Path(name, tries, tuple(found))


async def _answer(asked: Awaitable[object]) -> str:
    try:
        return repr(await asked).casefold()
    except REFUSALS as refusal:
        return repr((refusal.message, refusal.details)).casefold()


def _leaks(name: str, reader: Reader, answer: str) -> list[str]:
    given = [whose for word, whose in reader.secrets.items() if word in answer]
    return [f"{name}: {_named(reader.scope)} was given what is of {whose}" for whose in given]


def _named(scope: Scope) -> str:
    return f"{scope.workflow_id}/{scope.user_id or '(nobody)'}"


async def _side_channel(canaries: Sequence[Canary], kit: Kit) -> Path:
    """Plant the first, then the others: nothing that the first is told may move with what they write."""
    first, *others = canaries
    await _plant(first, kit)
    ways = [_search, _select, _facets, _facet_fields]
    reader = Reader(first.scope, (first,), {})
    before = [await _answer(asked) for way in ways for asked in way(reader, kit)]
    for canary in others:
        await _plant(canary, kit)
    after = [await _answer(asked) for way in ways for asked in way(reader, kit)]
    moved = sum(a != b for a, b in zip(before, after, strict=True))
    told = f"scores: {moved} of {len(before)} replies moved with what others wrote: give each tenant its own index"
    return Path("scores", len(before), (told,) if moved else ())


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
    """Every field that a reply may show bears the hidden word; the known one is what it can be asked by."""
    hidden = canary.lost if id == canary.ids[2] else canary.hidden
    content = f"The {canary.known} valve of {hidden} opens at 7 bar. The pressure is set by {hidden}."
    return Chunk(
        id=f"{id}:0",
        document_id=id,
        ordinal=0,
        content=content,
        title=_title(canary),
        source=f"{canary.hidden}.txt",
        content_hash=f"{id}{hidden}",
        spans=(Span(0, len(content), 1, 1, 1),),
        heading_path=(hidden,),
        summary=f"On {hidden}.",
        entities=(Entity(TYPE, canary.known), Entity(TYPE, hidden)),
        metadata={"known": canary.known, hidden: hidden},
    )


def _work(document: Document, chunk: Chunk) -> Work:
    data = chunk.content.encode()
    known = document.title, document.source, "text", document.content_hash
    return Work(document.id, document.workflow_id, *known, data)


def _title(canary: Canary) -> str:
    return f"Valves of {canary.hidden}"


async def _kept(canaries: Sequence[Canary], store: ChunkStore) -> Path:
    """Each has its own as it was planted: nobody is blind, and nobody has changed what is another's."""
    wrong = []
    for canary in canaries:
        contents = {chunk.document_id: chunk.content for chunk in await store.select(canary.scope, limit=LIMIT)}
        planted = {id: _chunk(id, canary).content for id in canary.ids[:2]}
        gone = [document.id for document in await store.deleted(canary.scope)]
        if contents != planted or gone != [canary.ids[2]]:
            wrong.append(f"own documents: those of {_named(canary.scope)} are not as they were planted")
    return Path("own documents", len(canaries), tuple(wrong))


async def _keep_question(canary: Canary, kit: Kit) -> None:
    """With a result."""
    text = f"Which {canary.known} valve is {canary.hidden}?"
    question = SavedQuery(0, "", text, retrieved_context=({"document_id": canary.ids[0], "content": text},))
    kept = await kit.archive.add(question, canary.scope)
    await kit.archive.add_result(SavedResult(0, kept.id, text, canary.hidden), canary.scope)


async def _questions_removed(scope: Scope, kit: Kit) -> None:
    for question in await kit.archive.queries(scope, limit=LIMIT):
        await kit.archive.remove(question.id, scope)


async def _removed(canaries: Sequence[Canary], readers: Sequence[Reader], kit: Kit) -> None:
    """Also what a reader has put under another's id."""
    for canary in canaries:
        await _questions_removed(canary.scope, kit)
    for scope, canary in product((reader.scope for reader in readers), canaries):
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
    return (store.select(s, filters=f, limit=LIMIT) for s, f in product(_scopes(reader), _filters(reader)))


def _get(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (kit.index.store.get([f"{id}:0" for id in reader.ids], scope) for scope in _scopes(reader))


def _neighbours(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    beside = [replace(_chunk(id, canary), id="", ordinal=1) for canary in reader.others for id in canary.ids]
    return (kit.index.store.neighbours(chunk, reader.scope, before=2, after=2) for chunk in beside)


def _facets(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    store, fields = kit.index.store, (*FIELDS, "metadata.known")
    return (store.facets(fields, s, filters=f, limit=LIMIT) for s, f in product(_scopes(reader), _filters(reader)))


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
    hows: tuple[SearchType, ...] = get_args(SearchType) if kit.index.embedder.dimensions else ("keyword",)
    ways = product(presets.PRESETS, hows, _filters(reader)[:2])
    return (_consulted(*_query(reader, name, how, filters), kit) for name, how, filters in ways)


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
    """What was read, and the lines as they came."""
    tried = product(reader.ids, _scopes(reader))
    return (source_view.view(id, scope, kit, Run(), LIMITS) for id, scope in tried)


def _page(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    """A text has none, which only who sees the document is told."""
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
    names = [canary.known for canary in reader.others]
    asked = product(get_args(Operation), zip(names, [*names[1:], *names[:1]], strict=True))
    return (explore(o, reader.scope, kit.index, entity=e, target=t, depth=2) for o, (e, t) in asked)


def _save_summary(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    store = kit.index.store
    return (_given(c, store.save_summary(c.ids[0], "changed", reader.scope)) for c in reader.others)


def _delete(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_given(c, kit.index.store.delete(c.ids[0], reader.scope)) for c in reader.others)


def _restore(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    return (_given(c, kit.index.store.restore(c.ids[2], reader.scope)) for c in reader.others)


def _purge(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    tried = product(reader.others, (0, 2))
    return (_given(c, kit.index.store.purge(c.ids[place], reader.scope)) for c, place in tried)


def _replace(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    """Under the ids of others of the same workflow: in another workflow they are one's own to take."""
    return (
        _given(canary, kit.index.add(_renamed(id, reader), [], reader.scope))
        for canary in reader.others
        for id in canary.ids
        if canary.scope.workflow_id == reader.scope.workflow_id
    )


def _renamed(id: str, reader: Reader) -> Document:
    return Document(id, reader.scope.workflow_id, "", "", "", "audit", user_id=reader.scope.user_id)


async def _given(canary: Canary, change: Awaitable[object]) -> object:
    """The hidden word, when a change of another's document was made."""
    return await change is not False and canary.hidden


def _questions(reader: Reader, kit: Kit) -> Iterator[Awaitable[object]]:
    """All that are listed, and each of another's by its id, with its results."""
    yield kit.archive.queries(reader.scope, limit=LIMIT)
    for canary in reader.others:
        yield _question(canary, reader.scope, kit)


async def _question(canary: Canary, scope: Scope, kit: Kit) -> object:
    kept, archive = await _kept_of(canary, kit), kit.archive
    given = [await archive.query(kept.id, scope), await archive.results(kept.id, scope)]
    results = await archive.results(kept.id, canary.scope)
    return given, [await archive.result(kept.id, result.id, scope) for result in results]


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
    """Its question, whose id anyone can guess. Raises NotFound once it is gone."""
    kept = await kit.archive.queries(canary.scope, limit=1)
    if not kept:
        raise NotFound("the planted question is gone", code="query_not_found")
    return kept[0]


def _scopes(reader: Reader) -> list[Scope]:
    return [reader.scope, replace(reader.scope, document_ids=reader.ids)]


def _filters(reader: Reader) -> list[tuple[Filter, ...]]:
    known = tuple(canary.known for canary in reader.others)
    return [
        (),
        (Filter("document_id", "in", reader.ids),),
        (Filter(ANY_ENTITY, "in", known),),
        (Filter("metadata.known", "in", known),),
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
