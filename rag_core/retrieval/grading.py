"""Grades of a chat model: the best few candidates judged against the question, 0 to 10 each."""

import math
from dataclasses import replace

from rag_core import prompts
from rag_core.core.model import Hit, Ranking
from rag_core.core.ports import LLM
from rag_core.prompts.replies import garbled, read_list
from rag_core.retrieval.cross_encode import joined

TOP = 10.0  # the best grade


async def grade(text: str, hits: Ranking, llm: LLM, *, count: int, prior: float = 0.0) -> list[Hit]:
    """The first `count` hits by grade, equals as they stood; then those left ungraded, and the rest, as they stood.

    The grades of a cross-encoder, which stands in for a model, are `joined` with the search by `prior`.

    Raises:
        Unavailable: the model did not answer, or with no usable grade (llm_output_invalid).
    """
    head, tail = hits[:count], hits[count:]
    if not head:
        return list(hits)
    reply = await llm.complete(prompts.rerank(text, [hit.chunk.content for hit in head]))
    grades = [_grade(given) for given in read_list(reply.text, "scores")]
    graded = [_with(hit, given) for hit, given in zip(head, grades, strict=False) if given is not None]
    if not graded:
        raise garbled("has no grade from 0 to 10")
    judged = {hit.chunk.id for hit in graded}
    ungraded = [hit for hit in head if hit.chunk.id not in judged]
    return [*(_with_search(text, graded, prior) if reply.local else _by_grade(graded)), *ungraded, *tail]


def _by_grade(graded: Ranking) -> list[Hit]:
    return sorted(graded, key=lambda hit: -hit.signals["grade"])


def _with_search(text: str, graded: Ranking, prior: float) -> list[Hit]:
    return joined(text, graded, [hit.signals["grade"] / TOP for hit in graded], prior=prior)


def _grade(given: object) -> float | None:
    """A number from 0 to 10, also in a string; None for anything else."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        number = float(given)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and 0 <= number <= TOP else None


def _with(hit: Hit, given: float) -> Hit:
    return replace(hit, signals={**hit.signals, "grade": given})
