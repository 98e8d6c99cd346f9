"""The parsers of the commands that fill, list and empty the index."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_core.cli import (
    data_folder,
    document_commands,
    indexing_commands,
    migrate,
    reindex,
    service_commands,
)
from rag_core.cli.options import (
    build_budget_options,
    build_data_option,
    build_enrichment_option,
    build_json_option,
    build_workflow_option,
    create_integer_parser,
    parse_id_option,
)
from rag_core.core.settings import MODEL_PROVIDERS

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[Any]  # which argparse gives no public name


def add_setup_command(verbs: "_Commands") -> None:
    """Add `rag setup`."""
    setup = verbs.add_parser(
        "setup", parents=[build_data_option(), build_json_option()], help="create or upgrade the configured index"
    )
    setup.add_argument(
        "--user",
        action="store_true",
        help="create your own index, which every folder without a .rag above it then uses",
    )
    setup.set_defaults(command=service_commands.run_setup_command)


def add_index_command(verbs: "_Commands") -> None:
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
    kinds = "sqlite:///PATH, postgresql://HOST/NAME, mysql://… or mariadb://…"
    index.add_argument("--database", metavar="URL", help=f"{kinds}, which is only read")
    index.add_argument("--name", metavar="NAME", help="name of the database (default: its own)")
    index.add_argument(
        "--descriptions",
        type=Path,
        metavar="PATH",
        help="a dbt schema.yml or other YAML file, or a folder of them or of CSV files",
    )
    index.add_argument("--questions", type=Path, metavar="FILE", help="JSON Lines with question and sql")
    index.set_defaults(command=indexing_commands.run_index_command)


def add_ingest_command(verbs: "_Commands") -> None:
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
    ingest.set_defaults(command=indexing_commands.run_ingest_command)


def add_reindex_command(verbs: "_Commands") -> None:
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


def add_migrate_command(verbs: "_Commands") -> None:
    """Add `rag migrate`."""
    move = verbs.add_parser(
        "migrate",
        parents=[build_data_option(), build_json_option()],
        help="move the index of the data folder to Azure AI Search or PostgreSQL, with its vectors",
    )
    move.set_defaults(command=migrate.run_migrate_command)


def add_summary_command(verbs: "_Commands") -> None:
    """Add `rag summary`."""
    summary = verbs.add_parser(
        "summary",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="summarize a document",
    )
    summary.add_argument("document", metavar="DOC", help="its id, path or title")
    summary.set_defaults(command=document_commands.run_summary_command)


def add_documents_command(verbs: "_Commands") -> None:
    """Add `rag documents`."""
    documents = verbs.add_parser(
        "documents",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="list the documents",
    )
    documents.add_argument(
        "--deleted", action="store_true", help="list the deleted documents that can be restored instead"
    )
    documents.set_defaults(command=document_commands.run_documents_command)


def add_delete_command(verbs: "_Commands") -> None:
    """Add `rag delete`."""
    delete = verbs.add_parser(
        "delete",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="delete a document; it can be restored",
    )
    delete.add_argument("document", metavar="DOC", help="its id, path or title")
    delete.add_argument("--purge", action="store_true", help="remove it permanently, also after a delete")
    delete.set_defaults(command=document_commands.run_delete_command)


def add_restore_command(verbs: "_Commands") -> None:
    """Add `rag restore`."""
    restore = verbs.add_parser(
        "restore",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="restore a deleted document",
    )
    restore.add_argument("document", metavar="DOC", help="its id, path or title")
    restore.set_defaults(command=document_commands.run_restore_command)


def add_check_command(verbs: "_Commands") -> None:
    """Add `rag check`."""
    check = verbs.add_parser(
        "check", parents=[build_data_option(), build_json_option()], help="look for damage in the data folder"
    )
    check.add_argument(
        "--repair", action="store_true", help="build what is derived again, and leave damaged documents out"
    )
    check.set_defaults(command=data_folder.run_check_command)


def add_backup_command(verbs: "_Commands") -> None:
    """Add `rag backup`."""
    backup = verbs.add_parser(
        "backup", parents=[build_data_option(), build_json_option()], help="copy the data folder while it is in use"
    )
    backup.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder for the backup")
    backup.set_defaults(command=data_folder.run_backup_command)


def add_restore_backup_command(verbs: "_Commands") -> None:
    """Add `rag restore-backup`."""
    restore = verbs.add_parser(
        "restore-backup",
        parents=[build_data_option(), build_json_option()],
        help="fill a new data folder from a backup",
    )
    restore.add_argument("folder", type=Path, metavar="FOLDER", help="a folder that rag backup made")
    restore.set_defaults(command=data_folder.run_restore_backup_command)
