"""`python -m evals.planned_tables [EVERY] [right|wrong]`: questions on tables with a chat model that plans by script.

The planner gives the right program of `evals/data/table_programs`, or that with one part changed; everything else is
the way of a user's question. A right program is answered if the reply states the result and cites its rows: that bounds
what a competent model gives. Of wrong ones it is told how many become a verified answer, by the part that is changed.
"""

import asyncio
import csv
import gzip
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evals import table_documents
from evals.table_programs import Program, Table, read_program, select_rows
from rag_core.answering.computing.computed_answers import COMPUTED
from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Scope
from rag_core.core.ports import Completion, Prompt
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S, index_uploads
from rag_core.ingestion.upload import Upload
from rag_core.pipelines import answer_with_pipeline

FOLDER = table_documents.FOLDER.with_name("table_programs")
OPERATIONS = {"argmax": "highest", "argmin": "lowest", "max": "highest", "min": "lowest"}
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
CHANGES = ("column", "value", "relation", "condition", "operation")


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A question with its table, its program and what that gives."""

    text: str
    table: Table
    program: Program
    answer: str


class ScriptedPlanner:
    """A chat model that replies with the program it was given, by the heads of the table that it was shown."""

    name = "scripted planner"

    def __init__(self) -> None:
        self.question: PlannedQuestion | None = None
        self.change = ""
        self.tasks: list[str] = []

    async def complete(self, prompt: Prompt) -> Completion:
        self.tasks.append(prompt.task)
        if prompt.task != "plan":
            return Completion(json.dumps({"answerable": False, "sentences": []}), self.name)
        assert self.question is not None
        inputs: Any = prompt.inputs
        return Completion(json.dumps(write_plan(self.question, inputs["tables"], self.change)), self.name)


def write_plan(question: PlannedQuestion, tables: Sequence[Mapping[str, Any]], change: str = "") -> dict[str, object]:
    """Return the program as a model writes it, over the first table that has its heads; one part is changed."""
    program, table = question.program, question.table
    used = {program.of, program.give, *(condition.column for condition in program.conditions)} - {-1}
    shown = next((t for t in tables if {_name_head(table, n) for n in used} <= _read_heads(t).keys()), None)
    if shown is None or program.operation == "none":
        return {"table": "none", "operation": "none"}
    heads = _read_heads(shown)
    ids = [heads.get(_name_head(table, n), "none") for n in range(len(table.heads))]

    def write_all(conditions: frozenset[Any]) -> list[dict[str, str]]:
        return [{"column": ids[c.column], "relation": c.relation, "value": c.value} for c in conditions]

    def name(column: int) -> str:
        return ids[column] if column >= 0 else "none"

    plan: dict[str, Any] = {
        "table": shown["id"],
        "operation": OPERATIONS.get(program.operation, program.operation),
        "column": name(program.of),
        "give": name(program.give),
        "where": write_all(program.where),
        "other_column": "none",
        "other_where": write_all(program.other),
    }
    return _change(plan, change, ids)


def _read_heads(shown: Mapping[str, Any]) -> dict[str, str]:
    return {column["name"]: column["id"] for column in shown["columns"]}


def _name_head(table: Table, column: int) -> str:
    """Return the head of a column as it is stored; an empty one of delimited text has its number."""
    return " ".join(table.heads[column].replace("|", "/").split())


def _change(plan: dict[str, Any], change: str, ids: Sequence[str]) -> dict[str, Any]:
    """Change one part of a program as models err; return it as it is where it has no such part."""
    where = plan["where"]
    if change == "column":
        part = "column" if plan["column"] != "none" else "give"
        plan[part] = ids[(ids.index(plan[part]) + 1) % len(ids)] if plan[part] != "none" else "none"
    elif change == "value" and where:
        where[0]["value"] = f"{where[0]['value']}1"
    elif change == "relation" and where:
        opposite = {"=": "!=", "!=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
        where[0]["relation"] = opposite.get(where[0]["relation"], "=")
    elif change == "condition" and where:
        where.pop()
    elif change == "operation":
        opposite = {"highest": "lowest", "lowest": "highest", "sum": "average", "average": "sum"}
        opposite |= {"difference": "ratio", "ratio": "difference", "count": "share", "share": "count"}
        plan["operation"] = opposite.get(plan["operation"], plan["operation"])
    return plan


def load_tables() -> Iterator[tuple[Table, list[PlannedQuestion]]]:
    """Yield the tables of the set in order, each with its questions."""
    for path in sorted(FOLDER.glob("*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            given = json.loads(line)
            table = Table(given["title"], tuple(given["heads"]), tuple(map(tuple, given["rows"])))
            yield (
                table,
                [
                    PlannedQuestion(one["q"], table, read_program(one["program"], table), str(one["answer"]))
                    for one in given["questions"]
                ],
            )


def build_upload(table: Table, number: int) -> Upload:
    """Return a table as a file: in turn one of delimited text, whose rows are passages, and one of Markdown."""
    if number % 2:
        cells = [[cell.replace("|", "/") for cell in row] for row in (table.heads, *table.rows)]
        rule = ["---"] * len(table.heads)
        lines = [f"| {' | '.join(row)} |" for row in (cells[0], rule, *cells[1:])]
        text = f"# {table.title}\n\n" + "\n".join(lines) + "\n"
        return Upload(data=text.encode(), filename=f"table {number}.md")
    buffer = io.StringIO()
    csv.writer(buffer).writerows([table.heads, *table.rows])
    return Upload(data=buffer.getvalue().encode(), filename=f"{table.title[:60].replace('/', ' ')}.csv")


def find_flaw(question: PlannedQuestion, answer: Answer) -> str:
    """Return what is wrong with a planned answer; "" for nothing."""
    computed = [claim for claim in answer.claims if claim.judgement and claim.judgement.judge == COMPUTED]
    if question.program.operation == "none":
        return "it was computed" if computed else ""
    if not computed:
        return "not computed"
    (claim,) = computed
    quotes = [citation.quote for citation in claim.citations]
    rows = select_rows(question.program.where, question.table)
    if question.program.operation in ("lookup", "count", "sum", "average", "difference", "ratio"):
        wanted = [max(question.table.rows[n], key=len) for n in rows]
        if not all(any(cell.replace("|", "/") in quote for quote in quotes) for cell in wanted):
            return "not cited"
    if claim.verdict != "verified":
        return f"not verified: {claim.reasons[0]}"
    return "" if _states(claim.text, question.answer) else "not stated"


def _states(text: str, answer: str) -> bool:
    """Return whether a result begins with a number, as it was rounded, or has each of the texts of an answer."""
    stated = re.split(r"\. (?=(?:Counted|Selected|Sum|Average|Highest|Lowest|Difference|Ratio|Share|Change)\b)", text)[
        0
    ]
    figure = re.fullmatch(r"(-?\d+(?:\.\d+)?)%?", answer.replace(",", ""))
    if figure:
        numbers = [float(found.replace(",", "")) for found in _NUMBER.findall(stated)]
        places = len(figure[1].partition(".")[2])
        unit = 10.0**-places
        return any(abs(abs(number) - abs(float(figure[1]))) <= unit for number in numbers)
    return all(part.strip().replace("|", "/") in stated for part in answer.split(";"))


async def ask(question: PlannedQuestion, scope: Scope, kit: Kit) -> tuple[Answer, Run]:
    """Ask a question of one table."""
    run = Run(EVALUATION_TIMEOUT_S)
    query = resolve_preset("standard").build_query(question.text, scope)
    return await answer_with_pipeline(query, kit, run), run


async def _print_report(every: int, changes: Sequence[str]) -> None:
    planner = ScriptedPlanner()
    kit = replace(assembly.build_in_memory_kit(), llm=planner, has_chat_model=True, judge=None)
    flaws: dict[str, Counter[str]] = {change: Counter() for change in changes}
    try:
        for number, (table, questions) in enumerate(load_tables()):
            scope = Scope(f"table-{number}")
            await index_uploads([(scope, build_upload(table, number))], kit)
            for question in questions[number % every :: every]:
                for change in changes:
                    planner.question, planner.change, planner.tasks = question, change, []
                    answer, run = await ask(question, scope, kit)
                    flaw = _judge(question, answer, change, planner)
                    flaws[change][flaw or "right"] += 1
                    if flaw and not change:
                        warned = "; ".join(warning.message for warning in run.warnings)
                        degraded = "; ".join(one.reason for one in run.degraded if one.step == "plan")
                        print(f"{flaw} | {question.text} | {question.answer} | {answer.text} | {warned} {degraded}")
    finally:
        await kit.close()
    for change, counts in flaws.items():
        print(f"{change or 'right programs'}: {dict(counts.most_common())}")


def _judge(question: PlannedQuestion, answer: Answer, change: str, planner: ScriptedPlanner) -> str:
    if "plan" not in planner.tasks:
        return "none, not asked" if question.program.operation == "none" else "the model was not asked"
    if question.program.operation == "none":
        return f"none: {find_flaw(question, answer) or 'not computed'}" if not change else "none"
    flaw = find_flaw(question, answer)
    if not change:
        return flaw
    verdicts = [c.verdict for c in answer.claims if c.judgement and c.judgement.judge == COMPUTED]
    return "the same result" if not flaw else verdicts[0] if verdicts else "refused"


if __name__ == "__main__":
    asyncio.run(_print_report(int((sys.argv[1:] or ["10"])[0]), CHANGES if "wrong" in sys.argv else ("",)))
