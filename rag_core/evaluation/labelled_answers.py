"""Answers as chat models write them, with labels: what the service makes of them, and whether its confidence tells.

A file has one answer a line: {"question", "evidence": [text, …], "answer", "right": true | false, "style"}, with an
optional "source". The answer is given by a model that says just this, line by line, and then goes the way of any other.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_core.answering.answer import answer_query
from rag_core.core.errors import Misconfigured
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Evidence, Scope
from rag_core.core.ports import Completion, Prompt
from rag_core.core.presets import Query, resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import calibration, markdown_tables
from rag_core.evaluation.beir import read_jsonl_records
from rag_core.evaluation.labelled_claims import build_labelled_evidence
from rag_core.evaluation.metrics import compute_wilson_interval

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
    """A chat model that writes one answer, in a sentence object for each line, citing what the line's marks name."""

    name = "labelled answers"

    def __init__(self, text: str) -> None:
        self._text = text

    async def complete(self, prompt: Prompt) -> Completion:
        sentences = [
            {"text": line, "evidence": [f"e{number}" for number in CITATION_MARK.findall(line)]}
            for line in self._text.splitlines()
            if line.strip()
        ]
        return Completion(json.dumps({"answerable": True, "sentences": sentences}), self.name)


def load_labelled_answers(file: Path) -> list[LabelledAnswer]:
    """Return the answers in the order of the file.

    Raises:
        Misconfigured: the file is missing, or a line is malformed; the message names it.
    """
    try:
        return list(_parse_labelled_answers(read_jsonl_records(file)))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise Misconfigured(
            f"{file} is no file of labelled answers ({type(error).__name__}: {error}): one answer a line, as "
            '{"question": "…", "evidence": ["…"], "answer": "…", "right": true, "style": "…"}'
        ) from error


def _parse_labelled_answers(rows: Iterator[Mapping[str, Any]]) -> Iterator[LabelledAnswer]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row["right"], bool):
            raise ValueError(f'"right" of answer {number} must be true or false')
        evidence = build_labelled_evidence(str(number), row)
        yield LabelledAnswer(row["question"], row["answer"], row["right"], row["style"], evidence)


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
    """Format what was kept by style, then AUC, calibration error and reliability of the confidence."""
    right = [one.labelled.right for one in given]
    bins = calibration.compute_reliability([one.confidence for one in given], right)
    auc = calibration.compute_auc([one.confidence for one in given], right)
    error = calibration.compute_calibration_error(bins)
    styles = sorted({one.labelled.style for one in given})
    groups = [*((style, [one for one in given if one.labelled.style == style]) for style in styles), ("all", given)]
    columns = ("style", "right", "kept", "mean confidence", "wrong", "kept", "mean confidence")
    table = markdown_tables.format_table(columns, (_build_style_row(name, group) for name, group in groups))
    reliability = markdown_tables.format_table(
        ("confidence", "answers", "mean confidence", "right, 95 %"), map(_build_reliability_row, bins)
    )
    return f"{table}\n\n{reliability}\n\n{len(given)} answers, AUC {auc:.3f}, calibration error {error:.3f}"


def _build_style_row(name: str, group: Sequence[GivenAnswer]) -> list[object]:
    cells: list[object] = [name]
    for label in (True, False):
        ones = [one for one in group if one.labelled.right is label]
        mean = sum(one.confidence for one in ones) / max(1, len(ones))
        cells += [len(ones), sum(one.kept for one in ones), f"{mean:.2f}" if ones else "-"]
    return cells


def _build_reliability_row(bin: calibration.ReliabilityBin) -> list[object]:
    low, high = compute_wilson_interval(round(bin.share_right * bin.count), bin.count)
    share = f"{bin.share_right:.2f} [{low:.2f}, {high:.2f}]"
    return [f"{bin.low:.1f} to {bin.high:.1f}", bin.count, f"{bin.mean_confidence:.2f}", share]
