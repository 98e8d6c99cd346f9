"""`python -m evals.table_questions`: 26 questions that want something computed over tables and lists in six formats.

They were written before anything computed (`evals/data/table_questions/questions.jsonl`). An answer is right if it
states the values, says the operation, and cites the cells; six have no answer, and are right when none is computed.
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals.answers import SCOPE
from evals.table_documents import FOLDER, build_uploads
from rag_core.answering.computing.computed_answers import COMPUTED
from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.model import Answer
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S, index_uploads
from rag_core.pipelines import answer_with_pipeline

REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """The answer to a question of the set, and what is wrong with it, "" for a right one."""

    question: Mapping[str, Any]
    answer: Answer
    flaw: str


def load_questions() -> list[Mapping[str, Any]]:
    """Return the questions in order."""
    return [json.loads(line) for line in (FOLDER / "questions.jsonl").read_text().splitlines()]


async def ask_questions(kit: Kit, questions: Sequence[Mapping[str, Any]]) -> list[TableOutcome]:
    """Ask each question of the indexed documents, without a chat model."""
    outcomes = []
    for question in questions:
        run = Run(EVALUATION_TIMEOUT_S)
        query = resolve_preset("standard").build_query(question["text"], SCOPE)
        answer = await answer_with_pipeline(query, kit, run)
        outcomes.append(TableOutcome(question, answer, find_flaw(question, answer, run)))
    return outcomes


def find_flaw(question: Mapping[str, Any], answer: Answer, run: Run) -> str:
    """Return what is wrong with an answer; "" for nothing."""
    computed = [claim for claim in answer.claims if claim.judgement and claim.judgement.judge == COMPUTED]
    if question["operation"] == REFUSED:
        return "it was computed" if computed else "it was answered" if answer.status == "answered" else ""
    if not computed:
        return "it was not computed"
    if not run.techniques.get("operation", "").startswith(question["operation"]):
        return f"the operation is {run.techniques.get('operation')}"
    stated = re.split(r"\. (?=[A-Z])", answer.text)[0]
    absent = [
        value for value in question["values"] if not re.search(rf"(?<![\w,.]){re.escape(value)}(?!\w|,\d)", stated)
    ]
    quotes = "\n".join(citation.quote for claim in answer.claims for citation in claim.citations)
    uncited = [cell for cell in question["cells"] if cell not in quotes.replace(",", "") and cell not in quotes]
    sources = {citation.source for claim in answer.claims for citation in claim.citations}
    if absent or uncited or sources != {question["source"]}:
        return f"not stated: {absent}; not cited: {uncited}; cited: {sorted(sources)}"
    return ""


def format_report(outcomes: Sequence[TableOutcome]) -> str:
    """Return a row for each question, and the counts."""
    rows = [
        [
            o.question["id"],
            o.question["operation"],
            o.question["text"],
            o.answer.text.replace("|", "\\|"),
            o.flaw or "right",
        ]
        for o in outcomes
    ]
    asked = [o for o in outcomes if o.question["operation"] != REFUSED]
    refused = [o for o in outcomes if o.question["operation"] == REFUSED]
    table = markdown_tables.format_table(["id", "operation", "question", "answer", "verdict"], rows)
    counts = [f"{sum(not o.flaw for o in group)} of {len(group)}" for group in (asked, refused)]
    return f"{table}\n\nright: {counts[0]}; rightly not computed: {counts[1]}"


async def measure(kit: Kit) -> list[TableOutcome]:
    """Index the documents and ask all questions."""
    await index_uploads([(SCOPE, upload) for upload in build_uploads()], kit)
    return await ask_questions(kit, load_questions())


async def _print_report() -> None:
    kit = assembly.build_in_memory_kit()
    try:
        print(format_report(await measure(kit)))
    finally:
        await kit.close()


if __name__ == "__main__":
    asyncio.run(_print_report())
