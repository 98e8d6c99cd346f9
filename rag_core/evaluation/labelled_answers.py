"""Answers as chat models write them, with labels: what the service makes of them, and whether its confidence tells.

A file has one answer a line: {"question", "evidence": [text, …], "answer", "right": true | false, "style"}, with an
optional "source". The answer is given by a model that says just this, line by line, and then goes the way of any other.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_core.answering.answer import answer_query
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Evidence, Scope
from rag_core.core.ports import Completion, Prompt
from rag_core.core.presets import Query, resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import calibration, markdown_tables
from rag_core.evaluation.labelled_claims import build_labelled_evidence, load_labelled_rows

CITATION_MARK = re.compile(r"\[(\d{1,2})\]")


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer to a question with the passages that the model was given; `right` is its reader's label."""

    question: str
    text: str
    right: bool
    style: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What the service made of an answer; it is `kept` unless it was refused or replaced by quotes."""

    labelled: LabelledAnswer
    answer: Answer

    @property
    def kept(self) -> bool:
        return self.answer.origin == "model" and self.answer.status == "answered"

    @property
    def confidence(self) -> float:
        """The confidence in the model's answer, 0 for one that is not given."""
        return self.answer.confidence.value if self.kept else 0.0


class _AnswerGiver:
    """A chat model that writes one answer, a sentence object for each line, which cites what its marks name.

    A line without marks cites what the next line with marks does.
    """

    name = "labelled answers"

    def __init__(self, text: str) -> None:
        self._text = text

    async def complete(self, prompt: Prompt) -> Completion:
        lines = [line for line in self._text.splitlines() if line.strip()]
        sentences = [
            {"text": line, "evidence": [f"e{number}" for number in _find_marks(lines[n:])]}
            for n, line in enumerate(lines)
        ]
        return Completion(json.dumps({"answerable": True, "sentences": sentences}), self.name)


def _find_marks(lines: Sequence[str]) -> list[str]:
    """Return the marks of the first of these lines that has any: below a table, say, its sources are named once."""
    return next((marks for line in lines if (marks := CITATION_MARK.findall(line))), [])


def load_labelled_answers(file: Path) -> list[LabelledAnswer]:
    """Return the answers in the order of the file. Raises as `load_labelled_rows` does."""
    example = '{"question": "…", "evidence": ["…"], "answer": "…", "right": true, "style": "…"}'
    return load_labelled_rows(file, _parse_labelled_answer, what="answer", example=example)


def _parse_labelled_answer(number: int, row: Mapping[str, Any]) -> LabelledAnswer:
    if not isinstance(row["right"], bool):
        raise ValueError(f'"right" of answer {number} must be true or false')
    evidence = build_labelled_evidence(str(number), row)
    return LabelledAnswer(row["question"], row["answer"], row["right"], row["style"], evidence)


async def give_labelled_answers(answers: Sequence[LabelledAnswer], kit: Kit) -> list[GivenAnswer]:
    """Return what the service makes of each answer, in order, by the reranker and judge of the kit."""
    preset = resolve_preset("standard")
    given = []
    for one in answers:
        query, hits = Query(one.question, Scope("labelled"), preset), [passage.hit for passage in one.evidence]
        answer = await answer_query(query, hits, replace(kit, llm=_AnswerGiver(one.text)), Run())
        given.append(GivenAnswer(one, answer))
    return given


def format_answer_report(given: Sequence[GivenAnswer]) -> str:
    """Format what was kept by style, then what the confidence says."""
    styles = sorted({one.labelled.style for one in given})
    groups = [*((style, [one for one in given if one.labelled.style == style]) for style in styles), ("all", given)]
    columns = ("style", "right", "kept", "mean confidence", "wrong", "kept", "mean confidence")
    table = markdown_tables.format_table(columns, (_build_style_row(name, group) for name, group in groups))
    right = [one.labelled.right for one in given]
    return f"{table}\n\n{calibration.format_reliability([one.confidence for one in given], right)}"


def _build_style_row(name: str, group: Sequence[GivenAnswer]) -> list[object]:
    cells: list[object] = [name]
    for label in (True, False):
        ones = [one for one in group if one.labelled.right is label]
        mean = sum(one.confidence for one in ones) / max(1, len(ones))
        cells += [len(ones), sum(one.kept for one in ones), f"{mean:.2f}" if ones else "-"]
    return cells
