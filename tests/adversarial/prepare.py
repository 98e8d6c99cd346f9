"""A child process that makes a document of a shape and prepares it for the index: `prepare KIND SHAPE CHARACTERS`.

It prints the CPU seconds of each step. A document that is refused is done.
"""

import sys
import time

from rag_core.core.errors import RagError
from rag_core.core.model import Scope
from rag_core.ingestion.chunking import Chunking, split_into_chunks
from rag_core.ingestion.extract import extract_as_kind
from rag_core.ingestion.indexing import _build_document_with_chunks
from rag_core.ingestion.upload import Upload
from tests.adversarial.shapes import SHAPES


def prepare(kind: str, text: str) -> None:
    """Extract, split and enrich a text with the usual options, and print what each took."""
    began = time.process_time()
    extraction = extract_as_kind(kind, text.encode("utf-8", "replace"))
    extracted = time.process_time()
    drafts = list(split_into_chunks(extraction.blocks, Chunking()))
    split = time.process_time()
    _build_document_with_chunks(Upload(content=text, source="a.txt"), extraction, drafts, Scope("default"), ())
    steps = (extracted - began, split - extracted, time.process_time() - split)
    print(*(f"{seconds:.2f}" for seconds in steps), len(drafts), "chunks")


if __name__ == "__main__":
    try:
        prepare(sys.argv[1], SHAPES[sys.argv[2]](int(sys.argv[3])))
    except RagError as refusal:
        print("refused:", refusal.message)
