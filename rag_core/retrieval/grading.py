"""LLM grading: a chat model grades the best candidates against the question, 0 to 10 each."""

import math
from dataclasses import replace

from rag_core import prompts
from rag_core.core.model import Hit, Ranking
from rag_core.core.ports import LLM
from rag_core.prompts.replies import garbled, read_list
from rag_core.retrieval.cross_encode import joined

TOP = 10.0


async def grade(text: str, hits: Ranking, llm: LLM, *, count: int, prior: float = 0.0) -> list[Hit]:
    """Reorder the first `count` hits by a chat model's grades, kept as the signal "grade".

    Equal hits keep their order; hits left ungraded follow the graded ones, then the rest. The grades of a local
    cross-encoder, which stands in for a chat model, are blended with the search scores by `prior`.

    Raises:
        Unavailable: the model did not answer, or gave no usable grade (llm_output_invalid).
    """
    head, tail = hits[:count], hits[count:]
    if not head:
        return list(hits)
    reply = await llm.complete(prompts.rerank(text, [hit.chunk.content for hit in head]))
    grades = [_grade(value) for value in read_list(reply.text, "scores")]
    graded = [_with(hit, value) for hit, value in zip(head, grades, strict=False) if value is not None]
    if not graded:
        raise garbled("has no grade from 0 to 10")
    graded_ids = {hit.chunk.id for hit in graded}
    ungraded = [hit for hit in head if hit.chunk.id not in graded_ids]
    return [*(_with_search(text, graded, prior) if reply.local else _by_grade(graded)), *ungraded, *tail]


def _by_grade(graded: Ranking) -> list[Hit]:
    return sorted(graded, key=lambda hit: -hit.signals["grade"])


def _with_search(query_text: str, graded: Ranking, prior: float) -> list[Hit]:
    return joined(query_text, graded, [hit.signals["grade"] / TOP for hit in graded], prior=prior)


def _grade(value: object) -> float | None:
    """Parse a number from 0 to 10, also in a string; return None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and 0 <= number <= TOP else None


def _with(hit: Hit, value: float) -> Hit:
    return replace(hit, signals={**hit.signals, "grade": value})
