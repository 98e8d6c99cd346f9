"""The blocks of all modules, by name."""

from tests.docs_blocks import Blocks, answers, architecture, interface, operations, workbench

BLOCKS: Blocks = {
    **architecture.BLOCKS,
    **interface.BLOCKS,
    **operations.BLOCKS,
    **answers.BLOCKS,
    **workbench.BLOCKS,
}
