"""How questions written by hand are answered without a chat model, and whether those that cannot be are refused.

    python -m evals.written_questions DATA [first|more|reader] [tuning|kept] [--show right|wrong|refused|given]

DATA holds the collections that the sets in evals/data/answers_by_hand name. The whole documents are indexed,
and the questions go the way of a user's, by the pipeline standard. An answer is right that has one of the strings that
a right one must contain.
"""

import argparse
import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from evals.answers import CACHE, SCOPE, index_in_memory
from rag_core.core.kit import Kit
from rag_core.core.model import Answer
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import calibration, markdown_tables
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.evaluation.labelled_collection import load_labelled_collection
from rag_core.pipelines import answer_with_pipeline

QUESTIONS_FILE = Path(__file__).parent / "data" / "answers_by_hand" / "questions.jsonl"
MORE_QUESTIONS_FILE = QUESTIONS_FILE.with_name("more_questions.jsonl")
SETS = {"first": QUESTIONS_FILE, "more": MORE_QUESTIONS_FILE, "reader": QUESTIONS_FILE.with_name("reader.jsonl")}
OUTCOMES = ("right", "wrong", "refused", "given")  # the last two of these: of the answerable, of the unanswerable


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """A question on a collection, and the strings of which a right answer has one; () for an unanswerable question."""

    id: str
    collection: str
    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """The answer to a question."""

    question: WrittenQuestion
    answer: Answer

    @property
    def is_right(self) -> bool:
        """Whether the answer has a right string, in any case; a number as a whole word, others also in a word."""
        text = " ".join(self.answer.text.split()).casefold()
        return any(re.search(_mark_number_ends(right.casefold()), text) for right in self.question.answers)

    @property
    def name(self) -> str:
        """One of OUTCOMES; "refused" also for a refusal of an unanswerable question, which is right."""
        if self.answer.status == "unknown":
            return "refused"
        return ("right" if self.is_right else "wrong") if self.question.answers else "given"


def _mark_number_ends(string: str) -> str:
    """Return the pattern of a string whose first or last digit is not followed by another."""
    start = r"(?<![\w.,])" if string[0].isdigit() else ""
    end = r"(?:st|nd|rd|th)?(?!\w)" if string[-1].isdigit() else ""
    return f"{start}{re.escape(string)}{end}"


def load_written_questions(file: Path = QUESTIONS_FILE, half: str = "") -> list[WrittenQuestion]:
    """Return the questions in the order of the file, or those of one half."""
    rows = read_rows(file, half)
    return [WrittenQuestion(r["id"], r["collection"], r["question"], tuple(r["must_contain"])) for r in rows]


def read_rows(file: Path, half: str) -> list[Mapping[str, Any]]:
    """Return the rows of JSON Lines in order, or those of one half."""
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    return [row for row in rows if half in ("", row.get("half", ""))]


def add_set_arguments(parser: argparse.ArgumentParser, sets: Iterable[str]) -> None:
    """Add the name of a set and of its half, all of the first set unless said."""
    parser.add_argument("set", nargs="?", default="first", choices=list(sets))
    parser.add_argument("half", nargs="?", default="", choices=("", "tuning", "kept"))


async def ask_written_questions(
    data: Path, questions: Sequence[WrittenQuestion], cache: EvaluationCache
) -> list[QuestionOutcome]:
    """Ask each question of its collection, which is indexed in memory."""
    outcomes = []
    ordered = sorted(questions, key=lambda question: question.collection)
    for collection, asked in groupby(ordered, key=lambda question: question.collection):
        uploads = [upload for _, upload in load_labelled_collection(data / collection).uploads]
        kit = await index_in_memory(uploads, cache)
        outcomes += [QuestionOutcome(question, await _answer(question.text, kit)) for question in asked]
        await kit.close()
    return outcomes


def format_report(outcomes: Sequence[QuestionOutcome]) -> str:
    """Format the outcomes by collection, and what the confidence of the given answers says."""
    names = sorted({one.question.collection for one in outcomes})
    groups = {name: [one for one in outcomes if one.question.collection == name] for name in names}
    columns = ("collection", "answerable", "right", "wrong", "refused", "unanswerable", "refused")
    table = markdown_tables.format_table(
        columns, [[name, *count_outcomes(group)] for name, group in (*groups.items(), ("all", outcomes))]
    )
    given = [one for one in outcomes if one.name != "refused"]
    confidence, right = [one.answer.confidence.value for one in given], [one.is_right for one in given]
    return f"{table}\n\nAnswers given:\n\n{calibration.format_reliability(confidence, right)}"


def count_outcomes(group: Sequence[QuestionOutcome]) -> list[int]:
    """Return the number of answerable questions, right, wrong and refused ones, of unanswerable, refused ones."""
    answerable = [one.name for one in group if one.question.answers]
    others = [one.name for one in group if not one.question.answers]
    counted = [answerable.count(outcome) for outcome in OUTCOMES[:3]]
    return [len(answerable), *counted, len(others), others.count("refused")]


async def _answer(question: str, kit: Kit) -> Answer:
    query = resolve_preset("standard").build_query(question, SCOPE)
    return await answer_with_pipeline(query, kit, Run(EVALUATION_TIMEOUT_S), pipeline="standard")


def _format_shown(outcomes: Sequence[QuestionOutcome], shown: str) -> Iterator[str]:
    for one in outcomes:
        if one.name == shown:
            confidence = f"{one.answer.confidence.value:.2f} {dict(one.answer.confidence.inputs)}"
            asked = f"{one.question.id} {one.question.text}"
            yield f"{asked}\n  wanted {one.question.answers}, {confidence}\n  {one.answer.text}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    add_set_arguments(parser, SETS)
    parser.add_argument("--questions", type=Path, metavar="FILE", help="ask these instead of a set")
    parser.add_argument("--show", choices=OUTCOMES)
    chosen = parser.parse_args()
    cache = EvaluationCache(CACHE)
    try:
        questions = load_written_questions(chosen.questions or SETS[chosen.set], chosen.half)
        outcomes = asyncio.run(ask_written_questions(chosen.data, questions, cache))
    finally:
        cache.close()
    print(format_report(outcomes), *_format_shown(outcomes, chosen.show), sep="\n\n")


if __name__ == "__main__":
    main()
