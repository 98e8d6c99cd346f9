"""A child of the sandbox whose document is the extraction that it gives, as Python writes it. For tests."""

import sys

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.sandbox_child import serve_extraction


def read(_: str, data: bytes) -> Extraction:
    whole: Extraction = eval(data.removeprefix(b"%PDF-"), {"Block": Block, "Extraction": Extraction})  # noqa: S307
    return whole


if __name__ == "__main__":
    serve_extraction(sys.argv[1], int(sys.argv[2]), read)
