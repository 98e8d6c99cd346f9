"""`python -m evals.clinic_trial`: right answers in a model's own words, by `classical`, whose threshold is 0.70.

14 questions on three small guidelines, plain and with personal data, and a chat model that says to each the right
answer in other words than the guideline. They are judged by a model that says yes, and by the facts alone; the same
answers with their numbers doubled show what that yes is worth. Where the evidence does not have the answer, which
`classical` takes from three excerpts of 400 characters without tables, nothing can be accepted.
"""

import argparse
import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evals.answer_fit import LabelledJudge
from evals.answers import CACHE, SCOPE, index_in_memory
from rag_core.core.model import Answer
from rag_core.core.ports import Completion, Prompt
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.evaluation.markdown_tables import format_table
from rag_core.ingestion.upload import Upload
from rag_core.pipelines import answer_with_pipeline
from rag_core.retrieval.excerpts import get_relevance

MIN_RELEVANCE = resolve_preset("classical").guard.relevance_min
FOLDER = Path(__file__).parent / "data" / "answers_by_hand" / "clinic"


@dataclass(frozen=True, slots=True)
class ClinicQuestion:
    """A question in both forms, the strings of which a right answer has one, and a right answer in other words."""

    id: str
    plain: str
    personal: str
    answers: tuple[str, ...]
    paraphrase: str


class AnsweringModel:
    """A chat model that answers every question with `said`, citing the passage with which that shares most words."""

    name = "paraphrases"

    def __init__(self, said: str) -> None:
        self._said = said

    async def complete(self, prompt: Prompt) -> Completion:
        evidence: Sequence[Mapping[str, str]] = prompt.inputs["evidence"]  # type: ignore[assignment]
        words = set(re.findall(r"\w+", self._said.lower()))
        best = max(evidence, key=lambda passage: len(words & set(re.findall(r"\w+", passage["text"].lower()))))
        sentence = {"text": self._said, "evidence": [best["id"]]}
        return Completion(json.dumps({"answerable": True, "sentences": [sentence]}), self.name)


def load_clinic_questions() -> list[ClinicQuestion]:
    """Return the questions in the order of the file."""
    rows = map(json.loads, (FOLDER / "questions.jsonl").read_text("utf-8").splitlines())
    return [
        ClinicQuestion(
            row["id"],
            row["question"],
            row["question_with_personal_data"],
            tuple(row["must_contain"]),
            row["paraphrase"],
        )
        for row in rows
    ]


def double_numbers(text: str) -> str:
    """Return a text with each number doubled, so that it is no longer true."""
    return re.sub(r"\d+(?:\.\d+)?", lambda number: f"{2 * float(number[0]):g}", text)


async def ask_clinic(
    cache: EvaluationCache,
    *,
    personal: bool,
    has_judge: bool,
    falsify: Callable[[str], str] = str,
    every: int = 1,
) -> dict[str, Answer]:
    """Return the answer to one question in `every` by its id, when the model says the paraphrase as `falsify` makes it.

    The judge supports all that the model says; without one the facts decide alone.
    """
    uploads = [
        Upload(content=file.read_text("utf-8"), document_id=file.stem, source=file.name)
        for file in sorted(FOLDER.glob("*.md"))
    ]
    kit = replace(await index_in_memory(uploads, cache), has_chat_model=True)
    preset, answers = resolve_preset("classical"), {}
    for question in load_clinic_questions()[::every]:
        said = falsify(question.paraphrase)
        judge = LabelledJudge([(said, "supported")]) if has_judge else None
        query = preset.build_query(question.personal if personal else question.plain, SCOPE)
        asked = replace(kit, llm=AnsweringModel(said), judge=judge)
        answers[question.id] = await answer_with_pipeline(query, asked, Run(EVALUATION_TIMEOUT_S), pipeline="classical")
    await kit.close()
    return answers


def is_accepted(answer: Answer) -> bool:
    """Return whether the model's own words are the answer, and were not replaced by quotes or a refusal."""
    return answer.status == "answered" and answer.origin == "model"


def is_answerable(question: ClinicQuestion, answer: Answer) -> bool:
    """Return whether the evidence that the model was given has one of the strings of a right answer."""
    evidence = " ".join(passage.text for passage in answer.evidence if get_relevance(passage) >= MIN_RELEVANCE)
    return any(string.casefold() in evidence.casefold() for string in question.answers)


def _format_row(name: str, answers: Mapping[str, Answer]) -> list[object]:
    accepted = [answer for answer in answers.values() if is_accepted(answer)]
    quoted = [answer for answer in answers.values() if answer.status == "answered" and answer.origin != "model"]
    confidence = sum(answer.confidence.value for answer in accepted) / max(1, len(accepted))
    answerable = sum(is_answerable(question, answers[question.id]) for question in load_clinic_questions())
    return [
        name,
        len(answers),
        answerable,
        len(accepted),
        f"{confidence:.2f}",
        len(quoted),
        len(answers) - len(accepted + quoted),
    ]


async def run_trial(cache: EvaluationCache) -> str:
    """Return a table of all trials, then what was not accepted of the right answers that a judge supports."""
    rows, missed = [], []
    for form, personal in (("plain", False), ("personal data", True)):
        right = await ask_clinic(cache, personal=personal, has_judge=True)
        rows.append(_format_row(f"right, {form}, judged", right))
        missed += [f"{form} {id}: {one.text}" for id, one in right.items() if not is_accepted(one)]
        rows.append(
            _format_row(f"right, {form}, no judge", await ask_clinic(cache, personal=personal, has_judge=False))
        )
        wrong = await ask_clinic(cache, personal=personal, has_judge=True, falsify=double_numbers)
        rows.append(_format_row(f"numbers doubled, {form}, a judge that says yes", wrong))
    columns = (
        "the model's answers",
        "n",
        "evidence has it",
        "accepted",
        "mean confidence",
        "replaced by quotes",
        "refused",
    )
    return "\n".join([format_table(columns, rows), "", *missed])


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    cache = EvaluationCache(CACHE)
    print(asyncio.run(run_trial(cache)))
    cache.close()


if __name__ == "__main__":
    main()
