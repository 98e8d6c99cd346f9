"""Checksums of the rows that hold documents, chunks and vectors: which of them are whole on a damaged page.

The checksum of a page says that something on it was altered. These say what, so that the other rows are not lost with
it. They are written with each row and compared only where a page is damaged: reading costs nothing.
"""

# ruff: noqa: S608 - the SQL is built from constants of this package; values are bound

import zlib

import apsw

CHUNK_COLUMNS = (
    "id, document_id, ordinal, content, title, source, content_hash, spans, parent_id, heading_path, summary, "
    "entities, metadata"
)
DOCUMENT_COLUMNS = "id, title, source, content_hash, extractor, pages, summary, user_id, groups, metadata"
# by table: what the checksum of a row is computed of
CHECKED_COLUMNS = {
    "documents": f"version, workflow, chunks, {DOCUMENT_COLUMNS}",
    "chunks": f"version, {CHUNK_COLUMNS}",
    "vectors": "row, vector",
    "deleted": f"version, workflow, chunks, {DOCUMENT_COLUMNS}",
    "deleted_chunks": f"version, vector, {CHUNK_COLUMNS}",
}
ADD_ROW_CHECKSUMS_SQL = "".join(
    f"alter table {table} add column checksum integer;\nupdate {table} set checksum = row_checksum({columns});\n"
    for table, columns in CHECKED_COLUMNS.items()
)


def compute_row_checksum(*values: object) -> int:
    """Return the CRC-32 of the values of a row, in the order of `CHECKED_COLUMNS`."""
    return zlib.crc32(repr(values).encode("utf-8", "replace"))


def register_row_checksum(db: apsw.Connection) -> None:
    """Let SQL call `row_checksum(value, …)`."""
    db.create_scalar_function("row_checksum", compute_row_checksum, deterministic=True)


def count_altered_rows(db: apsw.Connection, table: str, version: int) -> int:
    """Count the rows of a document version that are not as they were written; those of chunks include their vectors."""
    altered = f"checksum is not row_checksum({CHECKED_COLUMNS[table]})"
    count = int(db.execute(f"select count(*) from {table} where version = ? and {altered}", (version,)).get)
    if table == "chunks":
        altered = f"checksum is not row_checksum({CHECKED_COLUMNS['vectors']})"
        rows = "select row from chunks where version = ?"
        count += int(db.execute(f"select count(*) from vectors where row in ({rows}) and {altered}", (version,)).get)
    return count
