"""`python -m evals.table_questions [SET] [tuning|kept]`: questions on tables, by the sets of SETS, "first" by default.

Each set was written before what it shows was mended, "club", "everyday" and "bureau" by who had not read the code. An
answer is right if it states the values and cites the cells, of the first set also if it says the operation; some
questions have no answer, and are right when none is given. The models are those of the settings: without any, no chat
model; with one (`OPENAI_API_KEY`, ...), it plans the computations.
"""

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals import bureau_tables, everyday_tables, table_documents
from evals.answers import SCOPE
from rag_core.answering.computing.computed_answers import COMPUTED
from rag_core.composition import assembly
from rag_core.core.kit import Kit
from rag_core.core.model import Answer
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import load_settings
from rag_core.evaluation import markdown_tables
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S, index_uploads
from rag_core.ingestion.upload import Upload
from rag_core.pipelines import answer_with_pipeline

REFUSED = "refused"
_OPERATION = re.compile(r"\. (?=(?:Counted|Selected|Sum|Average|Highest|Lowest|Difference|Compared|Change)\b)")
SETS = {
    "first": table_documents.FOLDER,
    "club": table_documents.FOLDER.with_name("club_tables"),
    "everyday": everyday_tables.FOLDER,
    "village": table_documents.FOLDER.with_name("village_tables"),
    "bureau": bureau_tables.FOLDER,
    "harbour": table_documents.FOLDER.with_name("harbour_tables"),
}


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """The answer to a question of the set, and what is wrong with it, "" for a right one."""

    question: Mapping[str, Any]
    answer: Answer
    flaw: str


def load_questions(name: str = "first", half: str = "") -> list[Mapping[str, Any]]:
    """Return the questions of a set in order, or those of one half."""
    lines = (SETS[name] / "questions.jsonl").read_text().splitlines()
    return [question for line in lines if half in ("", (question := json.loads(line)).get("half", ""))]


def build_uploads(name: str) -> list[Upload]:
    """Return the documents of a set."""
    if name in ("club", "village", "harbour"):
        paths = sorted(path for path in SETS[name].iterdir() if path.suffix != ".jsonl")
        return [Upload(data=path.read_bytes(), filename=path.name) for path in paths]
    builders = {
        "first": table_documents.build_uploads,
        "everyday": everyday_tables.build_uploads,
        "bureau": bureau_tables.build_uploads,
    }
    return builders[name]()


async def ask_questions(kit: Kit, questions: Sequence[Mapping[str, Any]]) -> list[TableOutcome]:
    """Ask each question of the indexed documents, one after the other."""
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
    if answer.status != "answered":
        return f"it was refused: {answer.text}"
    if "half" not in question and not run.techniques.get("operation", "").startswith(question["operation"]):
        return f"the operation is {run.techniques.get('operation')}"
    stated = _OPERATION.split(answer.text)[0] if computed else answer.text
    absent = [value for value in question["values"] if not any(_states(stated, v) for v in value.split("|"))]
    quotes = "\n".join(citation.quote for claim in answer.claims for citation in claim.citations)
    uncited = [
        cell
        for cell in question["cells"]
        if not any(c in quotes.replace(",", "") or c in quotes for c in cell.split("|"))
    ]
    sources = {citation.source for claim in answer.claims for citation in claim.citations}
    if absent or uncited or sources != {question["source"]}:
        return f"not stated: {absent}; not cited: {uncited}; cited: {sorted(sources)}"
    return ""


def _states(text: str, value: str) -> bool:
    return re.search(rf"(?<![\w,.]){re.escape(value)}(?!\w|,\d)", text, re.IGNORECASE) is not None


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
    wrong = Counter(o.question["operation"] for o in outcomes if o.flaw and o.answer.status == "answered")
    return f"{table}\n\nright: {counts[0]}; rightly not computed: {counts[1]}; wrong: {dict(wrong) or 'none'}"


async def measure(kit: Kit, name: str = "first", half: str = "") -> list[TableOutcome]:
    """Index the documents of a set and ask its questions, or those of one half."""
    await index_uploads([(SCOPE, upload) for upload in build_uploads(name)], kit)
    return await ask_questions(kit, load_questions(name, half))


async def _print_report(*arguments: str) -> None:
    kit = assembly.build_in_memory_kit(load_settings())
    try:
        print(format_report(await measure(kit, *arguments)))
    finally:
        await kit.close()


if __name__ == "__main__":
    asyncio.run(_print_report(*sys.argv[1:]))
