"""The heads of a table that was cut into several chunks, which stand in the first of these alone."""

from collections.abc import Iterator, Sequence

from rag_core.ingestion.chunking import ChunkDraft
from rag_core.ingestion.tables import format_table_row
from rag_core.text.tables import TextTable, read_text_tables

MAX_HEAD_CHARS = 1_000  # longer heads are prose


def find_cut_heads(drafts: Sequence[ChunkDraft]) -> Iterator[str]:
    """Yield of each chunk what says the columns of the rows with which it begins, and their scale, "" for nothing."""
    head = ""
    for number, draft in enumerate(drafts):
        is_row = " | " in draft.content.partition("\n")[0] and not draft.fields
        head = _find_head(drafts[number - 1], head, draft) if is_row and number else ""
        yield head


def _find_head(before: ChunkDraft, head_before: str, draft: ChunkDraft) -> str:
    """Return the heads, in the chunk before, of the table with whose rows a chunk of the same page begins."""
    own = next(iter(read_text_tables(draft.content)), None)
    if own is None or own.start or own.heads or before.spans[-1].page != draft.spans[0].page:
        return ""
    tables = read_text_tables(f"{head_before}\n{before.content}" if head_before else before.content)
    shared = own.rows[0].part.text
    cut = [table for table in tables if any(row.part.text == shared for row in table.rows)] or tables[-1:]
    is_same = bool(cut) and len(cut[-1].heads) in {len(row.cells) for row in own.rows}
    return _write_head(cut[-1]) if is_same else ""


def _write_head(table: TextTable) -> str:
    """Return the heads as one row, below the scale where they do not say it."""
    row = format_table_row(table.heads)
    head = row if table.scale in row else f"{table.scale}\n{row}"
    return head if len(head) <= MAX_HEAD_CHARS else ""
