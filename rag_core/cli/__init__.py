"""The `rag` command line: the service of the HTTP API in this process, with the same settings."""

import io
import os
import sys
from collections.abc import Sequence

from rag_core.cli.json_output import print_refusal
from rag_core.cli.parser import build_parser
from rag_core.core.errors import InvalidRequest, Misconfigured, RagError, describe_os_error
from rag_core.core.settings import list_misnamed_settings

_EXTRAS = {"pytrec_eval": "eval", "matplotlib": "eval"}  # that bring a module; most come with `local`
__all__ = ["build_parser", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0: done; 1: done in part; 2: refused, with the reason in one line on stderr, with --json as the error object of the
    HTTP API; 3: stopped at the budget.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a Windows console or a file in its code page has no "✓"
    chosen = build_parser().parse_args(arguments)
    for sentence in list_misnamed_settings():
        print(f"Note: {sentence}", file=sys.stderr)
    try:
        code: int = chosen.command(chosen)
        sys.stdout.flush()
    except (RagError, ModuleNotFoundError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader of the pipe, such as `head`, has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print_refusal(_make_refusal(error), as_json=getattr(chosen, "json", False))
        return 2
    except KeyboardInterrupt:
        return 130
    return code


def _make_refusal(error: RagError | ModuleNotFoundError | OSError) -> RagError:
    """Return the refusal that an error of a command is to its caller. Raises an OSError that is of no file."""
    if isinstance(error, ModuleNotFoundError):
        module = str(error.name).partition(".")[0]
        extra = _EXTRAS.get(module, "local")
        return Misconfigured(f"{module} is not installed: pip install 'azure-rag[{extra}]'")
    if isinstance(error, OSError):
        if error.filename is None:
            raise error
        return InvalidRequest(str(error.filename), f"cannot be used: {describe_os_error(error)}")
    return error
