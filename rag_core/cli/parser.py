"""The parser of the command line: a function for each command."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rag_core.answering.citation_styles import CitationStyle
from rag_core.cli import (
    commands,
    data_folder,
    doctor,
    mcp_command,
    migrate,
    models,
    opened_citation,
    reindex,
    schema_commands,
)
from rag_core.cli.evaluation_parser import add_eval_command
from rag_core.cli.examples import EXAMPLES
from rag_core.cli.forgiving_parser import ForgivingParser, VersionAction, list_commands
from rag_core.cli.options import (
    build_answering_preset_option,
    build_budget_options,
    build_data_option,
    build_enrichment_option,
    build_json_option,
    build_workflow_option,
    create_integer_parser,
    parse_id_option,
)
from rag_core.core import presets
from rag_core.core.settings import MODEL_PROVIDERS

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[Any]  # which argparse gives no public name


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the command line; every command has its own --help."""
    top = ForgivingParser(
        "rag",
        description="Index documents, search them and answer questions from them.",
        epilog="Settings are environment variables: docs/reference/settings.md. `rag COMMAND --help` shows examples.",
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
        default=commands.LOOPBACK,
        metavar="ADDRESS",
        help="interface to serve on; others than 127.0.0.1 want the key of $RAG_FUNCTIONS_KEY (default: 127.0.0.1)",
    )
    serve.add_argument("--azure", action="store_true", help="use the Azure clients against emulated services")
    serve.add_argument("--admin", action="store_true", help="grant every caller the admin role (local use only)")
    serve.set_defaults(command=commands.run_serve_command)


def _add_mcp_command(verbs: "_Commands") -> None:
    """Add `rag mcp`."""
    mcp = verbs.add_parser(
        "mcp",
        parents=[build_data_option(), build_workflow_option()],
        help="offer the documents to a model's client (MCP over standard input and output)",
    )
    mcp.add_argument("--print-config", action="store_true", help="print the entry for a desktop client's configuration")
    mcp.set_defaults(command=mcp_command.run_mcp_command)


def _add_setup_command(verbs: "_Commands") -> None:
    """Add `rag setup`."""
    setup = verbs.add_parser(
        "setup", parents=[build_data_option(), build_json_option()], help="create or upgrade the configured index"
    )
    setup.add_argument(
        "--user",
        action="store_true",
        help="create your own index, which every folder without a .rag above it then uses",
    )
    setup.set_defaults(command=commands.run_setup_command)


def _add_index_command(verbs: "_Commands") -> None:
    """Add `rag index`."""
    index = verbs.add_parser(
        "index",
        parents=[
            build_data_option(),
            build_workflow_option(),
            build_budget_options(),
            build_enrichment_option(),
            build_json_option(),
        ],
        help="index files, folders and globs, or the schema of a database",
    )
    index.add_argument("paths", nargs="*", metavar="PATH", help="a file, a folder (recursive) or a quoted glob")
    index.add_argument("--database", metavar="URL", help="sqlite:///PATH or postgresql://HOST/NAME, which is only read")
    index.add_argument("--name", metavar="NAME", help="name of the database (default: its own)")
    index.add_argument(
        "--descriptions",
        type=Path,
        metavar="PATH",
        help="a dbt schema.yml or other YAML file, or a folder of them or of CSV files",
    )
    index.add_argument("--questions", type=Path, metavar="FILE", help="JSON Lines with question and sql")
    index.set_defaults(command=commands.run_index_command)


def _add_ingest_command(verbs: "_Commands") -> None:
    """Add `rag ingest`."""
    ingest = verbs.add_parser(
        "ingest",
        parents=[build_data_option(), build_budget_options(), build_json_option()],
        help="index proposals and their stages from records",
    )
    ingest.add_argument(
        "source",
        nargs="?",
        metavar="SOURCE",
        help="a .json, .jsonl or SQLite file, or a postgresql:// address (default: $RAG_PROPOSALS_SOURCE)",
    )
    ingest.add_argument("--clear", action="store_true", help="remove all proposals of the workflow before ingesting")
    ingest.add_argument(
        "--no-bodies", action="store_true", help="index only titles, dates, links, statuses and options"
    )
    ingest.add_argument(
        "--workflow", type=parse_id_option, metavar="ID", help="workflow to index into (default: $RAG_COLLECTION)"
    )
    ingest.set_defaults(command=commands.run_ingest_command)


def _add_reindex_command(verbs: "_Commands") -> None:
    """Add `rag reindex`."""
    again = verbs.add_parser(
        "reindex",
        parents=[build_data_option(), build_workflow_option(), build_budget_options(), build_json_option()],
        help="change the embedding model, or roll the change back",
    )
    again.add_argument("--profile", choices=MODEL_PROVIDERS[1:], help="provider of the new embedding model")
    again.add_argument(
        "--model", metavar="NAME", help="model or deployment of the provider (default: the configured one)"
    )
    again.add_argument(
        "--dimensions",
        type=create_integer_parser(1, 4096),
        metavar="N",
        help="dimensions of its vectors (default: the model's)",
    )
    again.add_argument(
        "--evaluate", type=Path, metavar="DIR", help="compare both indexes on queries.jsonl and qrels.tsv"
    )
    again.add_argument("--build-only", action="store_true", help="build the new index without switching to it")
    again.add_argument("--rollback", action="store_true", help="switch back to the previous index")
    again.add_argument(
        "--drop-others", action="store_true", help="delete every index except the current one permanently"
    )
    again.set_defaults(command=reindex.run_reindex_command)


def _add_query_command(verbs: "_Commands") -> None:
    """Add `rag query`."""
    query = verbs.add_parser(
        "query",
        parents=[build_data_option(), build_workflow_option()],
        help="find the passages relevant to a question",
    )
    query.add_argument("text", metavar="QUESTION")
    query.add_argument("--preset", help=f"preset that searches: {', '.join(presets.PRESETS)} (default: advanced)")
    query.add_argument("--pipeline", dest="preset", help=argparse.SUPPRESS)  # its name before
    query.add_argument("--top-k", type=int, default=5, metavar="N", help="number of passages (default: 5)")
    query.add_argument("--json", action="store_true", help="print the reply of api/consult_rag")
    query.set_defaults(command=commands.run_query_command)


def _add_link_command(verbs: "_Commands") -> None:
    """Add `rag link`."""
    link = verbs.add_parser(
        "link",
        parents=[build_data_option(), build_workflow_option()],
        help="find what of a database a question needs",
    )
    link.add_argument("text", metavar="QUESTION")
    link.add_argument("--database", metavar="NAME", help="its name (default: the only one)")
    link.add_argument(
        "--max-columns", type=create_integer_parser(1, 200), default=20, metavar="N", help="columns (default: 20)"
    )
    link.add_argument(
        "--max-tokens", type=create_integer_parser(50), default=1500, metavar="N", help="of the DDL (default: 1500)"
    )
    link.add_argument("--by-model", action="store_true", help="let the chat model choose tables and split the question")
    link.add_argument("--json", action="store_true", help="print the reply of api/link_schema")
    link.set_defaults(command=schema_commands.run_link_command)


def _add_ask_command(verbs: "_Commands") -> None:
    """Add `rag ask`."""
    ask = verbs.add_parser(
        "ask",
        parents=[build_data_option(), build_workflow_option(), build_answering_preset_option()],
        help="answer a question, with checked citations",
    )
    ask.add_argument("text", metavar="QUESTION")
    ask.add_argument(
        "--document",
        action="append",
        default=[],
        metavar="DOC",
        help="limit the search to this document (id, path or title); repeatable",
    )
    ask.add_argument(
        "--style",
        choices=get_args(CitationStyle),
        help="citation style (default: sections for classical, else numbers)",
    )
    ask.add_argument("--json", action="store_true", help="print the reply of api/rag/ask")
    ask.set_defaults(command=commands.run_ask_command)


def _add_chat_command(verbs: "_Commands") -> None:
    """Add `rag chat`."""
    chat = verbs.add_parser(
        "chat",
        parents=[build_data_option(), build_workflow_option(), build_answering_preset_option(), build_json_option()],
        help="answer one question after the other, each read after those before",
    )
    chat.set_defaults(command=commands.run_chat_command)


def _add_replay_command(verbs: "_Commands") -> None:
    """Add `rag replay`."""
    replay = verbs.add_parser(
        "replay",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="run a saved query with another preset and compare the rankings",
    )
    replay.add_argument(
        "id",
        nargs="?",
        type=create_integer_parser(1),
        metavar="ID",
        help="id of the saved query; without it, list the saved queries",
    )
    replay.add_argument(
        "--preset",
        default="advanced",
        help=f"preset that ranks: {', '.join(presets.RANKING_PRESETS)} (default: advanced)",
    )
    replay.set_defaults(command=commands.run_replay_command)


def _add_facets_command(verbs: "_Commands") -> None:
    """Add `rag facets`."""
    facets = verbs.add_parser(
        "facets",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="count the values of a field",
    )
    facets.add_argument("field", metavar="FIELD", help="entity_codes, an entity type, title, source or metadata.NAME")
    facets.add_argument(
        "--limit",
        type=create_integer_parser(1),
        default=20,
        metavar="N",
        help="number of values shown; the total is always exact (default: 20)",
    )
    facets.set_defaults(command=commands.run_facets_command)


def _add_graph_command(verbs: "_Commands") -> None:
    """Add `rag graph`."""
    graph = verbs.add_parser(
        "graph",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="show the entities that occur together with an entity",
    )
    graph.add_argument("entity", metavar="ENTITY")
    graph.add_argument("--to", metavar="OTHER", help="show the shortest paths to this entity instead")
    graph.add_argument("--limit", type=int, default=20, metavar="N", help="number of entities shown (default: 20)")
    graph.set_defaults(command=commands.run_graph_command)


def _add_summary_command(verbs: "_Commands") -> None:
    """Add `rag summary`."""
    summary = verbs.add_parser(
        "summary",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="summarize a document",
    )
    summary.add_argument("document", metavar="DOC", help="its id, path or title")
    summary.set_defaults(command=commands.run_summary_command)


def _add_documents_command(verbs: "_Commands") -> None:
    """Add `rag documents`."""
    documents = verbs.add_parser(
        "documents",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="list the documents",
    )
    documents.add_argument(
        "--deleted", action="store_true", help="list the deleted documents that can be restored instead"
    )
    documents.set_defaults(command=commands.run_documents_command)


def _add_delete_command(verbs: "_Commands") -> None:
    """Add `rag delete`."""
    delete = verbs.add_parser(
        "delete",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="delete a document; it can be restored",
    )
    delete.add_argument("document", metavar="DOC", help="its id, path or title")
    delete.add_argument("--purge", action="store_true", help="remove it permanently, also after a delete")
    delete.set_defaults(command=commands.run_delete_command)


def _add_restore_command(verbs: "_Commands") -> None:
    """Add `rag restore`."""
    restore = verbs.add_parser(
        "restore",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="restore a deleted document",
    )
    restore.add_argument("document", metavar="DOC", help="its id, path or title")
    restore.set_defaults(command=commands.run_restore_command)


def _add_check_command(verbs: "_Commands") -> None:
    """Add `rag check`."""
    check = verbs.add_parser(
        "check", parents=[build_data_option(), build_json_option()], help="look for damage in the data folder"
    )
    check.add_argument(
        "--repair", action="store_true", help="build what is derived again, and leave damaged documents out"
    )
    check.set_defaults(command=data_folder.run_check_command)


def _add_backup_command(verbs: "_Commands") -> None:
    """Add `rag backup`."""
    backup = verbs.add_parser(
        "backup", parents=[build_data_option(), build_json_option()], help="copy the data folder while it is in use"
    )
    backup.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder for the backup")
    backup.set_defaults(command=data_folder.run_backup_command)


def _add_restore_backup_command(verbs: "_Commands") -> None:
    """Add `rag restore-backup`."""
    restore = verbs.add_parser(
        "restore-backup",
        parents=[build_data_option(), build_json_option()],
        help="fill a new data folder from a backup",
    )
    restore.add_argument("folder", type=Path, metavar="FOLDER", help="a folder that rag backup made")
    restore.set_defaults(command=data_folder.run_restore_backup_command)


def _add_migrate_command(verbs: "_Commands") -> None:
    """Add `rag migrate`."""
    move = verbs.add_parser(
        "migrate",
        parents=[build_data_option(), build_json_option()],
        help="move the index of the data folder to Azure AI Search or PostgreSQL, with its vectors",
    )
    move.set_defaults(command=migrate.run_migrate_command)


def _add_cite_command(verbs: "_Commands") -> None:
    """Add `rag cite`."""
    cite = verbs.add_parser(
        "cite",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="find the support for each sentence of a text",
    )
    cite.add_argument("text", metavar="TEXT", help="the text, or - for standard input")
    cite.set_defaults(command=commands.run_cite_command)


def _add_completion_command(verbs: "_Commands") -> None:
    """Add `rag completion`."""
    completion = verbs.add_parser("completion", help="print the script that completes commands and options in a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "powershell", "tcsh"))
    completion.set_defaults(command=lambda arguments: commands.run_completion_command(arguments, build_parser()))


def _add_open_command(verbs: "_Commands") -> None:
    """Add `rag open`."""
    opening = verbs.add_parser(
        "open",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="open the page of a citation of the last answer, or a document",
    )
    opening.add_argument(
        "what", metavar="CITATION", help="its number in the last rag ask; or a document, as DOC elsewhere"
    )
    opening.add_argument("--page", type=create_integer_parser(1), metavar="N", help="page of the document")
    opening.add_argument("--print", action="store_true", help="print the address instead of opening it")
    opening.set_defaults(command=opened_citation.run_open_command)


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
    log.set_defaults(command=commands.run_log_command)


def _add_audit_command(verbs: "_Commands") -> None:
    """Add `rag audit`."""
    audit = verbs.add_parser("audit", help="test security properties of the configured services")
    isolation = audit.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "isolation",
        parents=[build_data_option(), build_json_option()],
        help="plant canaries in several scopes and try to read them from others",
    )
    isolation.set_defaults(command=commands.run_audit_isolation_command)


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
    _add_setup_command,
    _add_index_command,
    _add_ingest_command,
    _add_reindex_command,
    _add_migrate_command,
    _add_query_command,
    _add_link_command,
    _add_ask_command,
    _add_chat_command,
    _add_replay_command,
    _add_facets_command,
    _add_graph_command,
    _add_summary_command,
    _add_documents_command,
    _add_delete_command,
    _add_restore_command,
    _add_check_command,
    _add_backup_command,
    _add_restore_backup_command,
    _add_cite_command,
    _add_open_command,
    _add_log_command,
    add_eval_command,
    _add_audit_command,
    _add_models_command,
    _add_doctor_command,
    _add_completion_command,
)  # in the order of the help
