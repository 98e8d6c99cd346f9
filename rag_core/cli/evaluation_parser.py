"""The parser of `rag eval`."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from rag_core.cli import evaluation_commands
from rag_core.cli.options import build_data_option, build_workflow_option, create_integer_parser

COLLECTION_LAYOUTS = """\
DIR holds documents, questions and judgements in one of three layouts:
  corpus.jsonl (or .gz), queries.jsonl and qrels.tsv (or qrels/test.tsv), as in BEIR;
  pdfs/, queries.jsonl and a qrels.tsv that names pages as FILE.pdf#page=3: the PDFs are indexed, a
    corpus.jsonl beside them is ignored, and a hit counts for each page that it covers;
  questions.jsonl beside .md and .txt files, one line {"_id", "text", "spans": [{"start", "end"}], "document"} per
    question: the score is the share of characters that the best 5 passages cover.
A question may be a conversation, with lines that begin with |user|: and |agent|: as in MTRAG; the last is the question.
"""


def add_eval_command(verbs: "argparse._SubParsersAction[Any]") -> None:
    """Add `rag eval`."""
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

    claims = scores.add_parser("claims", help="measure the judge of claims on labelled claims: what it calls supported")
    claims.add_argument("--show", metavar="KIND", help="print the misjudged claims of a kind ('all': of every kind)")
    claims.set_defaults(command=evaluation_commands.run_eval_claims_command)
    answers = scores.add_parser("answers", help="measure whether the confidence tells right answers from wrong ones")
    answers.set_defaults(command=evaluation_commands.run_eval_answers_command)
    for command in (claims, answers):
        command.add_argument(
            "file", type=Path, metavar="FILE", help="JSON Lines, see docs/reference/evaluation-answers.md"
        )

    _add_schema_command(scores)
    ratings = scores.add_parser(
        "ratings",
        parents=[build_data_option(), build_workflow_option()],
        help="print the answers that were rated on the page Ask, as a FILE for `rag eval answers`",
    )
    ratings.set_defaults(command=evaluation_commands.run_eval_ratings_command)

    gate = scores.add_parser("gate", help="test the rankings of the small fixed sets for regressions")
    gate.add_argument("--update", action="store_true", help="accept the current rankings as the baseline")
    gate.set_defaults(command=evaluation_commands.run_eval_gate_command)


def _add_schema_command(scores: "argparse._SubParsersAction[Any]") -> None:
    """Add `rag eval schema`."""
    schema = scores.add_parser("schema", help="measure how well questions are linked to the schemas of databases")
    schema.add_argument(
        "folder",
        type=Path,
        metavar="DIR",
        help="folder with schemas.json and queries.jsonl, see docs/reference/evaluation-retrieval.md",
    )
    _add_question_options(schema)
    schema.add_argument(
        "--by-model", action="store_true", help="measure what the chat model chooses too: a call a question"
    )
    schema.add_argument(
        "--past-questions",
        action="store_true",
        help="measure linking with past questions too: the other half",
    )
    schema.set_defaults(command=evaluation_commands.run_eval_schema_command)


def _build_collection_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="folder with labelled documents and questions, see below"
    )
    parser.add_argument(
        "--workflow-field", metavar="NAME", help="search each question only among records with the same metadata.NAME"
    )
    _add_question_options(parser)
    return parser


def _add_question_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=create_integer_parser(1), metavar="N", help="only the first N questions")
    parser.add_argument(
        "--half",
        choices=("first", "second"),
        default="",
        help="only every second question: tune on one half, report the other",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
