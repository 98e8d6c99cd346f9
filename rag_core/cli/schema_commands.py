"""The commands of `rag` about databases: indexing a schema, and linking a question to it."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from rag_core.cli.json_output import print_json
from rag_core.cli.opened_service import run_with_index
from rag_core.core.errors import InvalidRequest
from rag_core.core.run import Run

if TYPE_CHECKING:
    from rag_core.core.model import Hit
    from rag_core.rag import RAG
    from rag_core.schema.model import Choice
    from rag_core.schema_reply import SchemaReply

MAX_RULE_CHARS = 300  # of a rule on the terminal


async def index_database(arguments: Namespace, rag: "RAG") -> int:
    """Index the schema of a database and print what was read of it and what was left out."""
    from rag_core.rag import INDEXING_TIMEOUT_S
    from rag_core.schema.ingest import DatabaseSource

    if arguments.paths or arguments.plan or arguments.budget_usd is not None:
        raise InvalidRequest("--database", "goes without PATH, --plan and --budget-usd")
    source = DatabaseSource(arguments.database, arguments.name, arguments.descriptions, arguments.questions)
    indexed = await rag.index_database(source, scope=arguments.workflow, run=Run(INDEXING_TIMEOUT_S))
    if arguments.json:
        print_json(indexed)
        return 0
    removed = f", {indexed.removed} removed" if indexed.removed else ""
    print(
        f"{indexed.name}: {indexed.tables} tables, {indexed.columns} columns, {indexed.chunks} passages, "
        f"{indexed.embedded} embedded{removed}"
    )
    for note in indexed.notes:
        print(f"  {note}", file=sys.stderr)
    return 0


@run_with_index
async def run_link_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print what of a database a question needs."""
    from rag_core.cli import terminal_output
    from rag_core.schema.linking import LinkBudget

    budget = LinkBudget(columns=arguments.max_columns, tokens=arguments.max_tokens)
    reply = await rag.link_schema(
        arguments.text,
        database=arguments.database,
        budget=budget,
        by_model=arguments.by_model,
        scope=arguments.workflow,
        run=run,
    )
    if arguments.json:
        print_json(reply.to_json())
        return 0
    _print_links(reply)
    terminal_output.print_run(run)
    return 0


def _print_links(reply: "SchemaReply") -> None:
    links = reply.links
    if links.not_in_schema:
        print(
            f"This schema has nothing near to the question: the chance that it answers it is {links.answerable:.2f}.\n"
        )
    for table in links.tables:
        print(f"{table.name}: {'; '.join(table.reasons)}")
    _print_group("joins", [f"{k.table}.{k.column} = {k.referenced_table}.{k.referenced_column}" for k in links.joins])
    _print_group("values in the question", [match.condition for match in links.values if not match.by_rule])
    _print_group("values in the rules", [match.condition for match in links.values if match.by_rule])
    _print_group("left open", [_format_choice(one) for one in links.choices])
    _print_group("parts of the question", links.parts)
    _print_group("passages that may be rules", [_format_rule(hit) for hit in reply.linked.rules])
    _print_group("asked before", [f"{one.question} -> {one.sql}" for one in reply.linked.past_questions])
    _print_group(
        "words that nothing here accounts for", [", ".join(links.unknown_words)] if links.unknown_words else []
    )
    _print_group("left out for want of room", links.dropped)
    print(f"\n{links.ddl}\n\n{links.ddl_tokens} tokens")
    if read_at := reply.linked.schema_read_at:
        print(f"{links.database} as it was at {read_at}: rag index --database reads it again")
    if links.answerable is not None:
        print(f"chance that this schema answers the question: {links.answerable:.2f}")


def _format_rule(hit: "Hit") -> str:
    return f"{' '.join(hit.chunk.content.split())[:MAX_RULE_CHARS]} ({hit.chunk.title})"


def _format_choice(choice: "Choice") -> str:
    options = [f"{table}.{column}" + (f" = '{value}'" if value else "") for table, column, value in choice.options]
    return f"“{choice.words}” may mean {' or '.join(options)}"


def _print_group(title: str, lines: "list[str] | tuple[str, ...]") -> None:
    if lines:
        print(f"\n{title}:")
        print("\n".join(f"  {line}" for line in lines))
