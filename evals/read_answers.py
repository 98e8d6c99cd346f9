"""`python -m evals.read_answers DATA`: 30 answers printed whole, to be read and scored by a person.

The questions are drawn by a seed from those of retrieval/xquad and pdf/usgov: ten are answered without a chat model,
ten by a stub that says in other words what it finds, with a judge that says yes, and ten cannot be answered, because
their articles are not indexed; every other one of these goes to the stub. All go by the pipeline standard.
"""

import argparse
import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill

from evals.answers import CACHE, SCOPE, index_in_memory
from evals.hand_made_gate import YesJudge
from local_emulator.chat_stub import ChatStub
from rag_core.core.kit import Kit
from rag_core.core.model import Answer
from rag_core.core.presets import resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import beir
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.ingestion.upload import Upload
from rag_core.pipelines import answer_with_pipeline

COLLECTIONS = ("retrieval/xquad", "pdf/usgov")
SEED = 36
INDEXED_ARTICLES = 14  # of the 48 of xquad, to save time
COUNT = 10  # of each group
REPORT_COUNT = 8  # of the answerable questions, on pdf/usgov


@dataclass(frozen=True, slots=True)
class DrawnQuestion:
    """A question with its reference answer; `group` is one of "offline", "stub" and "unanswerable"."""

    group: str
    text: str
    reference: str
    uses_stub: bool


@dataclass(frozen=True, slots=True)
class _Passage:
    id: str
    article: str
    title: str
    text: str


def draw_questions(data: Path, seed: int) -> tuple[list[Upload], list[DrawnQuestion]]:
    """Return the documents to index and the questions, in the order of their groups."""
    drawn = random.Random(seed)
    passages, asked = {}, []
    for name in COLLECTIONS:
        collection = beir.load_beir_collection(data / name)
        for passage in collection.documents:
            article = f"{name}: {passage.title or passage.id.partition('#')[0]}"
            passages[f"{name} {passage.id}"] = _Passage(f"{name} {passage.id}", article, passage.title, passage.text)
        for record in beir.read_jsonl_records(data / name / "queries.jsonl"):
            relevant = [f"{name} {id}" for id in collection.judgements.get(str(record["_id"]), {})]
            if relevant:
                asked.append((str(record["text"]), _read_reference(record["metadata"]), passages[relevant[0]].article))
    articles = sorted({one.article for one in passages.values() if one.article.startswith(COLLECTIONS[0])})
    left_out = set(drawn.sample(articles, len(articles) - INDEXED_ARTICLES))
    uploads = [
        Upload(
            content=one.text,
            document_id=one.id.partition("/")[2].replace(" ", ":"),
            title=one.title,
            source=one.article,
        )
        for one in passages.values()
        if one.article not in left_out and one.text.strip()
    ]
    reports, others = (
        [one for one in asked if one[2] not in left_out and one[2].startswith(name)] for name in reversed(COLLECTIONS)
    )
    inside = [*drawn.sample(reports, REPORT_COUNT), *drawn.sample(others, 2 * COUNT - REPORT_COUNT)]
    drawn.shuffle(inside)
    outside = drawn.sample([one for one in asked if one[2] in left_out], COUNT)
    groups = ["offline"] * COUNT + ["stub"] * COUNT + ["unanswerable"] * COUNT
    return uploads, [
        DrawnQuestion(group, text, reference, group == "stub" or (group == "unanswerable" and n % 2 == 1))
        for n, (group, (text, reference, _)) in enumerate(zip(groups, [*inside, *outside], strict=True))
    ]


def _read_reference(metadata: dict[str, object]) -> str:
    answers = metadata.get("answers")
    if isinstance(answers, list):
        return str(answers[0]["text"])
    return str(metadata.get("answer", ""))


async def answer_questions(
    uploads: Sequence[Upload], questions: Sequence[DrawnQuestion], cache: EvaluationCache
) -> list[Answer]:
    """Return the answers, in order."""
    kit = await index_in_memory(uploads, cache)
    stub = replace(kit, llm=ChatStub(kit.llm, answering="paraphrases"), judge=YesJudge(), has_chat_model=True)
    answers = [await _answer(one.text, stub if one.uses_stub else kit) for one in questions]
    await kit.close()
    return answers


async def _answer(question: str, kit: Kit) -> Answer:
    query = resolve_preset("standard").build_query(question, SCOPE)
    return await answer_with_pipeline(query, kit, Run(EVALUATION_TIMEOUT_S), pipeline="standard")


def format_answer(number: int, question: DrawnQuestion, answer: Answer) -> str:
    """Format an answer for a reader: the question, the reference, the text, and what the service says of it."""
    verdicts = ", ".join(claim.verdict for claim in answer.claims) or "no claims"
    by = "stub" if question.uses_stub else "no chat model"
    lines = (
        f"{number}. [{question.group}, {by}] {question.text}",
        f"   reference: {question.reference if question.group != 'unanswerable' else 'not in what is indexed'}",
        fill(answer.text, 140, initial_indent="   > ", subsequent_indent="   > "),
        f"   {answer.status}, {answer.origin}, confidence {answer.confidence.value:.2f}, {verdicts}",
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    chosen = parser.parse_args()
    uploads, questions = draw_questions(chosen.data, chosen.seed)
    cache = EvaluationCache(CACHE)
    answers = asyncio.run(answer_questions(uploads, questions, cache))
    cache.close()
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True), start=1):
        print(format_answer(number, question, answer), end="\n\n")


if __name__ == "__main__":
    main()
