"""The `rag` command line: the service of the HTTP API in this process, with the same settings."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import get_args

from rag_core.answering.citation_styles import CitationStyle
from rag_core.cli import commands, doctor, evaluation_commands, reindex
from rag_core.core import presets
from rag_core.core.errors import RagError
from rag_core.core.settings import LLM_PROVIDERS

COLLECTION_LAYOUTS = """\
DIR holds documents, questions and judgements in one of three layouts:
  corpus.jsonl (or .gz), queries.jsonl and qrels.tsv (or qrels/test.tsv), as in BEIR;
  pdfs/, queries.jsonl and a qrels.tsv that names pages as FILE.pdf#page=3: the PDFs are indexed, a
    corpus.jsonl beside them is ignored, and a hit counts for each page that it covers;
  questions.jsonl beside .md and .txt files, one line {"_id", "text", "spans": [{"start", "end"}], "document"} per
    question: the score is the share of characters that the best 5 passages cover.
"""


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
        print(
            f"rag: {str(error.name).partition('.')[0]} is not installed: pip install 'azure-rag[local]'",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of the pipe, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the command line; every command has its own --help."""
    top = argparse.ArgumentParser(
        "rag",
        description="Index documents, search them and answer questions from them.",
        epilog="Settings are environment variables: docs/reference/settings.md.",
    )
    verbs = top.add_subparsers(required=True, metavar="COMMAND")

    serve = verbs.add_parser("serve", parents=[_build_data_option()], help="run the local emulator until Ctrl-C")
    serve.add_argument(
        "--port",
        type=_create_integer_parser(0, 65535),
        default=7071,
        help="TCP port; 0 selects a free one (default: 7071)",
    )
    serve.add_argument("--azure", action="store_true", help="use the Azure clients against emulated services")
    serve.add_argument("--admin", action="store_true", help="grant every caller the admin role (local use only)")
    serve.set_defaults(command=commands.run_serve_command)

    setup = verbs.add_parser("setup", parents=[_build_data_option()], help="create or upgrade the configured index")
    setup.set_defaults(command=commands.run_setup_command)

    index = verbs.add_parser(
        "index",
        parents=[_build_data_option(), _build_workflow_option(), _build_budget_options()],
        help="index files, folders and globs",
    )
    index.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder (recursive) or a quoted glob")
    index.set_defaults(command=commands.run_index_command)

    ingest = verbs.add_parser(
        "ingest",
        parents=[_build_data_option(), _build_budget_options()],
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
        "--workflow", type=_parse_id_option, metavar="ID", help="workflow to index into (default: $RAG_COLLECTION)"
    )
    ingest.set_defaults(command=commands.run_ingest_command)

    again = verbs.add_parser(
        "reindex",
        parents=[_build_data_option(), _build_workflow_option(), _build_budget_options()],
        help="change the embedding model, or roll the change back",
    )
    again.add_argument("--profile", choices=LLM_PROVIDERS[1:], help="provider of the new embedding model")
    again.add_argument(
        "--model", metavar="NAME", help="model or deployment of the provider (default: the configured one)"
    )
    again.add_argument(
        "--dimensions",
        type=_create_integer_parser(1, 4096),
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

    query = verbs.add_parser(
        "query",
        parents=[_build_data_option(), _build_workflow_option()],
        help="find the passages relevant to a question",
    )
    query.add_argument("text", metavar="QUESTION")
    query.add_argument("--pipeline", help=f"{', '.join(presets.PRESETS)} (default: advanced)")
    query.add_argument("--top-k", type=int, default=5, metavar="N", help="number of passages (default: 5)")
    query.add_argument("--json", action="store_true", help="print the reply of api/consult_rag")
    query.set_defaults(command=commands.run_query_command)

    ask = verbs.add_parser(
        "ask",
        parents=[_build_data_option(), _build_workflow_option()],
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
    ask.add_argument("--preset", help=f"preset that answers: {', '.join(presets.PRESETS)} (default: advanced)")
    ask.add_argument(
        "--style",
        choices=get_args(CitationStyle),
        help="citation style (default: sections for classical, else numbers)",
    )
    ask.add_argument("--json", action="store_true", help="print the reply of api/rag/ask")
    ask.set_defaults(command=commands.run_ask_command)

    replay = verbs.add_parser(
        "replay",
        parents=[_build_data_option(), _build_workflow_option()],
        help="run a saved query with another preset and compare the rankings",
    )
    replay.add_argument(
        "id",
        nargs="?",
        type=_create_integer_parser(1),
        metavar="ID",
        help="id of the saved query; without it, list the saved queries",
    )
    replay.add_argument(
        "--preset",
        default="advanced",
        help=f"preset that ranks: {', '.join(presets.PRESETS)} (default: advanced)",
    )
    replay.set_defaults(command=commands.run_replay_command)

    facets = verbs.add_parser(
        "facets", parents=[_build_data_option(), _build_workflow_option()], help="count the values of a field"
    )
    facets.add_argument("field", metavar="FIELD", help="entity_codes, an entity type, title, source or metadata.NAME")
    facets.add_argument(
        "--limit",
        type=_create_integer_parser(1),
        default=20,
        metavar="N",
        help="number of values shown; the total is always exact (default: 20)",
    )
    facets.set_defaults(command=commands.run_facets_command)

    graph = verbs.add_parser(
        "graph",
        parents=[_build_data_option(), _build_workflow_option()],
        help="show the entities that occur together with an entity",
    )
    graph.add_argument("entity", metavar="ENTITY")
    graph.add_argument("--to", metavar="OTHER", help="show the shortest paths to this entity instead")
    graph.add_argument("--limit", type=int, default=20, metavar="N", help="number of entities shown (default: 20)")
    graph.set_defaults(command=commands.run_graph_command)

    summary = verbs.add_parser(
        "summary", parents=[_build_data_option(), _build_workflow_option()], help="summarize a document"
    )
    summary.add_argument("document", metavar="DOC", help="its id, path or title")
    summary.set_defaults(command=commands.run_summary_command)

    documents = verbs.add_parser(
        "documents", parents=[_build_data_option(), _build_workflow_option()], help="list the documents"
    )
    documents.add_argument(
        "--deleted", action="store_true", help="list the deleted documents that can be restored instead"
    )
    documents.set_defaults(command=commands.run_documents_command)

    delete = verbs.add_parser(
        "delete", parents=[_build_data_option(), _build_workflow_option()], help="delete a document; it can be restored"
    )
    delete.add_argument("document", metavar="DOC", help="its id, path or title")
    delete.add_argument("--purge", action="store_true", help="remove it permanently, also after a delete")
    delete.set_defaults(command=commands.run_delete_command)

    restore = verbs.add_parser(
        "restore", parents=[_build_data_option(), _build_workflow_option()], help="restore a deleted document"
    )
    restore.add_argument("document", metavar="DOC", help="its id, path or title")
    restore.set_defaults(command=commands.run_restore_command)

    cite = verbs.add_parser(
        "cite",
        parents=[_build_data_option(), _build_workflow_option()],
        help="find the support for each sentence of a text",
    )
    cite.add_argument("text", metavar="TEXT", help="the text, or - for standard input")
    cite.set_defaults(command=commands.run_cite_command)

    log = verbs.add_parser("log", parents=[_build_data_option()], help="show the query log")
    log.add_argument(
        "-n",
        dest="number",
        type=_create_integer_parser(1),
        default=20,
        metavar="N",
        help="number of entries (default: 20)",
    )
    log.add_argument("--json", action="store_true", help="print all fields of each entry")
    log.set_defaults(command=commands.run_log_command)

    score = verbs.add_parser("eval", help="evaluate the pipelines on labelled questions")
    scores = score.add_subparsers(required=True, metavar="COMMAND")
    on_folder = partial(
        scores.add_parser,
        parents=[_build_collection_options()],
        epilog=COLLECTION_LAYOUTS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run = on_folder("run", help="evaluate each leg and pipeline on a labelled folder")
    run.set_defaults(command=evaluation_commands.run_eval_command)

    compare = on_folder("compare", help="compare presets, paired by question")
    compare.add_argument(
        "presets",
        nargs="+",
        metavar="PRESET",
        help="a preset with optional overrides, as advanced or advanced:rewordings=0,imaginings=0",
    )
    compare.set_defaults(command=evaluation_commands.run_eval_compare_command)

    ablate = on_folder("ablate", help="measure the gain and cost of each stage of the pipeline advanced")
    ablate.set_defaults(command=evaluation_commands.run_eval_ablate_command)

    for command in (compare, ablate):
        command.add_argument(
            "--hosted",
            action="store_true",
            help="use the configured models and search service; this costs about the amount printed without it",
        )

    gate = scores.add_parser("gate", help="test the rankings of the small fixed sets for regressions")
    gate.add_argument("--update", action="store_true", help="accept the current rankings as the baseline")
    gate.set_defaults(command=evaluation_commands.run_eval_gate_command)

    audit = verbs.add_parser("audit", help="test security properties of the configured services")
    isolation = audit.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "isolation",
        parents=[_build_data_option()],
        help="plant canaries in several scopes and try to read them from others",
    )
    isolation.set_defaults(command=commands.run_audit_isolation_command)

    look = verbs.add_parser(
        "doctor", parents=[_build_data_option()], help="show what is configured, in use or missing, and why"
    )
    look.add_argument("--live", action="store_true", help="also call each hosted service")
    look.set_defaults(command=doctor.run_doctor_command)
    return top


def _build_collection_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="folder with labelled documents and questions, see below"
    )
    parser.add_argument("--queries", type=_create_integer_parser(1), metavar="N", help="only the first N questions")
    parser.add_argument(
        "--half",
        choices=("first", "second"),
        default="",
        help="only every second question: tune on one half, report the other",
    )
    parser.add_argument(
        "--workflow-field", metavar="NAME", help="search each question only among records with the same metadata.NAME"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def _build_data_option() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument(
        "--data", type=Path, metavar="FOLDER", help="folder of the index (default: $RAG_DATA_DIR, else .rag)"
    )
    return option


def _build_workflow_option() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument(
        "--workflow",
        type=_parse_id_option,
        default="default",
        metavar="ID",
        help="workflow whose documents are used (default: default)",
    )
    return option


def _build_budget_options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("--plan", action="store_true", help="print what would be done and its cost, without doing it")
    options.add_argument(
        "--budget-usd",
        type=_parse_usd_option,
        metavar="N",
        help="stop before embedding costs more than N; the exit code is then 3",
    )
    return options


def _parse_usd_option(text: str) -> float:
    try:
        amount = Decimal(text)
    except ArithmeticError:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError("must be an amount, such as 0.50")
    return float(amount)


def _create_integer_parser(low: int, high: int = 1_000_000) -> Callable[[str], int]:
    """Return an argparse type for whole numbers from `low` to `high`."""

    def read(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"must be a whole number from {low} to {high}")
        return int(text)

    return read


def _parse_id_option(text: str) -> str:
    """Parse an id by the rules of the HTTP API."""
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", text):
        raise argparse.ArgumentTypeError("must be 1 to 128 of A-Z a-z 0-9 . _ : -")
    return text
