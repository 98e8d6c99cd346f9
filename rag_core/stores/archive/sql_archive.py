"""The archive in SQL. Every statement on a saved query names its permitted owners; users' texts are always bound."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, Select, Table, and_, delete, func, insert, null, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from rag_core.core.errors import Conflict, make_unknown_query_error, make_unknown_result_error
from rag_core.core.model import Original, SavedQuery, SavedResult, Scope
from rag_core.core.presets import PRESET_ALIASES
from rag_core.stores.archive.database import ArchiveDatabase
from rag_core.stores.archive.keyed_rows import build_dialect_insert, put_keyed_row
from rag_core.stores.archive.row_checksums import check_rows, remove_stale_checksums, seal_row
from rag_core.stores.archive.shipped_rows import write_preset_edit, write_prompt_edit
from rag_core.stores.archive.tables import (
    CONTEXT_COLUMNS,
    ORIGINALS,
    PROMPT_META,
    QUERIES,
    QUOTED_DOCUMENTS,
    RAG_CONFIG,
    RESULTS,
    UNLISTED_COLUMNS,
    format_utc_now,
)

T = TypeVar("T")

MAX_ROW_ID = 2**31 - 1  # the highest id that the column can hold; no row has a higher one
IMMUTABLE_COLUMNS = ("id", "workflow_id", "user_id", "origin", "created_at", "results_count")  # set once, or computed

RESULTS_COUNT_COLUMN = (
    select(func.count()).where(RESULTS.c.query_id == QUERIES.c.id).scalar_subquery().label("results_count")
)
HAS_CONTEXT_COLUMNS = [QUERIES.c[name].is_not(null()).label(name) for name in CONTEXT_COLUMNS]
SELECT_LISTED_QUERIES = select(
    *(column for column in QUERIES.c if column.name not in UNLISTED_COLUMNS), *HAS_CONTEXT_COLUMNS, RESULTS_COUNT_COLUMN
)
SELECT_WHOLE_QUERIES = select(QUERIES, RESULTS_COUNT_COLUMN)
SELECT_RESULTS = select(RESULTS).join(QUERIES)
# new values of a saved query that quotes a purged document; the raised version makes stale edits fail
PURGED_QUERY_VALUES: dict[str, Any] = {
    **dict.fromkeys((*CONTEXT_COLUMNS, "expanded_queries", "embeddings_mqe", "hyde_answer", "embedding_hyde")),
    **dict.fromkeys(("intent", "entities")),  # a model derived them from the purged text
    "steps": {},
    "version": QUERIES.c.version + 1,
}
IS_EDITED_PRESET = and_(RAG_CONFIG.c.edited.is_not(null()), RAG_CONFIG.c.preset_name.not_in([*PRESET_ALIASES]))
ORIGINAL_COLUMNS = [column for column in ORIGINALS.c if column.name not in ("id", "created_at", "updated_at")]


class SqlArchive:
    """The archive, in a database shared with the query log: closing one closes both."""

    def __init__(self, database: ArchiveDatabase) -> None:
        self._database = database

    @property
    def name(self) -> str:
        return self._database.name

    async def list_queries(self, scope: Scope, *, limit: int, before: int | None = None) -> Sequence[SavedQuery]:
        statement = (
            SELECT_LISTED_QUERIES.where(_build_owner_condition(scope)).order_by(QUERIES.c.id.desc()).limit(limit)
        )
        if before is not None:
            statement = statement.where(QUERIES.c.id < min(before, MAX_ROW_ID))
        return await self._database.read(
            lambda db: [
                _listed_query_from_row(row)
                for row in check_rows(db, QUERIES, db.execute(statement).mappings(), whole=False)
            ]
        )

    async def count_queries(self, scope: Scope) -> int:
        statement = select(func.count()).select_from(QUERIES).where(_build_owner_condition(scope))
        return await self._database.read(lambda db: db.execute(statement).scalar_one())

    async def load_query(self, id: int, scope: Scope) -> SavedQuery | None:
        return await self._database.read(
            lambda db: _fetch_first(
                db, QUERIES, SELECT_WHOLE_QUERIES.where(_build_saved_query_condition(id, scope)), _saved_query_from_row
            )
        )

    async def add_query(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        new_query = replace(query, workflow_id=scope.workflow_id, user_id=scope.user_id, results_count=0, version=1)
        new_query = replace(new_query, created_at=(created_at := format_utc_now()), updated_at=created_at)
        return await self._database.write(lambda db: _insert_saved_query(db, new_query))

    async def update_query(self, query: SavedQuery, scope: Scope) -> SavedQuery:
        new_query = replace(query, version=query.version + 1, updated_at=format_utc_now())
        await self._database.write(lambda db: _update_saved_query(db, new_query, scope))
        return new_query

    async def delete_query(self, id: int, scope: Scope) -> bool:
        statement = delete(QUERIES).where(_build_saved_query_condition(id, scope))
        return await self._database.write(lambda db: db.execute(statement).rowcount > 0)

    async def list_results(self, query_id: int, scope: Scope) -> Sequence[SavedResult]:
        statement = SELECT_RESULTS.where(_build_saved_query_condition(query_id, scope)).order_by(
            RESULTS.c.created_at.desc(), RESULTS.c.id.desc()
        )
        return await self._database.read(
            lambda db: [
                _saved_result_from_row(row)
                for row in check_rows(db, RESULTS, db.execute(statement).mappings(), whole=True)
            ]
        )

    async def load_result(self, query_id: int, id: int, scope: Scope) -> SavedResult | None:
        statement = SELECT_RESULTS.where(
            _build_saved_query_condition(query_id, scope), RESULTS.c.id == min(id, MAX_ROW_ID)
        )
        return await self._database.read(lambda db: _fetch_first(db, RESULTS, statement, _saved_result_from_row))

    async def add_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        new_result = replace(result, created_at=(created_at := format_utc_now()), updated_at=created_at)
        return await self._database.write(lambda db: _insert_saved_result(db, new_result, scope))

    async def update_result(self, result: SavedResult, scope: Scope) -> SavedResult:
        new_result = replace(result, updated_at=format_utc_now())
        return await self._database.write(lambda db: _update_saved_result(db, new_result, scope))

    async def load_edited_presets(self) -> Mapping[str, Mapping[str, Any]]:
        statement = select(RAG_CONFIG.c.preset_name, RAG_CONFIG.c.edited).where(IS_EDITED_PRESET)
        return await self._database.read(lambda db: dict(db.execute(statement).all()))

    async def load_preset_descriptions(self) -> Mapping[str, str]:
        description = func.coalesce(RAG_CONFIG.c.description, "")
        statement = select(RAG_CONFIG.c.preset_name, description).where(IS_EDITED_PRESET)
        return await self._database.read(lambda db: dict(db.execute(statement).all()))

    async def save_edited_preset(self, name: str, overrides: Mapping[str, Any] | None, description: str = "") -> None:
        await self._database.write(lambda db: write_preset_edit(db, name, overrides, description))

    async def load_edited_prompts(self) -> Mapping[str, str]:
        statement = select(PROMPT_META.c.function_tag, PROMPT_META.c.wording).where(PROMPT_META.c.edited)
        return await self._database.read(lambda db: dict(db.execute(statement).all()))

    async def save_edited_prompt(self, tag: str, template: str | None) -> None:
        await self._database.write(lambda db: write_prompt_edit(db, tag, template))

    async def load_original(self, document_id: str, workflow_id: str) -> Original | None:
        statement = select(ORIGINALS).where(
            ORIGINALS.c.workflow_id == workflow_id, ORIGINALS.c.document_id == document_id
        )
        return await self._database.read(lambda db: _fetch_first(db, ORIGINALS, statement, _original_from_row))

    async def list_original_hashes(self, workflow_id: str) -> Mapping[str, str]:
        listed = [column for column in ORIGINALS.c if column.name not in UNLISTED_COLUMNS]
        statement = select(*listed).where(ORIGINALS.c.workflow_id == workflow_id)
        rows = await self._database.read(
            lambda db: check_rows(db, ORIGINALS, db.execute(statement).mappings(), whole=False)
        )
        return {row["document_id"]: row["content_hash"] for row in rows}

    async def save_original(self, original: Original) -> None:
        key = {"workflow_id": original.workflow_id, "document_id": original.document_id}
        values = {column.name: getattr(original, column.name) for column in ORIGINAL_COLUMNS if column.name not in key}
        await self._database.write(lambda db: _save_original(db, key, values))

    async def delete_original(self, document_id: str, workflow_id: str) -> None:
        key = {"workflow_id": workflow_id, "document_id": document_id}
        await self._database.write(lambda db: put_keyed_row(db, ORIGINALS, key, None))

    async def purge_document(self, document_id: str, workflow_id: str) -> None:
        await self._database.write(lambda db: _forget_document(db, document_id, workflow_id))

    async def close(self) -> None:
        await self._database.close()


def _build_owner_condition(scope: Scope) -> ColumnElement[bool]:
    """Build the condition for saved queries a scope may see: those of its workflow without an owner, and its user's."""
    has_no_owner = QUERIES.c.user_id.is_(None)
    is_permitted = has_no_owner if scope.user_id is None else or_(has_no_owner, QUERIES.c.user_id == scope.user_id)
    return and_(QUERIES.c.workflow_id == scope.workflow_id, is_permitted)


def _build_saved_query_condition(id: int, scope: Scope) -> ColumnElement[bool]:
    return and_(QUERIES.c.id == min(id, MAX_ROW_ID), _build_owner_condition(scope))


def _fetch_first(db: Connection, table: Table, statement: Select[Any], convert: Callable[[RowMapping], T]) -> T | None:
    """Return the first row of a statement that selects all columns of the table, checked and converted."""
    row = db.execute(statement).mappings().first()
    return None if row is None else convert(*check_rows(db, table, [row], whole=True))


def _saved_query_from_row(row: RowMapping) -> SavedQuery:
    return SavedQuery(**_drop_null_columns(row))


def _listed_query_from_row(row: RowMapping) -> SavedQuery:
    """Convert a listed row to a saved query; a context is () when there is one and None when there is none."""
    return SavedQuery(**_drop_null_columns({**row, **{name: () if row[name] else None for name in CONTEXT_COLUMNS}}))


def _saved_result_from_row(row: RowMapping) -> SavedResult:
    return SavedResult(**_drop_null_columns(row))


def _original_from_row(row: RowMapping) -> Original:
    return Original(**{column.name: row[column.name] for column in ORIGINAL_COLUMNS})


def _drop_null_columns(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Drop NULL columns, which stand for the default of the dataclass's field."""
    return {name: value for name, value in row.items() if value is not None}


def _insert_saved_query(db: Connection, query: SavedQuery) -> SavedQuery:
    values = {column.name: getattr(query, column.name) for column in QUERIES.c if column.name != "id"}
    saved_query = replace(query, id=db.execute(insert(QUERIES).values(values).returning(QUERIES.c.id)).scalar_one())
    _insert_quoted_documents(db, saved_query)
    seal_row(db, QUERIES, saved_query.id)
    return saved_query


def _update_saved_query(db: Connection, query: SavedQuery, scope: Scope) -> None:
    condition = _build_saved_query_condition(query.id, scope)
    values = {column.name: getattr(query, column.name) for column in QUERIES.c if column.name not in IMMUTABLE_COLUMNS}
    if db.execute(update(QUERIES).where(condition, QUERIES.c.version == query.version - 1).values(values)).rowcount:
        _insert_quoted_documents(db, query)
        seal_row(db, QUERIES, query.id)
    elif db.execute(select(QUERIES.c.id).where(condition)).first():
        raise Conflict(f"question {query.id} was changed meanwhile: read it again", code="query_changed")
    else:
        raise make_unknown_query_error()


def _insert_saved_result(db: Connection, result: SavedResult, scope: Scope) -> SavedResult:
    """Insert a result. The row lock keeps a purge out until the commit.

    Raises NotFound without the saved query, and Conflict when a document that the result quotes was purged meanwhile.
    """
    if not db.execute(
        select(QUERIES.c.id).where(_build_saved_query_condition(result.query_id, scope)).with_for_update(read=True)
    ).first():
        raise make_unknown_query_error()
    quotes = select(QUOTED_DOCUMENTS.c.document_id).where(QUOTED_DOCUMENTS.c.query_id == result.query_id)
    if not {*_iter_quoted_document_ids(asdict(result))} <= {*db.scalars(quotes)}:
        raise Conflict("a document that the response quotes is no longer part of the question", code="query_changed")
    values = {column.name: getattr(result, column.name) for column in RESULTS.c if column.name != "id"}
    saved_result = replace(result, id=db.execute(insert(RESULTS).values(values).returning(RESULTS.c.id)).scalar_one())
    seal_row(db, RESULTS, saved_result.id)
    return saved_result


def _update_saved_result(db: Connection, result: SavedResult, scope: Scope) -> SavedResult:
    ids = select(QUERIES.c.id).where(_build_saved_query_condition(result.query_id, scope))
    condition = and_(RESULTS.c.id == min(result.id, MAX_ROW_ID), RESULTS.c.query_id.in_(ids))
    values = {name: getattr(result, name) for name in ("response_text", "details", "updated_at")}
    if not db.execute(update(RESULTS).where(condition).values(values)).rowcount:
        raise make_unknown_result_error()
    seal_row(db, RESULTS, result.id)
    return result


def _save_original(db: Connection, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    put_keyed_row(db, ORIGINALS, key, values)
    seal_row(db, ORIGINALS, db.execute(select(ORIGINALS.c.id).filter_by(**key)).scalar_one())


def _insert_quoted_documents(db: Connection, query: SavedQuery) -> None:
    """Record the documents that a saved query quotes, so that a purge finds it even after it was changed."""
    rows = [{"query_id": query.id, "document_id": id} for id in {*_iter_quoted_document_ids(asdict(query))}]
    if rows:
        db.execute(build_dialect_insert(db, QUOTED_DOCUMENTS).on_conflict_do_nothing(), rows)


def _iter_quoted_document_ids(value: object, *, is_document_field: bool = False) -> Iterator[str]:
    """Yield the document ids anywhere in a nested value, under the names "document_id" and "document_ids"."""
    if isinstance(value, str) and is_document_field:
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _iter_quoted_document_ids(item, is_document_field=name in ("document_id", "document_ids"))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iter_quoted_document_ids(item, is_document_field=is_document_field)


def _forget_document(db: Connection, document_id: str, workflow_id: str) -> None:
    db.execute(delete(ORIGINALS).filter_by(workflow_id=workflow_id, document_id=document_id))
    quoting_queries = (
        select(QUOTED_DOCUMENTS.c.query_id).join(QUERIES).where(QUOTED_DOCUMENTS.c.document_id == document_id)
    )
    quoting_ids = db.scalars(quoting_queries.where(QUERIES.c.workflow_id == workflow_id)).all()
    values = PURGED_QUERY_VALUES | {"updated_at": format_utc_now()}
    db.execute(update(QUERIES).where(QUERIES.c.id.in_(quoting_ids)).values(values))
    for id in quoting_ids:
        seal_row(db, QUERIES, id)
    for table in (RESULTS, QUOTED_DOCUMENTS):
        db.execute(delete(table).where(table.c.query_id.in_(quoting_ids)))
    remove_stale_checksums(db, (ORIGINALS, RESULTS))
