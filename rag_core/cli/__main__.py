"""Entry point of `python -m rag_core.cli`, for use where the script `rag` is not on the PATH."""

import sys

from rag_core.cli import main

sys.exit(main())
