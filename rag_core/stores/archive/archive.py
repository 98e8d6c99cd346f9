"""The archive in SQL. Every statement on a saved query names its permitted owners; users' texts are always bound."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, Select, Table, and_, delete, func, insert, null, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.elements import ColumnElement

from rag_core.core.errors import Conflict, no_question
from rag_core.core.model import SavedQuery, SavedResult, Scope, Work
from rag_core.stores.archive.database import Database
from rag_core.stores.archive.tables import PROMPT_META, QUERIES, QUOTED, RAG_CONFIG, RESULTS, WORKS, now

T = TypeVar("T")

MOST = 2**31 - 1  # the highest id that the column can hold; no row has a higher one
CONTEXTS = ("retrieved_context", "clean_retrieval_context")
HEAVY = ("embedding_original", "embeddings_mqe", "embedding_hyde", *CONTEXTS)
OWN = ("id", "workflow_id", "user_id", "origin", "created_at", "results_count")  # set once, or computed

COUNT = select(func.count()).where(RESULTS.c.query_id == QUERIES.c.id).scalar_subquery().label("results_count")
HAS = [QUERIES.c[name].is_not(null()).label(name) for name in CONTEXTS]
LISTED = select(*(column for column in QUERIES.c if column.name not in HEAVY), *HAS, COUNT)
WHOLE = select(QUERIES, COUNT)
RESULT = select(RESULTS).join(QUERIES)
# new values of a saved query that quotes a purged document; the raised version makes stale edits fail
FORGOTTEN: dict[str, Any] = {
    **dict.fromkeys((*CONTEXTS, "expanded_queries", "embeddings_mqe", "hyde_answer", "embedding_hyde")),
    **dict.fromkeys(("intent", "entities")),  # a model derived them from the purged text
    "steps": {},
    "version": QUERIES.c.version + 1,
}
WORK = [column for column in WORKS.c if column.name not in ("id", "created_at", "updated_at")]


class SqlArchive:
    """The archive, in a database shared with the query log: closing one closes both."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def name(self) -> str:
        return self._database.name

    async def queries(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[SavedQuery]:
        statement = LISTED.where(_seen(scope)).order_by(QUERIES.c.id.desc()).limit(limit)
        if before is not None:
            statement = statement.where(QUERIES.c.id < min(before, MOST))
        return await self._database.read(lambda db: [_listed(row) for row in db.execute(statement).mappings()])

    async def count(self, scope: Scope) -> int:
        statement = select(func.count()).select_from(QUERIES).where(_seen(scope))
        return await self._database.read(lambda db: db.execute(statement).scalar_one())

    async def query(self, id: int, scope: Scope) -> SavedQuery | None:
        return await self._database.read(lambda db: _first(db, WHOLE.where(_this(id, scope)), _query))

    async def add(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        new_query = replace(query, workflow_id=scope.workflow_id, user_id=scope.user_id, results_count=0, version=1)
        new_query = replace(new_query, created_at=(created_at := now()), updated_at=created_at)
        return await self._database.write(lambda db: _added(db, new_query))

    async def change(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        new_query = replace(query, version=query.version + 1, updated_at=now())
        await self._database.write(lambda db: _changed(db, new_query, scope))
        return new_query

    async def remove(self, id: int, scope: Scope) -> bool:
        statement = delete(QUERIES).where(_this(id, scope))
        return await self._database.write(lambda db: db.execute(statement).rowcount > 0)

    async def results(self, query_id: int, scope: Scope) -> Sequence[SavedResult]:
        statement = RESULT.where(_this(query_id, scope)).order_by(RESULTS.c.created_at.desc(), RESULTS.c.id.desc())
        return await self._database.read(lambda db: [_result(row) for row in db.execute(statement).mappings()])

    async def result(self, query_id: int, id: int, scope: Scope) -> SavedResult | None:
        statement = RESULT.where(_this(query_id, scope), RESULTS.c.id == min(id, MOST))
        return await self._database.read(lambda db: _first(db, statement, _result))

    async def add_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        new_result = replace(result, created_at=(created_at := now()), updated_at=created_at)
        return await self._database.write(lambda db: _result_added(db, new_result, scope))

    async def configs(self) -> Mapping[str, Mapping[str, Any]]:
        statement = select(RAG_CONFIG.c.preset_name, RAG_CONFIG.c.config)
        return await self._database.read(lambda db: dict(db.execute(statement).all()))

    async def descriptions(self) -> Mapping[str, str]:
        statement = select(RAG_CONFIG.c.preset_name, func.coalesce(RAG_CONFIG.c.description, ""))
        return await self._database.read(lambda db: dict(db.execute(statement).all()))

    async def save_config(self, name: str, config: Mapping[str, Any] | None, description: str = "") -> None:
        values = None if config is None else {"config": dict(config), "description": description}
        await self._database.write(lambda db: _put(db, RAG_CONFIG, {"preset_name": name}, values))

    async def prompts(self) -> Mapping[str, str]:
        statement = select(PROMPT_META.c.function_tag, PROMPT_META.c.wording)
        return await self._database.read(lambda db: dict(db.execute(statement).all()))

    async def save_prompt(self, tag: str, wording: str | None) -> None:
        values = None if wording is None else {"wording": wording}
        await self._database.write(lambda db: _put(db, PROMPT_META, {"function_tag": tag}, values))

    async def work(self, document_id: str, workflow_id: str) -> Work | None:
        statement = select(*WORK).where(WORKS.c.workflow_id == workflow_id, WORKS.c.document_id == document_id)
        return await self._database.read(lambda db: _first(db, statement, _work))

    async def works(self, workflow_id: str) -> Mapping[str, str]:
        statement = select(WORKS.c.document_id, WORKS.c.content_hash).where(WORKS.c.workflow_id == workflow_id)
        return await self._database.read(lambda db: dict(db.execute(statement).all()))

    async def save_work(self, work: Work) -> None:
        key = {"workflow_id": work.workflow_id, "document_id": work.document_id}
        values = {column.name: getattr(work, column.name) for column in WORK if column.name not in key}
        await self._database.write(lambda db: _put(db, WORKS, key, values))

    async def remove_work(self, document_id: str, workflow_id: str) -> None:
        key = {"workflow_id": workflow_id, "document_id": document_id}
        await self._database.write(lambda db: _put(db, WORKS, key, None))

    async def forget(self, document_id: str, workflow_id: str) -> None:
        await self._database.write(lambda db: _forgotten(db, document_id, workflow_id))

    async def close(self) -> None:
        await self._database.close()


def _seen(scope: Scope) -> ColumnElement[bool]:
    """Build the condition for saved queries a scope may see: those of its workflow without an owner, and its user's."""
    has_no_owner = QUERIES.c.user_id.is_(None)
    is_permitted = has_no_owner if scope.user_id is None else or_(has_no_owner, QUERIES.c.user_id == scope.user_id)
    return and_(QUERIES.c.workflow_id == scope.workflow_id, is_permitted)


def _this(id: int, scope: Scope) -> ColumnElement[bool]:
    return and_(QUERIES.c.id == min(id, MOST), _seen(scope))


def _first(db: Connection, statement: Select[Any], convert: Callable[[RowMapping], T]) -> T | None:
    row = db.execute(statement).mappings().first()
    return None if row is None else convert(row)


def _query(row: RowMapping) -> SavedQuery:
    return SavedQuery(**_said(row))


def _listed(row: RowMapping) -> SavedQuery:
    """Convert a listed row to a saved query; a context is () when there is one and None when there is none."""
    return SavedQuery(**_said({**row, **{name: () if row[name] else None for name in CONTEXTS}}))


def _result(row: RowMapping) -> SavedResult:
    return SavedResult(**_said(row))


def _work(row: RowMapping) -> Work:
    return Work(**_said(row))


def _said(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Drop NULL columns, which stand for the default of the dataclass's field."""
    return {name: value for name, value in row.items() if value is not None}


def _added(db: Connection, query: SavedQuery) -> SavedQuery:
    values = {column.name: getattr(query, column.name) for column in QUERIES.c if column.name != "id"}
    saved_query = replace(query, id=db.execute(insert(QUERIES).values(values).returning(QUERIES.c.id)).scalar_one())
    _note_quoted(db, saved_query)
    return saved_query


def _changed(db: Connection, query: SavedQuery, scope: Scope) -> None:
    condition = _this(query.id, scope)
    values = {column.name: getattr(query, column.name) for column in QUERIES.c if column.name not in OWN}
    if db.execute(update(QUERIES).where(condition, QUERIES.c.version == query.version - 1).values(values)).rowcount:
        _note_quoted(db, query)
    elif db.execute(select(QUERIES.c.id).where(condition)).first():
        raise Conflict(f"question {query.id} was changed meanwhile: read it again", code="query_changed")
    else:
        raise no_question()


def _result_added(db: Connection, result: SavedResult, scope: Scope) -> SavedResult:
    """Insert a result. The row lock keeps a purge out until the commit.

    Raises NotFound without the saved query, and Conflict when a document that the result quotes was purged meanwhile.
    """
    if not db.execute(select(QUERIES.c.id).where(_this(result.query_id, scope)).with_for_update(read=True)).first():
        raise no_question()
    quotes = select(QUOTED.c.document_id).where(QUOTED.c.query_id == result.query_id)
    if not {*_quoted(asdict(result))} <= {*db.scalars(quotes)}:
        raise Conflict("a document that the response quotes is no longer part of the question", code="query_changed")
    values = {column.name: getattr(result, column.name) for column in RESULTS.c if column.name != "id"}
    return replace(result, id=db.execute(insert(RESULTS).values(values).returning(RESULTS.c.id)).scalar_one())


def _put(db: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any] | None) -> None:
    """Insert or update the one row with this key; None deletes it."""
    if values is None:
        db.execute(delete(table).filter_by(**key))
        return
    timestamp = now()
    statement = _insert(db, table).values(**key, **values, created_at=timestamp, updated_at=timestamp)
    updated_values = {name: statement.excluded[name] for name in (*values, "updated_at")}
    db.execute(statement.on_conflict_do_update(index_elements=list(key), set_=updated_values))


def _note_quoted(db: Connection, query: SavedQuery) -> None:
    """Record the documents that a saved query quotes, so that a purge finds it even after it was changed."""
    rows = [{"query_id": query.id, "document_id": id} for id in {*_quoted(asdict(query))}]
    if rows:
        db.execute(_insert(db, QUOTED).on_conflict_do_nothing(), rows)


def _quoted(value: object, *, named: bool = False) -> Iterator[str]:
    """Yield the document ids anywhere in a nested value, under the names "document_id" and "document_ids"."""
    if isinstance(value, str) and named:
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _quoted(item, named=name in ("document_id", "document_ids"))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _quoted(item, named=named)


def _forgotten(db: Connection, document_id: str, workflow_id: str) -> None:
    db.execute(delete(WORKS).filter_by(workflow_id=workflow_id, document_id=document_id))
    quoting_queries = select(QUOTED.c.query_id).join(QUERIES).where(QUOTED.c.document_id == document_id)
    ids = quoting_queries.where(QUERIES.c.workflow_id == workflow_id)
    db.execute(update(QUERIES).where(QUERIES.c.id.in_(ids)).values(FORGOTTEN | {"updated_at": now()}))
    for table in (RESULTS, QUOTED):
        db.execute(delete(table).where(table.c.query_id.in_(ids)))


def _insert(db: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Return the dialect's INSERT, which supports ON CONFLICT; both dialects have the same interface."""
    return postgresql.insert(table) if db.dialect.name == "postgresql" else sqlite.insert(table)
