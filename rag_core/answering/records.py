"""The records of the evidence: rows of tables with their heads, and lists of "key: value" lines, as fields of a name.

A row states of each of its cells that the head of the row's name is the cell; a line "key: value" that the key is the
value, of what the list is about.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_core.answering.computing.stored_tables import CitedRow, StoredTable, read_stored_tables
from rag_core.core.model import Chunk, Evidence
from rag_core.ingestion.tables import read_row_cells
from rag_core.text.layout import remove_marks

MAX_FIELDS = 60  # of one record
MAX_RECORDS = 2_000  # of the evidence of a claim
MAX_VALUE_WORDS = 12  # of a "key: value" line: a longer one is a sentence below a title
_KEY_VALUE = re.compile(
    r"[ \t\"'>*_-]{0,12}(?P<key>[^\W\d_][\w ./()%°&'-]{0,59})[\"'*_]{0,3}\s?[:=]"
    r"[\"'*_]{0,3}[ \t]{1,20}(?P<value>\S.{0,299})"
)
_QUOTING = "\"'*_,; \t"


@dataclass(frozen=True, slots=True)
class RecordField:
    """A head or key with its value, as they are written."""

    head: str
    value: str


@dataclass(frozen=True, slots=True)
class Record:
    """Fields of one name, "" for a list that has none, and where they stand: characters of a chunk.

    `name_head` is the head of the name. `about` is what else a sentence on the record may say: titles, headings, cells
    that have the name, and the cell that tells when, of a row whose first cell is a date or a number.
    """

    name: str
    name_head: str
    fields: tuple[RecordField, ...]
    about: str
    chunk: Chunk
    start: int
    end: int
    peers: tuple[tuple[str, ...], ...] = ()  # of each field: the values that other rows have there
    is_log: bool = False  # whether the name may come again in other rows: the first cell is a date or a number


def read_records(evidence: Sequence[Evidence]) -> list[Record]:
    """Return the records of the evidence that stand in it as a whole, best passage first, at most MAX_RECORDS."""
    held = {item.hit.chunk.id: item for item in reversed(evidence)}
    chunks: dict[str, list[Chunk]] = {}
    for item in held.values():
        chunks.setdefault(item.hit.chunk.document_id, []).append(item.hit.chunk)
    found = [
        record
        for of_document in chunks.values()
        for record in (*_read_tables(of_document), *(r for chunk in of_document for r in _read_key_values(chunk)))
        if (item := held[record.chunk.id]).start <= record.start and record.end <= item.end
    ]
    return found[:MAX_RECORDS]


def _read_tables(chunks: Sequence[Chunk]) -> Iterator[Record]:
    for table in read_stored_tables(chunks):
        if table.is_list:
            continue
        peers = tuple(tuple(dict.fromkeys(column)) for column in zip(*(row.cells for row in table.rows), strict=True))
        for row in table.rows:
            yield from _read_row(row, table, peers)


def _read_row(row: CitedRow, table: StoredTable, peers: Sequence[Sequence[str]]) -> Iterator[Record]:
    """Yield the record of a row; one of two columns is read as a key and its value as well."""
    about = " ".join((row.chunk.title, *row.chunk.heading_path, table.about, row.group))
    place = (row.chunk, row.start, row.end)
    name_at = row.name_at or _find_name_of_log(row.cells)
    name = row.cells[name_at]
    if name.strip():
        at = [
            n
            for n, (head, cell) in enumerate(zip(table.columns, row.cells, strict=True))
            if n != name_at and head.strip() and cell.strip()
        ][:MAX_FIELDS]
        fields = tuple(RecordField(table.columns[n], row.cells[n]) for n in at)
        others = tuple(tuple(peers[n]) for n in at)
        when = row.cells[0] if name_at else ""
        also = " ".join((about, when, *(cell for cell in row.cells if name in cell)))
        yield Record(name, table.columns[name_at], fields, also, *place, peers=others, is_log=bool(name_at))
    if len(row.cells) == 2 and all(cell.strip() for cell in row.cells):
        field = RecordField(*row.cells)
        yield Record("", "", (field,), f"{about} {' '.join(table.columns)}", *place, peers=(tuple(peers[1]),))


def _find_name_of_log(cells: Sequence[str]) -> int:
    """Return the first cell with letters, which names a row that begins with a date or a number."""
    return next((n for n, cell in enumerate(cells) if any(map(str.isalpha, cell))), 0)


def _read_key_values(chunk: Chunk) -> Iterator[Record]:
    """Yield each "key: value" line of a chunk that is no row of a table as a record of its own."""
    if read_row_cells(chunk.content, chunk.metadata):
        return
    about, start = " ".join((chunk.title, *chunk.heading_path)), 0
    for line in chunk.content.split("\n"):
        found = _KEY_VALUE.fullmatch(line.rstrip(", \t\r")) if " | " not in line else None
        if found and len(found["value"].split()) <= MAX_VALUE_WORDS:
            field = RecordField(remove_marks(found["key"]).strip(_QUOTING), found["value"].strip(_QUOTING))
            yield Record("", "", (field,), about, chunk, start, start + len(line))
        start += len(line) + 1
