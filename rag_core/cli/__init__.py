"""The `rag` command line: the service of the HTTP API in this process, with the same settings."""

import os
import sys
from collections.abc import Sequence

from rag_core.cli.parser import build_parser
from rag_core.core.errors import RagError

_EXTRAS = {"pytrec_eval": "eval", "matplotlib": "eval"}  # that bring a module; most come with `local`
__all__ = ["build_parser", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0: done; 1: done in part; 2: refused, with the reason in one line on stderr; 3: stopped at the budget.
    """
    chosen = build_parser().parse_args(arguments)
    try:
        code: int = chosen.command(chosen)
        sys.stdout.flush()
    except RagError as error:
        print(f"rag: {error.message}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        module = str(error.name).partition(".")[0]
        extra = _EXTRAS.get(module, "local")
        print(f"rag: {module} is not installed: pip install 'azure-rag[{extra}]'", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of the pipe, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
