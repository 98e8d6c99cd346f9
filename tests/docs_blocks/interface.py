"""The blocks of the pages on HTTP, the command line, settings, jobs and formats."""

from tests.docs_blocks import Blocks

BLOCKS: Blocks = {}
