"""The archive in SQL. Every statement on a question says whose it may be; none is made of users' words."""

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

MOST = 2**31 - 1  # the highest id that a column takes: a higher one is asked for in vain
CONTEXTS = ("retrieved_context", "clean_retrieval_context")
HEAVY = ("embedding_original", "embeddings_mqe", "embedding_hyde", *CONTEXTS)
OWN = ("id", "workflow_id", "user_id", "origin", "created_at", "results_count")  # of a question for good, or counted

COUNT = select(func.count()).where(RESULTS.c.query_id == QUERIES.c.id).scalar_subquery().label("results_count")
HAS = [QUERIES.c[name].is_not(null()).label(name) for name in CONTEXTS]
LISTED = select(*(column for column in QUERIES.c if column.name not in HEAVY), *HAS, COUNT)
WHOLE = select(QUERIES, COUNT)
RESULT = select(RESULTS).join(QUERIES)
FORGOTTEN: dict[str, Any] = {  # of a question that quotes what was purged; whoever still holds it cannot bring it back
    **dict.fromkeys((*CONTEXTS, "expanded_queries", "embeddings_mqe", "hyde_answer", "embedding_hyde")),
    **dict.fromkeys(("intent", "entities")),  # of a model, too, that had read it
    "steps": {},
    "version": QUERIES.c.version + 1,
}
WORK = [column for column in WORKS.c if column.name not in ("id", "created_at", "updated_at")]


class SqlArchive:
    """In a database that the log uses too: closing it here closes it there."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def name(self) -> str:
        return self._database.name

    async def queries(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[SavedQuery]:
        listed = LISTED.where(_seen(scope)).order_by(QUERIES.c.id.desc()).limit(limit)
        if before is not None:
            listed = listed.where(QUERIES.c.id < min(before, MOST))
        return await self._database.read(lambda db: [_listed(row) for row in db.execute(listed).mappings()])

    async def count(self, scope: Scope) -> int:
        counted = select(func.count()).select_from(QUERIES).where(_seen(scope))
        return await self._database.read(lambda db: db.execute(counted).scalar_one())

    async def query(self, id: int, scope: Scope) -> SavedQuery | None:
        return await self._database.read(lambda db: _first(db, WHOLE.where(_this(id, scope)), _query))

    async def add(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        kept = replace(query, workflow_id=scope.workflow_id, user_id=scope.user_id, results_count=0, version=1)
        kept = replace(kept, created_at=(moment := now()), updated_at=moment)
        return await self._database.write(lambda db: _added(db, kept))

    async def change(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        changed = replace(query, version=query.version + 1, updated_at=now())
        await self._database.write(lambda db: _changed(db, changed, scope))
        return changed

    async def remove(self, id: int, scope: Scope) -> bool:
        gone = delete(QUERIES).where(_this(id, scope))
        return await self._database.write(lambda db: db.execute(gone).rowcount > 0)

    async def results(self, query_id: int, scope: Scope) -> Sequence[SavedResult]:
        newest = RESULT.where(_this(query_id, scope)).order_by(RESULTS.c.created_at.desc(), RESULTS.c.id.desc())
        return await self._database.read(lambda db: [_result(row) for row in db.execute(newest).mappings()])

    async def result(self, query_id: int, id: int, scope: Scope) -> SavedResult | None:
        one = RESULT.where(_this(query_id, scope), RESULTS.c.id == min(id, MOST))
        return await self._database.read(lambda db: _first(db, one, _result))

    async def add_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        kept = replace(result, created_at=(moment := now()), updated_at=moment)
        return await self._database.write(lambda db: _result_added(db, kept, scope))

    async def configs(self) -> Mapping[str, Mapping[str, Any]]:
        edited = select(RAG_CONFIG.c.preset_name, RAG_CONFIG.c.config)
        return await self._database.read(lambda db: dict(db.execute(edited).all()))

    async def descriptions(self) -> Mapping[str, str]:
        said = select(RAG_CONFIG.c.preset_name, func.coalesce(RAG_CONFIG.c.description, ""))
        return await self._database.read(lambda db: dict(db.execute(said).all()))

    async def save_config(self, name: str, config: Mapping[str, Any] | None, description: str = "") -> None:
        values = None if config is None else {"config": dict(config), "description": description}
        await self._database.write(lambda db: _put(db, RAG_CONFIG, {"preset_name": name}, values))

    async def prompts(self) -> Mapping[str, str]:
        edited = select(PROMPT_META.c.function_tag, PROMPT_META.c.wording)
        return await self._database.read(lambda db: dict(db.execute(edited).all()))

    async def save_prompt(self, tag: str, wording: str | None) -> None:
        values = None if wording is None else {"wording": wording}
        await self._database.write(lambda db: _put(db, PROMPT_META, {"function_tag": tag}, values))

    async def work(self, document_id: str, workflow_id: str) -> Work | None:
        one = select(*WORK).where(WORKS.c.workflow_id == workflow_id, WORKS.c.document_id == document_id)
        return await self._database.read(lambda db: _first(db, one, _work))

    async def works(self, workflow_id: str) -> Mapping[str, str]:
        kept = select(WORKS.c.document_id, WORKS.c.content_hash).where(WORKS.c.workflow_id == workflow_id)
        return await self._database.read(lambda db: dict(db.execute(kept).all()))

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
    """Whose questions a scope sees: those of its workflow that are nobody's, and its user's own."""
    nobodys = QUERIES.c.user_id.is_(None)
    own = nobodys if scope.user_id is None else or_(nobodys, QUERIES.c.user_id == scope.user_id)
    return and_(QUERIES.c.workflow_id == scope.workflow_id, own)


def _this(id: int, scope: Scope) -> ColumnElement[bool]:
    return and_(QUERIES.c.id == min(id, MOST), _seen(scope))


def _first(db: Connection, rows: Select[Any], noun: Callable[[RowMapping], T]) -> T | None:
    row = db.execute(rows).mappings().first()
    return None if row is None else noun(row)


def _query(row: RowMapping) -> SavedQuery:
    return SavedQuery(**_said(row))


def _listed(row: RowMapping) -> SavedQuery:
    """Where a context would be it is told whether there is one."""
    return SavedQuery(**_said({**row, **{name: () if row[name] else None for name in CONTEXTS}}))


def _result(row: RowMapping) -> SavedResult:
    return SavedResult(**_said(row))


def _work(row: RowMapping) -> Work:
    return Work(**_said(row))


def _said(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Without what is NULL, which is the noun's default."""
    return {name: value for name, value in row.items() if value is not None}


def _added(db: Connection, query: SavedQuery) -> SavedQuery:
    values = {column.name: getattr(query, column.name) for column in QUERIES.c if column.name != "id"}
    kept = replace(query, id=db.execute(insert(QUERIES).values(values).returning(QUERIES.c.id)).scalar_one())
    _note_quoted(db, kept)
    return kept


def _changed(db: Connection, query: SavedQuery, scope: Scope) -> None:
    this = _this(query.id, scope)
    values = {column.name: getattr(query, column.name) for column in QUERIES.c if column.name not in OWN}
    if db.execute(update(QUERIES).where(this, QUERIES.c.version == query.version - 1).values(values)).rowcount:
        _note_quoted(db, query)
    elif db.execute(select(QUERIES.c.id).where(this)).first():
        raise Conflict(f"question {query.id} was changed meanwhile: read it again", code="query_changed")
    else:
        raise no_question()


def _result_added(db: Connection, result: SavedResult, scope: Scope) -> SavedResult:
    """The lock keeps a purge out until the end: one that was before has taken the question's quotes back."""
    if not db.execute(select(QUERIES.c.id).where(_this(result.query_id, scope)).with_for_update(read=True)).first():
        raise no_question()
    quotes = select(QUOTED.c.document_id).where(QUOTED.c.query_id == result.query_id)
    if not {*_quoted(asdict(result))} <= {*db.scalars(quotes)}:
        raise Conflict(
            "a document that was read for the response is none of the question's by now", code="query_changed"
        )
    values = {column.name: getattr(result, column.name) for column in RESULTS.c if column.name != "id"}
    return replace(result, id=db.execute(insert(RESULTS).values(values).returning(RESULTS.c.id)).scalar_one())


def _put(db: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any] | None) -> None:
    """Make this the one row of a key; None removes it."""
    if values is None:
        db.execute(delete(table).filter_by(**key))
        return
    moment = now()
    row = _insert(db, table).values(**key, **values, created_at=moment, updated_at=moment)
    changed = {name: row.excluded[name] for name in (*values, "updated_at")}
    db.execute(row.on_conflict_do_update(index_elements=list(key), set_=changed))


def _note_quoted(db: Connection, query: SavedQuery) -> None:
    """So that a purge finds the question, also after it was changed and quotes another."""
    rows = [{"query_id": query.id, "document_id": id} for id in {*_quoted(asdict(query))}]
    if rows:
        db.execute(_insert(db, QUOTED).on_conflict_do_nothing(), rows)


def _quoted(value: object, *, named: bool = False) -> Iterator[str]:
    """The documents that are named anywhere in it, as "document_id" or among "document_ids"."""
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
    quoting = select(QUOTED.c.query_id).join(QUERIES).where(QUOTED.c.document_id == document_id)
    ids = quoting.where(QUERIES.c.workflow_id == workflow_id)
    db.execute(update(QUERIES).where(QUERIES.c.id.in_(ids)).values(FORGOTTEN | {"updated_at": now()}))
    for table in (RESULTS, QUOTED):
        db.execute(delete(table).where(table.c.query_id.in_(ids)))


def _insert(db: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """The dialect's own, which knows of conflicts; the two speak alike."""
    return postgresql.insert(table) if db.dialect.name == "postgresql" else sqlite.insert(table)
