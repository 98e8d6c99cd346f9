"""`python -m evals.conversations DATA [first|reader] [tuning|kept]`: how a conversation's last question is answered.

DATA has the collections that the sets in evals/data/conversations name, none of which is part of the repository. Each
last question is asked alone, with the turns before it, and as its writer would ask it alone, which a chat model would
have to write. There is no chat model. Hybrid search and `standard` are scored by nDCG@10 and recall@10 of the
documents that answer, and the answers of `standard` as `evals.written_questions` does.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from evals.answers import CACHE, SCOPE, index_in_memory
from evals.written_questions import QuestionOutcome, WrittenQuestion, add_set_arguments, count_outcomes, read_rows
from rag_core.core.model import Ranking, Turn
from rag_core.core.presets import Preset, resolve_preset
from rag_core.core.run import Run
from rag_core.evaluation import beir, markdown_tables, metrics
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S
from rag_core.evaluation.evaluation_cache import EvaluationCache
from rag_core.evaluation.labelled_collection import load_labelled_collection
from rag_core.rag import RAG

CONVERSATIONS_FILE = Path(__file__).parent / "data" / "conversations" / "conversations.jsonl"
SETS = {"first": CONVERSATIONS_FILE, "reader": CONVERSATIONS_FILE.with_name("reader.jsonl")}
WAYS = ("alone", "with the turns before", "as written to stand alone")
STANDARD = resolve_preset("standard")
SEARCHES: Mapping[str, Preset] = {"hybrid": STANDARD.override(semantic=0, captions=0, answers=0), "standard": STANDARD}


@dataclass(frozen=True, slots=True)
class Conversation:
    """A last question with the turns before it, what it would be alone, and the ids of the documents that answer."""

    question: WrittenQuestion
    turns: tuple[Turn, ...]
    standalone: str
    kind: str
    relevant: tuple[str, ...]

    def ask(self, way: str) -> tuple[str, tuple[Turn, ...]]:
        """Return the question and the history by one of WAYS."""
        text = self.standalone if way == WAYS[2] else self.question.text
        return text, self.turns if way == WAYS[1] else ()


@dataclass(frozen=True, slots=True)
class ConversationOutcome:
    """What came of a conversation by one of WAYS: the ids of the documents found by each search, and the answer."""

    conversation: Conversation
    way: str
    found: Mapping[str, Sequence[str]]
    outcome: QuestionOutcome


def load_conversations(name: str = "first", half: str = "") -> list[Conversation]:
    """Return the conversations of a set in the order of its file, or those of one half."""
    return [_parse_conversation(row) for row in read_rows(SETS[name], half)]


def _parse_conversation(row: Mapping[str, Any]) -> Conversation:
    *turns, last = (Turn(turn["role"], turn["content"]) for turn in row["turns"])
    question = WrittenQuestion(row["id"], row["collection"], last.content, tuple(row["must_contain"]))
    return Conversation(question, tuple(turns), row["rewritten"], row["kind"], tuple(row["relevant"]))


async def hold_conversations(
    data: Path, conversations: Sequence[Conversation], cache: EvaluationCache
) -> list[ConversationOutcome]:
    """Ask each last question in each of WAYS of its collection, which is indexed in memory."""
    outcomes = []
    ordered = sorted(conversations, key=lambda one: one.question.collection)
    for collection, held in groupby(ordered, key=lambda one: one.question.collection):
        ids = [document.id for document in beir.load_beir_collection(data / collection).documents]
        uploads = [upload for _, upload in load_labelled_collection(data / collection).uploads]
        rag = RAG(await index_in_memory(uploads, cache))
        outcomes += [await _ask(conversation, way, rag, ids) for conversation in held for way in WAYS]
        await rag.close()
    return outcomes


async def _ask(conversation: Conversation, way: str, rag: RAG, ids: Sequence[str]) -> ConversationOutcome:
    text, history = conversation.ask(way)
    found = {}
    for name, preset in SEARCHES.items():
        run = Run(EVALUATION_TIMEOUT_S)
        found[name] = _list_documents(
            (await rag.search(text, scope=SCOPE, history=history, run=run, preset=preset)).hits, ids
        )
    answering = rag.answer(text, scope=SCOPE, history=history, run=Run(EVALUATION_TIMEOUT_S), preset=STANDARD)
    return ConversationOutcome(
        conversation, way, found, QuestionOutcome(conversation.question, (await answering).answer)
    )


def _list_documents(hits: Ranking, ids: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ids[int(hit.chunk.document_id)] for hit in hits))


def format_report(outcomes: Sequence[ConversationOutcome]) -> str:
    """Format a row for each way, of the questions that need their conversation and of the others."""
    columns = ("questions", "asked", "answerable", "hybrid nDCG@10, recall@10", "standard nDCG@10, recall@10")
    answers = ("right", "wrong", "refused", "unanswerable", "refused")
    groups = {
        "in need of the turns": [one for one in outcomes if one.conversation.kind == "dependent"],
        "clear by themselves": [one for one in outcomes if one.conversation.kind != "dependent"],
    }
    rows = [_build_row(name, way, group) for name, group in groups.items() if group for way in WAYS]
    return markdown_tables.format_table((*columns, *answers), rows)


def _build_row(name: str, way: str, group: Sequence[ConversationOutcome]) -> list[object]:
    asked = [one for one in group if one.way == way]
    judged = {one.conversation.question.id: one for one in asked if one.conversation.relevant}
    judgements = {id: dict.fromkeys(one.conversation.relevant, 1) for id, one in judged.items()}
    scores = [
        metrics.score_rankings({id: one.found[search] for id, one in judged.items()}, judgements) for search in SEARCHES
    ]
    cells = [
        ", ".join(f"{metrics.average_measure(score, measure):.3f}" for measure in ("ndcg@10", "recall@10"))
        for score in scores
    ]
    answerable, *counted = count_outcomes([one.outcome for one in asked])
    return [name, way, answerable, *cells, *counted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    add_set_arguments(parser, SETS)
    chosen = parser.parse_args()
    cache = EvaluationCache(CACHE)
    try:
        outcomes = asyncio.run(hold_conversations(chosen.data, load_conversations(chosen.set, chosen.half), cache))
    finally:
        cache.close()
    print(format_report(outcomes))


if __name__ == "__main__":
    main()
