"""The parsers of the commands that ask: questions, counts, paths in the graph and citations."""

import argparse
from typing import TYPE_CHECKING, Any, get_args

from rag_core.answering.citation_styles import CitationStyle
from rag_core.cli import (
    opened_citation,
    question_commands,
    schema_commands,
)
from rag_core.cli.options import (
    build_answering_preset_option,
    build_data_option,
    build_json_option,
    build_workflow_option,
    create_integer_parser,
)
from rag_core.core import presets

if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[Any]  # which argparse gives no public name


def add_query_command(verbs: "_Commands") -> None:
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
    query.set_defaults(command=question_commands.run_query_command)


def add_link_command(verbs: "_Commands") -> None:
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
    link.add_argument("--by-model", action="store_true", help="let the chat model choose what is needed, and split it")
    link.add_argument("--json", action="store_true", help="print the reply of api/link_schema")
    link.set_defaults(command=schema_commands.run_link_command)


def add_ask_command(verbs: "_Commands") -> None:
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
    _add_details_option(ask)
    ask.add_argument("--json", action="store_true", help="print the reply of api/rag/ask")
    ask.set_defaults(command=question_commands.run_ask_command)


def _add_details_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--details", action="store_true", help="print all sources, what the confidence is made of, and who did what"
    )


def add_chat_command(verbs: "_Commands") -> None:
    """Add `rag chat`."""
    chat = verbs.add_parser(
        "chat",
        parents=[build_data_option(), build_workflow_option(), build_answering_preset_option(), build_json_option()],
        help="answer one question after the other, each read after those before",
    )
    _add_details_option(chat)
    chat.set_defaults(command=question_commands.run_chat_command)


def add_replay_command(verbs: "_Commands") -> None:
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
    replay.set_defaults(command=question_commands.run_replay_command)


def add_facets_command(verbs: "_Commands") -> None:
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
    facets.set_defaults(command=question_commands.run_facets_command)


def add_graph_command(verbs: "_Commands") -> None:
    """Add `rag graph`."""
    graph = verbs.add_parser(
        "graph",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="show the entities that occur together with an entity",
    )
    graph.add_argument("entity", metavar="ENTITY")
    graph.add_argument("--to", metavar="OTHER", help="show the shortest paths to this entity instead")
    graph.add_argument("--limit", type=int, default=20, metavar="N", help="number of entities shown (default: 20)")
    graph.set_defaults(command=question_commands.run_graph_command)


def add_cite_command(verbs: "_Commands") -> None:
    """Add `rag cite`."""
    cite = verbs.add_parser(
        "cite",
        parents=[build_data_option(), build_workflow_option(), build_json_option()],
        help="find the support for each sentence of a text",
    )
    cite.add_argument("text", metavar="TEXT", help="the text, or - for standard input")
    cite.set_defaults(command=question_commands.run_cite_command)


def add_open_command(verbs: "_Commands") -> None:
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
