"""`python -m tests.docs_blocks`: writes every generated block into its page."""

from tests.docs_blocks import fill_pages
from tests.docs_blocks.every import BLOCKS

for path, text in fill_pages(BLOCKS).items():
    path.write_text(text, "utf-8")
