"""The audit finds what each part of a store gives away when it forgets whose it is."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from local_emulator.search_service import SearchService, run_search_service
from rag_core.core.errors import RagError
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Facet, Original, Scope
from rag_core.core.ports import Archive
from rag_core.evaluation.isolation_audit import run_isolation_audit
from rag_core.stores.archive import ArchiveDatabase, SqlAnswerLog, SqlArchive, answer_log
from rag_core.stores.archive import sql_archive as statements
from rag_core.stores.azure_search import AzureSearchStore
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import ConceptEmbedder
from tests.fakes import kit as small


def kit(index: Index, archive: Archive | None = None) -> Kit:
    database = ArchiveDatabase(None)
    return replace(small(index), archive=archive or SqlArchive(database), answer_log=SqlAnswerLog(database))


PATHS_BY_METHOD = {  # the path of `rag audit` on which each method of a store is tried
    **{method: method for method in ("search", "select", "get", "save_summary", "delete", "restore", "purge")},
    "load_neighbours": "neighbours",
    "count_facets": "facets",
    "list_facet_fields": "facet_fields",
    "load_document": "document",
    "list_documents": "documents",
    "list_deleted": "deleted",
    "load_vectors": "vectors",
    "replace_document": "replace",
}


class Forgetful:
    """A store of which one method answers for every scope that ever wrote."""

    def __init__(self, store: Any, method: str) -> None:
        self.store, self.method, self.scopes = store, method, dict[Scope, None]()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if name == "replace_document":
                await self._taken_over(args[0].id) if self.method == name else None
                self.scopes[args[3]] = None
            if name != self.method or name == "replace_document":
                return await getattr(self.store, name)(*args, **kwargs)
            own = [a for a in args if isinstance(a, Scope)]
            every = [[s if isinstance(a, Scope) else a for a in args] for s in dict.fromkeys([*own, *self.scopes])]
            return merged([a for one in every async for a in answers(getattr(self.store, name), one, kwargs)])

        return call

    async def _taken_over(self, document_id: str) -> None:
        for scope in self.scopes:
            await self.store.purge(document_id, scope)


async def answers(method: Callable[..., Awaitable[Any]], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    with suppress(RagError):
        yield await method(*args, **kwargs)


def merged(given: Sequence[Any]) -> Any:
    """All of them in one: lists behind each other, mappings in each other, the first that is something."""
    given = given or [None]
    first = next((one for one in given if one), given[0])
    if isinstance(first, dict):
        return {name: value for one in given for name, value in one.items()}
    if isinstance(first, bool) or not isinstance(first, list):
        return first
    if first and isinstance(first[0], list):
        return [[hit for ranking in rankings for hit in ranking] for rankings in zip(*given, strict=True)]
    if first and isinstance(first[0], Facet):
        return [replace(f[0], buckets=sum((one.buckets for one in f), ())) for f in zip(*given, strict=True)]
    return [item for one in given for item in one]


async def test_no_canary_is_seen_from_outside_and_nothing_is_left_behind() -> None:
    """S3-15, S1-25, (RELIABILITY C18), (RELIABILITY C19): by any path, in any order, and no score moves."""
    store = EmbeddedStore(None)
    found = await run_isolation_audit(kit(Index(store, ConceptEmbedder())))
    assert [path for path in found if path.leaks] == []
    assert all(path.attempts for path in found)
    described = await store.describe()
    assert (described.documents, described.chunks, described.space) == (0, 0, "")


@pytest.mark.parametrize(("method", "path"), PATHS_BY_METHOD.items())
async def test_a_store_that_forgets_the_scope_in_one_place_is_found_out(method: str, path: str) -> None:
    """(RELIABILITY C13), (RELIABILITY C14), (RELIABILITY C21)."""
    found = await run_isolation_audit(
        kit(Index(Forgetful(EmbeddedStore(None), method), ConceptEmbedder())), only_paths=[path]
    )
    assert found[0].name == path
    assert found[0].leaks


@pytest.mark.parametrize(
    ("path", "method"),
    [
        *(("consult", "search"), ("consult", "count_facets"), ("ask", "search"), ("citations", "search")),
        *(("summary", "load_document"), ("graph", "count_facets")),
        *(("listed", "list_documents"), ("listed", "list_deleted")),
        *(("source", "load_document"), ("page", "load_document")),
    ],
)
async def test_what_a_store_forgets_is_seen_through_the_services_too(path: str, method: str) -> None:
    found = await run_isolation_audit(
        kit(Index(Forgetful(EmbeddedStore(None), method), ConceptEmbedder())), only_paths=[path]
    )
    assert found[0].leaks


QUESTION_PATHS = ("questions", "change_question", "answer_question", "remove_question")


async def test_an_archive_that_asks_whose_a_question_is_gives_nothing_away() -> None:
    """S3-15, S0-86."""
    sound = await run_isolation_audit(kit(Index(EmbeddedStore(None), ConceptEmbedder())), only_paths=QUESTION_PATHS)
    assert {*QUESTION_PATHS} <= {found.name for found in sound}
    assert [found.name for found in sound if found.leaks] == []


@pytest.mark.parametrize("path", QUESTION_PATHS)
async def test_an_archive_that_forgets_whose_a_question_is_is_found_out(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3-15, S0-86: every statement asks whose it may be."""
    monkeypatch.setattr(
        statements, "_build_owner_condition", lambda scope: statements.QUERIES.c.workflow_id == scope.workflow_id
    )
    leaking = await run_isolation_audit(kit(Index(EmbeddedStore(None), ConceptEmbedder())), only_paths=[path])
    assert [found.name for found in leaking if found.leaks] == [path]


async def test_an_answer_log_gives_nothing_away_and_one_that_forgets_whose_it_is_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S3-15."""
    audited = kit(Index(EmbeddedStore(None), ConceptEmbedder()))
    sound = await run_isolation_audit(audited, only_paths=["answer_events"])
    assert [found.name for found in sound if found.leaks] == []
    monkeypatch.setattr(answer_log, "make_log_key", lambda id, scope: f"{answer_log.make_workflow_key('')}{id}")
    leaking = await run_isolation_audit(audited, only_paths=["answer_events"])
    assert [found.name for found in leaking if found.leaks] == ["answer_events"]


async def test_no_question_is_left_behind() -> None:
    archive = SqlArchive(ArchiveDatabase(None))
    await run_isolation_audit(kit(Index(EmbeddedStore(None), ConceptEmbedder()), archive), only_paths=["questions"])
    left = "select count(*) from queries"
    assert await archive._database.read(lambda db: db.exec_driver_sql(left).scalar()) == 0


async def test_originals_are_planted_tried_and_removed_too() -> None:
    """S0-93, S3-15: the archive is nobody's, so the store has to say who may see."""
    planted = list[Original]()

    class Watched(SqlArchive):
        async def save_original(self, original: Original) -> None:
            planted.append(original)
            await super().save_original(original)

    archive = Watched(ArchiveDatabase(None))
    watched = kit(Index(EmbeddedStore(None), ConceptEmbedder()), archive)
    found = await run_isolation_audit(watched, only_paths=["listed", "source", "page"])
    assert ([path.name for path in found if path.leaks], len(planted)) == ([], 12)
    assert [await archive.list_original_hashes(work.workflow_id) for work in planted] == [{}] * 12
    await archive.close()


async def test_what_was_planted_is_removed_also_when_the_audit_fails() -> None:
    store = EmbeddedStore(None)

    class Failing(Forgetful):
        async def get(self, *_: object) -> None:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await run_isolation_audit(kit(Index(Failing(store, ""), ConceptEmbedder())))
    assert (await store.describe()).chunks == 0


async def test_on_azure_nothing_is_seen_but_scores_move_in_a_shared_index() -> None:
    """(RELIABILITY C18): BM25 counts the whole index there; docs/reference/isolation-and-security.md says more."""
    with run_search_service(SearchService(None, keys={"key"})) as url:
        store = AzureSearchStore(url, "key", "audited", dimensions=5)
        await store.setup()
        found = await run_isolation_audit(
            kit(Index(store, ConceptEmbedder())), only_paths=["search", "documents", "deleted", "delete"]
        )
        described = await store.describe()
        await store.close()
    assert [path.name for path in found if path.leaks] == ["scores"]
    assert described.chunks == 0
