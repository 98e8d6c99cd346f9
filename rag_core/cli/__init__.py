"""The `rag` command: the same service as over HTTP, in this process and over the same settings."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import get_args

from rag_core.answering.citation_styles import Style
from rag_core.cli import commands, doctor, evals, reindex
from rag_core.core import presets
from rag_core.core.errors import RagError
from rag_core.core.settings import PROVIDERS

LAYOUTS = """\
DIR has its documents, questions and judgements in one of three layouts:
  corpus.jsonl (or .gz), queries.jsonl and qrels.tsv (or qrels/test.tsv), as BEIR has them;
  pdfs/, queries.jsonl and qrels.tsv that names pages as FILE.pdf#page=3: the PDFs are indexed as they
    are, and a corpus.jsonl beside them is not; a hit stands for the pages it is on;
  questions.jsonl beside .md and .txt files, a line {"_id", "text", "spans": [{"start", "end"}], "document"}:
    scored by the characters that the best 5 passages cover.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says.

    0: done; 1: done in part; 2: refused, with one line on stderr that says why; 3: done until the budget was spent.
    """
    chosen = parser().parse_args(arguments)
    try:
        code: int = chosen.command(chosen)
        sys.stdout.flush()
    except RagError as failure:
        print(f"rag: {failure.message}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as lacking:
        print(
            f"rag: {str(lacking.name).partition('.')[0]} is not installed: pip install 'azure-rag[local]'",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader at the other end, `head` say, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def parser() -> argparse.ArgumentParser:
    """The command line. Every command has its own --help."""
    top = argparse.ArgumentParser(
        "rag",
        description="Index documents and consult them.",
        epilog="Settings come from the environment: docs/settings.md.",
    )
    verbs = top.add_subparsers(required=True, metavar="COMMAND")

    serve = verbs.add_parser("serve", parents=[_data()], help="run the local emulator until Ctrl-C")
    serve.add_argument("--port", type=_whole(0, 65535), default=7071, help="0 takes a free one (default: 7071)")
    serve.add_argument("--azure", action="store_true", help="over emulated Azure services, with the real clients")
    serve.add_argument("--admin", action="store_true", help="let everybody do what wants the role admin")
    serve.set_defaults(command=commands.serve)

    setup = verbs.add_parser("setup", parents=[_data()], help="create the index that the settings name, or upgrade it")
    setup.set_defaults(command=commands.setup)

    index = verbs.add_parser("index", parents=[_data(), _workflow(), _paid()], help="index files, folders and globs")
    index.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder with all below it, or a quoted glob")
    index.set_defaults(command=commands.index)

    ingest = verbs.add_parser(
        "ingest", parents=[_data(), _paid()], help="index proposals and their stages from records"
    )
    ingest.add_argument(
        "source",
        nargs="?",
        metavar="SOURCE",
        help="a .json, .jsonl or SQLite file, or a postgresql:// address (default: $RAG_PROPOSALS_SOURCE)",
    )
    ingest.add_argument("--clear", action="store_true", help="remove the proposals that are there, then ingest")
    ingest.add_argument("--no-bodies", action="store_true", help="only what describes a proposal and its stages")
    ingest.add_argument("--workflow", type=_id, metavar="ID", help="the collection (default: $RAG_COLLECTION)")
    ingest.set_defaults(command=commands.ingest)

    again = verbs.add_parser(
        "reindex", parents=[_data(), _workflow(), _paid()], help="change the embedding model, or change it back"
    )
    again.add_argument("--profile", choices=PROVIDERS[1:], help="whose model embeds from now on")
    again.add_argument("--model", metavar="NAME", help="the profile's model or deployment (default: its usual one)")
    again.add_argument("--dimensions", type=_whole(1, 4096), metavar="N", help="of its vectors (default: the model's)")
    again.add_argument(
        "--evaluate", type=Path, metavar="DIR", help="ask both indexes the questions of queries.jsonl and qrels.tsv"
    )
    again.add_argument("--build-only", action="store_true", help="do not switch yet; done again, that is all it does")
    again.add_argument("--rollback", action="store_true", help="go back to the index before the last switch")
    again.add_argument("--drop-others", action="store_true", help="remove every index but the current one, for good")
    again.set_defaults(command=reindex.reindex)

    query = verbs.add_parser("query", parents=[_data(), _workflow()], help="find the passages that bear on a question")
    query.add_argument("text", metavar="QUESTION")
    query.add_argument("--pipeline", help=f"{', '.join(presets.PRESETS)} (default: advanced)")
    query.add_argument("--top-k", type=int, default=5, metavar="N", help="how many passages (default: 5)")
    query.add_argument("--json", action="store_true", help="print what api/consult_rag would reply")
    query.set_defaults(command=commands.query)

    ask = verbs.add_parser("ask", parents=[_data(), _workflow()], help="answer a question, with checked citations")
    ask.add_argument("text", metavar="QUESTION")
    ask.add_argument(
        "--document", action="append", default=[], metavar="DOC", help="look only here (id, path or title); repeatable"
    )
    ask.add_argument("--preset", help=f"one of {', '.join(presets.PRESETS)} that answers (default: advanced)")
    ask.add_argument(
        "--style", choices=get_args(Style), help="of citations (default: sections for classical, else numbers)"
    )
    ask.add_argument("--json", action="store_true", help="print what api/rag/ask would reply")
    ask.set_defaults(command=commands.ask)

    replay = verbs.add_parser(
        "replay", parents=[_data(), _workflow()], help="ask a kept question again by another preset, and compare"
    )
    replay.add_argument("id", nargs="?", type=_whole(1), metavar="ID", help="of the question; without it, list them")
    replay.add_argument(
        "--preset", default="advanced", help=f"one of {', '.join(presets.PRESETS)} that ranks (default: advanced)"
    )
    replay.set_defaults(command=commands.replay)

    facets = verbs.add_parser("facets", parents=[_data(), _workflow()], help="count the values of a field")
    facets.add_argument("field", metavar="FIELD", help="entity_codes, an entity type, title, source or metadata.NAME")
    facets.add_argument(
        "--limit", type=_whole(1), default=20, metavar="N", help="values shown; the total is exact (default: 20)"
    )
    facets.set_defaults(command=commands.facets)

    graph = verbs.add_parser("graph", parents=[_data(), _workflow()], help="show what an entity stands together with")
    graph.add_argument("entity", metavar="ENTITY")
    graph.add_argument("--to", metavar="OTHER", help="show the shortest ways to this entity instead")
    graph.add_argument("--limit", type=int, default=20, metavar="N", help="entities shown (default: 20)")
    graph.set_defaults(command=commands.graph)

    summary = verbs.add_parser("summary", parents=[_data(), _workflow()], help="summarize a document")
    summary.add_argument("document", metavar="DOC", help="its id, path or title")
    summary.set_defaults(command=commands.summary)

    documents = verbs.add_parser("documents", parents=[_data(), _workflow()], help="list the documents")
    documents.add_argument("--deleted", action="store_true", help="those that can be restored instead")
    documents.set_defaults(command=commands.documents)

    delete = verbs.add_parser("delete", parents=[_data(), _workflow()], help="take a document out of everything")
    delete.add_argument("document", metavar="DOC", help="its id, path or title")
    delete.add_argument("--purge", action="store_true", help="for good, also one that was deleted: nothing is left")
    delete.set_defaults(command=commands.delete)

    restore = verbs.add_parser("restore", parents=[_data(), _workflow()], help="bring a deleted document back")
    restore.add_argument("document", metavar="DOC", help="its id, path or title")
    restore.set_defaults(command=commands.restore)

    cite = verbs.add_parser("cite", parents=[_data(), _workflow()], help="find the support for each sentence of a text")
    cite.add_argument("text", metavar="TEXT", help="the text, or - to read it from standard input")
    cite.set_defaults(command=commands.cite)

    log = verbs.add_parser("log", parents=[_data()], help="show what was asked, and how it went")
    log.add_argument("-n", dest="number", type=_whole(1), default=20, metavar="N", help="entries (default: 20)")
    log.add_argument("--json", action="store_true", help="print all that is kept of each")
    log.set_defaults(command=commands.log)

    score = verbs.add_parser("eval", help="score the pipelines on labelled questions")
    scores = score.add_subparsers(required=True, metavar="COMMAND")
    on_folder = partial(
        scores.add_parser, parents=[_labelled()], epilog=LAYOUTS, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    run = on_folder("run", help="score a labelled folder, by leg and by pipeline")
    run.set_defaults(command=evals.run)

    compare = on_folder("compare", help="one preset against another, question by question")
    compare.add_argument(
        "presets", nargs="+", metavar="PRESET", help="as advanced or advanced:rewordings=0,imaginings=0"
    )
    compare.set_defaults(command=evals.compare)

    ablate = on_folder("ablate", help="what each stage of advanced is worth, and takes")
    ablate.set_defaults(command=evals.ablate)

    for command in (compare, ablate):
        command.add_argument(
            "--hosted",
            action="store_true",
            help="ask the models and search service of the settings: it costs money, about what is printed without it",
        )

    gate = scores.add_parser("gate", help="has a change made the rankings of the small fixed sets worse?")
    gate.add_argument("--update", action="store_true", help="agree to the rankings as they are now")
    gate.set_defaults(command=evals.gate)

    audit = verbs.add_parser("audit", help="try what must not be possible")
    isolation = audit.add_subparsers(required=True, metavar="COMMAND").add_parser(
        "isolation", parents=[_data()], help="plant canaries in scopes of their own and look for them from others"
    )
    isolation.set_defaults(command=commands.audit_isolation)

    look = verbs.add_parser("doctor", parents=[_data()], help="say what is configured, in use, missing, and why")
    look.add_argument("--live", action="store_true", help="also ask each hosted service whether it answers")
    look.set_defaults(command=doctor.doctor)
    return top


def _labelled() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("folder", type=Path, metavar="DIR", help="labelled documents and questions, see below")
    parser.add_argument("--queries", type=_whole(1), metavar="N", help="only the first N questions")
    parser.add_argument(
        "--half",
        choices=("first", "second"),
        default="",
        help="every second question only: tune on one half, report the other",
    )
    parser.add_argument(
        "--workflow-field", metavar="NAME", help="ask each question among the records with its own metadata.NAME only"
    )
    parser.add_argument("--json", action="store_true", help="print numbers instead of a table")
    return parser


def _data() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument("--data", type=Path, metavar="FOLDER", help="the index (default: $RAG_DATA_DIR, else .rag)")
    return option


def _workflow() -> argparse.ArgumentParser:
    option = argparse.ArgumentParser(add_help=False)
    option.add_argument(
        "--workflow", type=_id, default="default", metavar="ID", help="whose documents (default: default)"
    )
    return option


def _paid() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument(
        "--plan", action="store_true", help="say what it would do and cost; nothing is written or paid"
    )
    options.add_argument("--budget-usd", type=_money, metavar="N", help="stop, with 3, before embedding costs more")
    return options


def _money(text: str) -> float:
    try:
        amount = Decimal(text)
    except ArithmeticError:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise argparse.ArgumentTypeError("must be an amount, as 0.50")
    return float(amount)


def _whole(low: int, high: int = 1_000_000) -> Callable[[str], int]:
    """A reader of whole numbers from `low` to `high`."""

    def read(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"must be a whole number from {low} to {high}")
        return int(text)

    return read


def _id(text: str) -> str:
    """An id that is one over HTTP too."""
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", text):
        raise argparse.ArgumentTypeError("must be 1 to 128 of A-Z a-z 0-9 . _ : -")
    return text
