"""`python -m rag_core.cli`: the command where its script is not on the PATH."""

import sys

from rag_core.cli import main

sys.exit(main())
