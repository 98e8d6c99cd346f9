"""The blocks of all modules, by name."""

from tests.docs_blocks import Blocks, answers, interface, operations, workbench

BLOCKS: Blocks = {**interface.BLOCKS, **operations.BLOCKS, **answers.BLOCKS, **workbench.BLOCKS}
