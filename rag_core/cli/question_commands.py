"""The commands that search, answer and cite; each imports its heavy modules itself."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_core.cli.json_output import format_json, print_json, print_refusal
from rag_core.cli.named_documents import find_document_id
from rag_core.cli.opened_service import run_with_index
from rag_core.core.errors import InvalidRequest, RagError
from rag_core.core.kit import Kit
from rag_core.core.model import Scope, Turn
from rag_core.core.run import Run
from rag_core.text.near_names import suggest_name

if TYPE_CHECKING:
    from rag_core.rag import RAG

LAST_LINES = frozenset({"quit", "exit"})  # at a terminal, beside the end of input
MAX_LISTED_QUERIES = 50  # saved queries shown by `rag replay`


@run_with_index
async def run_query_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the passages relevant to a question, and how they were found."""
    from rag_core.cli import terminal_output
    from rag_core.retrieval.captions import add_lexical_captions

    reply = await rag.search(
        arguments.text,
        scope=arguments.workflow,
        run=run,
        preset=arguments.preset,
        top_k=arguments.top_k,
    )
    if arguments.json:
        print(format_json(reply.to_json(), indent=2))
        return 0
    # a terminal has room for a sentence of each hit, also where the preset asks for no captions
    result = replace(reply.result, hits=add_lexical_captions(arguments.text, reply.result.hits))
    terminal_output.print_search_result(result, reply.preset.pipeline, run)
    terminal_output.print_run(run)
    terminal_output.print_saved_query_hint(reply.saved)
    return 0


@run_with_index
async def run_ask_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the answer to a question, each sentence once it is checked, then its sources and their verdicts."""
    from rag_core.cli import opened_citation, terminal_output
    from rag_core.cli.answer_stream import AnswerStream

    scope = await _limit_scope_to_documents(arguments.document, Scope(arguments.workflow), rag.kit)
    with AnswerStream(arguments.style, arguments.preset) as shown:
        run.listener = None if arguments.json else shown.show_event
        reply = await rag.answer(arguments.text, scope=scope, run=run, preset=arguments.preset)
        run.listener = None
    opened_citation.save_last_citations(reply.answer, rag.settings.data_dir)
    if arguments.json:
        print(format_json(reply.to_json(arguments.style), indent=2))
        return 0
    shown.finish(reply.answer)
    terminal_output.print_answer_support(reply.answer, is_detailed=arguments.details)
    terminal_output.print_run(run, tells_techniques=arguments.details)
    terminal_output.print_saved_query_hint(reply.saved)
    return 0


@run_with_index
async def run_chat_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Answer the lines of standard input one after the other, each read after the turns before; the end of input ends.

    A question that cannot be answered is said, and the conversation goes on without it. With --json each answer is a
    line.
    """
    from rag_core.cli import opened_citation, terminal_output
    from rag_core.cli.answer_stream import AnswerStream

    history: list[Turn] = []
    while question := await asyncio.to_thread(_read_question):
        run = rag.start_run()
        try:
            with AnswerStream(None, arguments.preset) as shown:
                run.listener = None if arguments.json else shown.show_event
                reply = await rag.answer(
                    question, scope=arguments.workflow, history=history, run=run, preset=arguments.preset
                )
        except RagError as error:
            print_refusal(error, as_json=arguments.json)
            continue
        opened_citation.save_last_citations(reply.answer, rag.settings.data_dir)
        if arguments.json:
            print(format_json(reply.to_json()), flush=True)
        else:
            shown.finish(reply.answer)
            terminal_output.print_answer_support(reply.answer, is_detailed=arguments.details)
            if reply.query.text != question:
                print(f"\nAsked as: {reply.query.text}")
            terminal_output.print_run(run, tells_techniques=arguments.details)
        history += [Turn("user", question), Turn("assistant", reply.answer.text)]
    return 0


def _read_question() -> str:
    """Return the next line that is not blank, "" at the end of input; a terminal shows a prompt and takes "quit"."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        print("\n> ", end="", flush=True)
    question = next((line.strip() for line in iter(sys.stdin.readline, "") if line.strip()), "")
    return "" if is_terminal and question.lower() in LAST_LINES else question


@run_with_index
async def run_replay_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the ranking of a saved query beside that of another preset; without an id, list the saved queries."""
    from rag_core.cli import terminal_output

    scope = Scope(arguments.workflow)
    if arguments.id is None:
        saved = await rag.kit.archive.list_queries(scope, limit=MAX_LISTED_QUERIES)
        print_json(saved) if arguments.json else terminal_output.print_saved_queries(saved)
        return 0
    replay = await rag.replay(arguments.id, arguments.preset, scope=scope, run=run)
    if arguments.json:
        print_json(replay)
        return 0
    terminal_output.print_replay(replay)
    terminal_output.print_run(run)
    return 0


@run_with_index
async def run_facets_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the values of a field, most frequent first, and their number."""
    from rag_core.cli import terminal_output

    fields = await rag.kit.index.store.list_facet_fields(Scope(arguments.workflow))
    field = next((name for name in (arguments.field, f"metadata.{arguments.field}") if name in fields), None)
    if field is None:
        if not fields:
            raise InvalidRequest("field", "cannot be counted: nothing is indexed here")
        meant = suggest_name(arguments.field, (*fields, *(name.removeprefix("metadata.") for name in fields)))
        raise InvalidRequest("field", f"must be one of {', '.join(fields)}{meant}")
    (facet,) = await rag.facets((field,), scope=arguments.workflow, limit=arguments.limit, run=run)
    print_json(facet) if arguments.json else terminal_output.print_facet(facet)
    return 0


@run_with_index
async def run_graph_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the entities that occur together with an entity, or the shortest paths to another."""
    from rag_core.cli import terminal_output

    entity_graph = await rag.graph(
        "path" if arguments.to else "neighbors",
        scope=arguments.workflow,
        entity=arguments.entity,
        target=arguments.to,
        limit=arguments.limit,
        run=run,
    )
    if arguments.json:
        print_json(entity_graph)
    elif arguments.to:
        terminal_output.print_graph_paths(entity_graph, f"{arguments.entity} to {arguments.to}")
    else:
        terminal_output.print_graph_neighbours(arguments.entity, entity_graph)
    return 0


@run_with_index
async def run_cite_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the support for each sentence of a text."""
    from rag_core.answering.claim_replies import format_claims
    from rag_core.cli import terminal_output
    from rag_core.run_reply import format_run

    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    claims = await rag.cite(text, scope=arguments.workflow, run=run)
    if arguments.json:
        print_json({**format_run(run), "claims": format_claims(claims, "numbers")})
        return 0
    for claim in claims:
        terminal_output.print_claim(claim)
    terminal_output.print_run(run)
    return 0


async def _limit_scope_to_documents(names: Sequence[str], scope: Scope, kit: Kit) -> Scope:
    """Limit the scope to the named documents; without names, return it unchanged."""
    if not names:
        return scope
    documents = await kit.index.store.list_documents(scope)
    return replace(scope, document_ids=tuple(find_document_id(name, documents) for name in names))
