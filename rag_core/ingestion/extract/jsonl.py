"""JSON Lines extraction: a document a line, placed by the line of the file, and a pointer into what is nested in it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import collect_blocks
from rag_core.ingestion.extract.json import RecordReader, parse_json
from rag_core.ingestion.extract.placed_blocks import BlockMaker
from rag_core.ingestion.extract.text import decode_text


def extract_jsonl(data: bytes) -> Extraction:
    """Extract JSON Lines.

    Raises:
        UnreadableDocument: a line is no JSON; the message has its number.
    """
    text, encoding, hidden = decode_text(data)
    return Extraction(collect_blocks(_read_lines(text.split("\n"))), None, f"jsonl ({encoding})", hidden)


def _read_lines(lines: Sequence[str]) -> Iterator[Block]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            root = f"line {number}, #"
            for block in RecordReader(BlockMaker(), root).read(parse_json(line, f"line {number}: ")):
                locator = "" if block.locator == root else block.locator
                yield replace(block, line_start=number, line_end=number, locator=locator)
