"""The blocks of the pages on the workbench, retrieval and benchmarks."""

from tests.docs_blocks import Blocks

BLOCKS: Blocks = {}
