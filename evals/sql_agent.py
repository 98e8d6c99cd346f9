"""A writer of SQL that is given what a question needs of a database: `python -m evals.sql_agent FILE.sqlite RULES.md`.

The question is linked, a chat model writes SQL from what came back, and the SQL is run read-only; where it fails, the
model is told the error and tries again. `ParaphrasingLLM` stands in for the model: it writes only names that stand in
the prompt, so that SQL that runs had all it needed. It does not show that a real model would write the same.
"""

import argparse
import asyncio
import re
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.ports import LLM, Completion, Prompt
from rag_core.rag import RAG
from rag_core.schema.ingest import DatabaseSource
from rag_core.schema_reply import SchemaReply

HERE = replace(settings.DEFAULT_SETTINGS, data_dir=None)
QUESTION = "What is the average height of villains with blue eyes?"
INSTRUCTIONS = "Write one SELECT statement for SQLite that answers the question. Use no table or column but these."
IN_A_RULE = " -- in a rule"  # of a value that the question itself does not have
MAX_ATTEMPTS = 3
MAX_ROWS = 20
MAX_STEPS = 10**8  # of SQLite's virtual machine, some seconds


@dataclass(frozen=True)
class AgentRun:
    """What was linked, what was asked of the model and run: the prompt of the last attempt, its SQL, and the rows."""

    linked: SchemaReply
    prompt: str
    sql: str
    rows: Sequence[tuple[object, ...]]
    errors: Sequence[str]


class ParaphrasingLLM:
    """Writes the average of a measure over joined tables, in aliases of its own, from the prompt alone.

    The measure is the first column that has a word of the question in its name, joins are those of the prompt that
    lead to a condition, and a value of a rule that says "never" is left out. The first attempt misspells the
    measure, as models do.
    """

    name = "paraphrasing"

    async def complete(self, prompt: Prompt) -> Completion:
        said = prompt.user
        question = _get_part(said, "Question").casefold()
        joins = re.findall(r"^(\w+)\.(\w+) = (\w+)\.(\w+)$", _get_part(said, "Joins"), re.M)
        conditions = re.findall(rf"^(\w+)\.(\w+) = '(.*?)'(?:{IN_A_RULE})?$", _get_part(said, "Values"), re.M)
        table, measure = self._find_measure(_get_part(said, "Schema"), question)
        rules = _get_part(said, "Rules")
        wanted = [one for one in conditions if f"{one[2]} are never" not in rules]
        spelled = measure if "# Error" in said else f"{measure}s"
        lines = [f'SELECT AVG(a."{spelled}")', f'FROM "{table}" AS a']
        wheres = [f'a."{measure}" > 0'] if f"{measure.partition('_')[0]} of 0 means" in rules else []
        for place, (owner, column, value) in enumerate(wanted):
            key = next(one for one in joins if one[0] == table and one[2] == owner)
            lines.append(f'JOIN "{owner}" AS j{place} ON a."{key[1]}" = j{place}."{key[3]}"')
            wheres.append(f"j{place}.\"{column}\" = '{value}'")
        return Completion("\n".join([*lines, "WHERE " + " AND ".join(wheres)]), "paraphrasing-1")

    def _find_measure(self, ddl: str, question: str) -> tuple[str, str]:
        for table, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\);", ddl, re.S):
            for column in re.findall(r"^  (\w+) INTEGER,?", body, re.M):
                if column.partition("_")[0] in question.split() and not column.endswith("_id"):
                    return table, column
        raise LookupError("no column of the schema is named in the question")


async def answer_by_sql(question: str, file: Path, rag: RAG, llm: LLM, *, scope: str) -> AgentRun:
    """Link a question, have SQL written from that alone, and run it, at most `MAX_ATTEMPTS` times.

    Raises:
        sqlite3.Error: the last attempt failed too.
    """
    reply = await rag.link_schema(question, scope=scope)
    linked = format_links(question, reply)
    errors: list[str] = []
    while True:
        text = linked + "".join(f"\n\n# Error\n{error}" for error in errors)
        sql = (await llm.complete(Prompt("sql", INSTRUCTIONS, text))).text
        try:
            return AgentRun(reply, text, sql, run_sql(sql, file), errors)
        except sqlite3.Error as error:
            if len(errors) + 1 == MAX_ATTEMPTS:
                raise
            errors.append(str(error))


def format_links(question: str, reply: SchemaReply) -> str:
    """Format what a writer of SQL is told: the question, the schema, joins, values, rules and past questions."""
    links = reply.links
    joins = [f"{key.table}.{key.column} = {key.referenced_table}.{key.referenced_column}" for key in links.joins]
    parts = {
        "Question": [question],
        "Schema": [links.ddl],
        "Joins": joins,
        "Values": [f"{match.condition}{IN_A_RULE * match.by_rule}" for match in links.values],
        "Rules": [f"[{hit.chunk.title}] {hit.chunk.content}" for hit in reply.linked.rules],
        "Asked before": [f"{one.question}\n{one.sql}" for one in reply.linked.past_questions],
    }
    return _join_parts(parts)


def format_reasons(reply: SchemaReply) -> str:
    """Format what a person checks of a link: why each table, how sure each column, the cost and what is left open."""
    links = reply.links
    parts = {
        "Tables": [f"{one.name}: {'; '.join(one.reasons)}" for one in links.tables],
        "Columns": [f"{one.score:.2f} {one.table}.{one.column.name}" for one in links.columns],
        "Words that nothing accounts for": list(links.unknown_words),
        "Left open": [
            f"{one.words}: {', '.join('.'.join(option[:2]) for option in one.options)}" for one in links.choices
        ],
        "Cost": [f"{links.ddl_tokens} tokens; dropped: {', '.join(links.dropped) or 'nothing'}"],
        "Chance that this schema answers the question": [f"{links.answerable or 0:.2f}"],
    }
    return _join_parts(parts)


def _join_parts(parts: Mapping[str, Sequence[str]]) -> str:
    return "\n\n".join(f"# {name}\n" + "\n".join(lines) for name, lines in parts.items() if lines)


def run_sql(sql: str, file: Path) -> list[tuple[object, ...]]:
    """Return the first rows of a statement on a database that is only read."""
    db = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    try:
        db.set_progress_handler(lambda: 1, MAX_STEPS)
        return db.execute(sql).fetchmany(MAX_ROWS)
    finally:
        db.close()


def _get_part(text: str, name: str) -> str:
    return text.partition(f"# {name}\n")[2].partition("\n\n# ")[0]


async def run_trial(file: Path, rules: Path, questions: Path | None = None) -> AgentRun:
    """Index a database, its rules and the questions that were asked of it before, and answer `QUESTION` by SQL."""
    kit = assembly.build_in_memory_kit(HERE)
    try:
        rag = RAG(kit)
        await rag.index_database(DatabaseSource(f"sqlite:///{file}", questions=questions), scope="trial")
        await rag.index(rules, scope="trial")
        return await answer_by_sql(QUESTION, file, rag, ParaphrasingLLM(), scope="trial")
    finally:
        await kit.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, metavar="FILE.sqlite")
    parser.add_argument("rules", type=Path, metavar="RULES.md")
    parser.add_argument("--questions", type=Path, metavar="FILE", help="JSON Lines with question and sql, asked before")
    chosen = parser.parse_args()
    run = asyncio.run(run_trial(chosen.file.absolute(), chosen.rules, chosen.questions))
    rows = "\n".join(map(str, run.rows))
    rules = f"# Rules file\n{chosen.rules.read_text()}"
    print("\n\n".join([rules, format_reasons(run.linked), run.prompt, f"# SQL\n{run.sql}", f"# Rows\n{rows}"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
