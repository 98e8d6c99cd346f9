"""Indexing of a database's schema: inspected, described, and stored as a document a table."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core.core.kit import Kit, NoArchive
from rag_core.core.model import IndexingResult, Scope
from rag_core.core.run import Run
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.schema import descriptions, documents
from rag_core.schema.documents import PastQuestion
from rag_core.schema.personal_values import find_personal_values

if TYPE_CHECKING:
    from rag_core.schema.inspection import InspectedDatabase

INSPECTION_TIMEOUT_S = 300.0  # by default, for all tables of a database
MAX_NAMED = 5  # described tables and columns that the database does not have
TABLE_LIMITS = UploadLimits(max_upload_bytes=25 * 1024**2, parse_timeout_s=30.0)  # for the text of one table


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """A database to be indexed: its address, and the files that say more of it.

    `name` is what it is called afterwards, by default as its file or on its server.
    """

    url: str
    name: str | None = None
    descriptions: Path | None = None
    questions: Path | None = None
    within_s: float = INSPECTION_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class IndexedDatabase:
    """What indexing a database gave; `removed` counts tables that are not there any more."""

    name: str
    tables: int
    columns: int
    chunks: int
    embedded: int
    removed: int
    notes: tuple[str, ...]


async def index_database(source: DatabaseSource, scope: Scope, kit: Kit, run: Run) -> IndexedDatabase:
    """Read a database and index its schema, replacing what was indexed of it; no row is stored.

    Only most frequent values are kept, and none that looks like personal data.

    Raises:
        InvalidRequest, NotFound, Misconfigured, Unavailable: the database or a file cannot be read.
    """
    inspected = await run.step("inspect", asyncio.to_thread(_inspect, source, kit))
    past = descriptions.read_past_questions(source.questions) if source.questions else []
    return await index_inspected_database(inspected, past, scope, kit, run)


async def index_inspected_database(
    inspected: "InspectedDatabase", past: list[PastQuestion], scope: Scope, kit: Kit, run: Run
) -> IndexedDatabase:
    """Index what was read of a database, and the questions asked before; tables that it lost are purged."""
    database = inspected.database
    past, notes = await asyncio.to_thread(_read_past_sql, past, inspected) if past else (past, [])
    read_at = datetime.now(UTC).isoformat(timespec="seconds")
    uploads = [
        documents.build_table_upload(table, database, inspected.values.get(table.name, {}), read_at=read_at)
        for table in database.tables
    ]
    uploads += [documents.build_questions_upload(database.name, past)] if past else []
    results = [await _index_upload(upload, scope, kit, run) for upload in uploads]
    removed = await _purge_others(database.name, {upload.document_id for upload in uploads}, scope, kit)
    chunks, embedded = sum(one.chunks for one in results), sum(one.embedded for one in results)
    columns = len(database.columns)
    return IndexedDatabase(
        database.name, len(database.tables), columns, chunks, embedded, removed, (*inspected.notes, *notes)
    )


def _read_past_sql(past: list[PastQuestion], inspected: "InspectedDatabase") -> tuple[list[PastQuestion], list[str]]:
    """Return the questions asked before with the columns that their SQL reads, and what could not be read.

    SQL that does more than read is left out: a writer of SQL would take it for an example.
    """
    from rag_core.schema.sql_reading import SqlReader  # SQLGlot comes with the extra `local`

    reader = SqlReader(inspected.database, inspected.dialect)
    given, past = len(past), [one for one in past if not reader.is_writing(one.sql)]
    writing = given - len(past)
    read = [reader.list_read_columns(one.sql) for one in past]
    with_columns = [replace(one, columns=tuple(sorted(columns or ()))) for one, columns in zip(past, read, strict=True)]
    unread = sum(columns is None for columns in read)
    strange = sum(columns is not None and not columns for columns in read)
    notes = {
        f"{writing} past questions whose SQL does more than read are left out": writing,
        f"the SQL of {unread} of {len(past)} past questions cannot be read as {inspected.dialect} or otherwise: they "
        "are shown after others, and say nothing of the columns that a question needs": unread,
        f"the SQL of {strange} of {len(past)} past questions reads no column of this database": strange,
    }
    return with_columns, [note for note, count in notes.items() if count]


def _inspect(source: DatabaseSource, kit: Kit) -> "InspectedDatabase":
    from rag_core.schema.inspection import inspect_database  # SQLAlchemy is not needed at start

    find_personal = partial(_find_personal, kit=kit)
    inspected = inspect_database(source.url, find_personal=find_personal, within_s=source.within_s)
    database = replace(inspected.database, name=source.name or inspected.database.name)
    if source.descriptions:
        described = descriptions.read_descriptions(source.descriptions)
        inspected.notes += _note_unknown(descriptions.list_unknown_descriptions(database, described))
        database = descriptions.describe_database(database, described)
    inspected.database = database
    return inspected


def _note_unknown(names: list[str]) -> list[str]:
    shown = ", ".join(names[:MAX_NAMED]) + (", …" if len(names) > MAX_NAMED else "")
    return [f"described, but not in the database: {shown}"] if names else []


def _find_personal(column: str, values: list[str], *, kit: Kit) -> set[str]:
    return find_personal_values(column, values, kit.redactor)


async def _index_upload(upload: Upload, scope: Scope, kit: Kit, run: Run) -> IndexingResult:
    without_originals = replace(kit, archive=NoArchive())  # a table is no file
    return await index_document(
        upload, scope, without_originals, run, chunking=documents.SCHEMA_CHUNKING, limits=TABLE_LIMITS
    )


async def _purge_others(database: str, kept: set[str | None], scope: Scope, kit: Kit) -> int:
    stored = await kit.index.store.list_documents(scope)
    source = documents.build_source(database)
    others = [one.id for one in stored if one.source == source and one.id not in kept]
    return sum([await kit.index.store.purge(id, scope) for id in others])
