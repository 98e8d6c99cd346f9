"""`python -m evals.clinic_trial`: right answers in a model's own words, by `classical`, whose threshold is 0.70.

14 questions on three small guidelines, plain and with personal data, and a chat model that says to each the right
answer in other words than the guideline. They are judged by a model that says yes, and by the facts alone; the same
answers with their numbers doubled show what that yes is worth. To the questions that no guideline answers the model
says what could be true. `--folder practices` asks as many about a veterinary and a dental practice, which were written
before the levers and are not for tuning. Where the evidence does not have the answer, which `classical` takes from
three excerpts of 400 characters, nothing can be accepted.
"""

import argparse
import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from evals.answer_fit import LabelledJudge
from evals.answers import CACHE, SCOPE, index_in_memory
from rag_core.core.model import Answer, Finding
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
DATA = Path(__file__).parent / "data" / "answers_by_hand"
FOLDER = DATA / "clinic"
FOLDERS = ("clinic", "practices")
JUDGES: Mapping[str, Finding | None] = {"a judge that says no": "not_stated", "no judge": None, "yes": "supported"}


@dataclass(frozen=True, slots=True)
class ClinicQuestion:
    """A question in both forms, the strings of which a right answer has one, and a right answer in other words.

    Without such strings no guideline answers it, and the words are not true.
    """

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


def load_clinic_questions(folder: Path = FOLDER, file_name: str = "questions.jsonl") -> list[ClinicQuestion]:
    """Return the questions in the order of the file; one without a form with personal data has the plain one for it."""
    return [
        ClinicQuestion(
            row["id"],
            row["question"],
            row.get("question_with_personal_data", row["question"]),
            tuple(row.get("must_contain", ())),
            row["paraphrase"],
        )
        for row in map(json.loads, (folder / file_name).read_text("utf-8").splitlines())
    ]


def _load_guidelines(folder: Path) -> list[Upload]:
    return [
        Upload(content=file.read_text("utf-8"), document_id=file.stem, source=file.name)
        for file in sorted(folder.glob("*.md"))
    ]


def double_numbers(text: str) -> str:
    """Return a text with each number doubled, so that it is no longer true."""
    return re.sub(r"\d+(?:\.\d+)?", lambda number: f"{2 * float(number[0]):g}", text)


async def ask_clinic(
    cache: EvaluationCache,
    questions: Sequence[ClinicQuestion],
    *,
    personal: bool,
    verdict: Finding | None,
    falsify: Callable[[str], str] = str,
    folder: Path = FOLDER,
) -> dict[str, Answer]:
    """Return the answers by the ids of the questions, when the model says each paraphrase as `falsify` makes it.

    The judge gives this verdict on all that the model says; without one the facts decide alone.
    """
    kit = replace(await index_in_memory(_load_guidelines(folder), cache), has_chat_model=True)
    preset, answers = resolve_preset("classical"), {}
    for question in questions:
        said = falsify(question.paraphrase)
        judge = LabelledJudge([(said, verdict)]) if verdict else None
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


def _format_row(name: str, questions: Sequence[ClinicQuestion], answers: Mapping[str, Answer]) -> list[object]:
    accepted = [answer for answer in answers.values() if is_accepted(answer)]
    quoted = [answer for answer in answers.values() if answer.status == "answered" and answer.origin != "model"]
    confidence = sum(answer.confidence.value for answer in accepted) / max(1, len(accepted))
    answerable = sum(is_answerable(question, answers[question.id]) for question in questions)
    return [
        name,
        len(answers),
        answerable,
        len(accepted),
        f"{confidence:.2f}",
        len(quoted),
        len(answers) - len(accepted + quoted),
    ]


def _describe_answer(question: ClinicQuestion, answer: Answer) -> str:
    """Return what came in place of a right answer, whether the evidence has it, and what the confidence was made of."""
    has_it = "has it" if is_answerable(question, answer) else "lacks it"
    return f"{question.id}: evidence {has_it}; {answer.origin}: {answer.text!r} {dict(answer.confidence.inputs)}"


async def run_trial(cache: EvaluationCache, folder: Path) -> str:
    """Return a table of all trials, then what was not accepted of the right answers that a judge supports."""
    rows, missed = [], []
    questions = load_clinic_questions(folder)
    ask = partial(ask_clinic, cache, folder=folder)
    for form, personal in (("plain", False), ("personal data", True)):
        right = await ask(questions, personal=personal, verdict="supported")
        rows.append(_format_row(f"right, {form}, judged", questions, right))
        missed += [f"{form} {_describe_answer(q, right[q.id])}" for q in questions if not is_accepted(right[q.id])]
        alone = await ask(questions, personal=personal, verdict=None)
        rows.append(_format_row(f"right, {form}, no judge", questions, alone))
        wrong = await ask(questions, personal=personal, verdict="supported", falsify=double_numbers)
        rows.append(_format_row(f"numbers doubled, {form}, a judge that says yes", questions, wrong))
    unanswerable = load_clinic_questions(folder, "unanswerable.jsonl")
    for judge, verdict in JUDGES.items():
        invented = await ask(unanswerable, personal=False, verdict=verdict)
        rows.append(_format_row(f"unanswerable, {judge}", unanswerable, invented))
        missed += [
            f"unanswerable, {judge} {_describe_answer(q, invented[q.id])}"
            for q in unanswerable
            if invented[q.id].status == "answered"
        ]
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", choices=FOLDERS, default=FOLDERS[0])
    arguments = parser.parse_args()
    cache = EvaluationCache(CACHE)
    print(asyncio.run(run_trial(cache, DATA / arguments.folder)))
    cache.close()


if __name__ == "__main__":
    main()
