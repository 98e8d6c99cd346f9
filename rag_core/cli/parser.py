"""The parser of the command line: a function for each command."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_core.cli import (
    doctor,
    mcp_command,
    models,
    service_commands,
)
from rag_core.cli.evaluation_parser import add_eval_command
from rag_core.cli.examples import EXAMPLES
from rag_core.cli.forgiving_parser import ForgivingParser, VersionAction, list_commands
from rag_core.cli.indexing_parser import (
    add_backup_command,
    add_check_command,
    add_delete_command,
    add_documents_command,
    add_index_command,
    add_ingest_command,
    add_migrate_command,
    add_reindex_command,
    add_restore_backup_command,
    add_restore_command,
    add_setup_command,
    add_summary_command,
)
from rag_core.cli.options import (
    build_data_option,
    build_json_option,
    build_workflow_option,
    create_integer_parser,
)
from rag_core.cli.question_parser import (
    add_ask_command,
    add_chat_command,
    add_cite_command,
    add_facets_command,
    add_graph_command,
    add_link_command,
    add_open_command,
    add_query_command,
    add_replay_command,
)

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[Any]  # which argparse gives no public name


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the command line; every command has its own --help."""
    top = ForgivingParser(
        "rag",
        description="Index documents, search them and answer questions from them.",
        epilog="Settings are environment variables: docs/reference/settings.md. `rag COMMAND --help` shows examples. "
        "A refusal is one line on standard error and exits with 2; with --json it is the error object of the HTTP API.",
    )
    top.add_argument("--version", action=VersionAction, help="print the version")
    verbs = top.add_subparsers(required=True, metavar="COMMAND")
    for add_command in _COMMANDS:
        add_command(verbs)
    for name, command in list_commands(top):
        if name in EXAMPLES:
            command.epilog = "\n  ".join(("examples:", *EXAMPLES[name]))
            command.formatter_class = argparse.RawDescriptionHelpFormatter
    return top


def _add_serve_command(verbs: "_Commands") -> None:
    """Add `rag serve`."""
    serve = verbs.add_parser("serve", parents=[build_data_option()], help="run the local emulator until Ctrl-C")
    serve.add_argument(
        "--port",
        type=create_integer_parser(0, 65535),
        default=7071,
        help="TCP port; 0 selects a free one (default: 7071)",
    )
    serve.add_argument(
        "--host",
        default=service_commands.LOOPBACK,
        metavar="ADDRESS",
        help="interface to serve on; others than 127.0.0.1 want the key of $RAG_FUNCTIONS_KEY (default: 127.0.0.1)",
    )
    serve.add_argument("--azure", action="store_true", help="use the Azure clients against emulated services")
    serve.add_argument("--priced", action="store_true", help="with --azure: count tokens at list prices")
    serve.add_argument("--admin", action="store_true", help="grant every caller the admin role (local use only)")
    serve.set_defaults(command=service_commands.run_serve_command)


def _add_mcp_command(verbs: "_Commands") -> None:
    """Add `rag mcp`."""
    mcp = verbs.add_parser(
        "mcp",
        parents=[build_data_option(), build_workflow_option()],
        help="offer the documents to a model's client (MCP over standard input and output)",
    )
    mcp.add_argument("--print-config", action="store_true", help="print the entry for a desktop client's configuration")
    mcp.set_defaults(command=mcp_command.run_mcp_command)


def _add_completion_command(verbs: "_Commands") -> None:
    """Add `rag completion`."""
    completion = verbs.add_parser("completion", help="print the script that completes commands and options in a shell")
    completion.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish", "powershell", "tcsh"))
    completion.set_defaults(
        command=lambda arguments: service_commands.run_completion_command(arguments, build_parser())
    )


def _add_log_command(verbs: "_Commands") -> None:
    """Add `rag log`."""
    log = verbs.add_parser("log", parents=[build_data_option()], help="show the query log")
    log.add_argument(
        "-n",
        dest="number",
        type=create_integer_parser(1),
        default=20,
        metavar="N",
        help="number of entries (default: 20)",
    )
    log.add_argument("--json", action="store_true", help="print all fields of each entry")
    log.set_defaults(command=service_commands.run_log_command)


def _add_audit_command(verbs: "_Commands") -> None:
    """Add `rag audit`."""
    audit = verbs.add_parser("audit", help="test security properties of the configured services")
    isolation = audit.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "isolation",
        parents=[build_data_option(), build_json_option()],
        help="plant canaries in several scopes and try to read them from others",
    )
    isolation.set_defaults(command=service_commands.run_audit_isolation_command)


def _add_models_command(verbs: "_Commands") -> None:
    """Add `rag models`, which lists, and `rag models fetch`."""
    listing = verbs.add_parser(
        "models",
        parents=[build_data_option(), build_json_option()],
        help="list the models in use; fetch an entailment model",
    )
    listing.set_defaults(command=models.run_models_command)
    fetch = listing.add_subparsers(metavar="COMMAND").add_parser(
        "fetch", parents=[build_json_option()], help="download a named entailment model whose hashes are pinned"
    )
    fetch.add_argument("name", metavar="NAME", help="an unknown one lists the known ones")
    fetch.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="the folder for RAG_MODELS_DIR")
    fetch.add_argument(
        "--sha256",
        action="append",
        default=[],
        metavar="FILE=SHA256",
        help="the hash of a file whose hash is not known; repeatable",
    )
    fetch.add_argument("--from", dest="base_url", metavar="URL", help="a mirror of the model's files")
    fetch.set_defaults(command=models.run_models_fetch_command)


def _add_doctor_command(verbs: "_Commands") -> None:
    """Add `rag doctor`."""
    look = verbs.add_parser(
        "doctor",
        parents=[build_data_option(), build_json_option()],
        help="show what is configured, in use or missing, and why",
    )
    look.add_argument("--live", action="store_true", help="also call each hosted service")
    look.set_defaults(command=doctor.run_doctor_command)


_COMMANDS = (
    _add_serve_command,
    _add_mcp_command,
    add_setup_command,
    add_index_command,
    add_ingest_command,
    add_reindex_command,
    add_migrate_command,
    add_query_command,
    add_link_command,
    add_ask_command,
    add_chat_command,
    add_replay_command,
    add_facets_command,
    add_graph_command,
    add_summary_command,
    add_documents_command,
    add_delete_command,
    add_restore_command,
    add_check_command,
    add_backup_command,
    add_restore_backup_command,
    add_cite_command,
    add_open_command,
    _add_log_command,
    add_eval_command,
    _add_audit_command,
    _add_models_command,
    _add_doctor_command,
    _add_completion_command,
)  # in the order of the help
