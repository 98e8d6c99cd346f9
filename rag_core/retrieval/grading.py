"""LLM grading: a chat model grades the best candidates against the question, 0 to 10 each."""

from dataclasses import replace

from rag_core import prompts
from rag_core.core.model import Hit, Ranking
from rag_core.core.ports import LLM
from rag_core.prompts.completions import (
    complete_object,
    get_completion_list,
    index_by_id,
    make_invalid_completion_error,
    parse_number,
)
from rag_core.retrieval.cross_encoding import blend_with_search_scores, compute_standings, prepend_title
from rag_core.retrieval.excerpts import cut_passage

MAX_GRADE = 10.0
GRADED_CHARS = 1100  # of a passage, about 240 tokens; docs/reference/evaluation-retrieval.md has what more would change
MAX_GRADE_CHARS = 100  # of a grade that is written as a text


async def grade_hits(query_text: str, hits: Ranking, llm: LLM, *, count: int, prior: float = 0.0) -> list[Hit]:
    """Reorder the first `count` hits by a chat model's grades, kept as the signal "grade".

    Grades are read by the ids of the passages, never by their position in the reply. Equal hits keep their order; hits
    left ungraded follow the graded ones, then the rest. The grades of a local cross-encoder, which stands in for a chat
    model, are blended with the search scores by `prior`.

    Raises:
        Unavailable: the model did not answer, or gave no usable grade (llm_output_invalid).
    """
    head, tail = hits[:count], hits[count:]
    if not head:
        return list(hits)
    hit_by_id = {f"p{number}": hit for number, hit in enumerate(head, start=1)}
    passages = {id: prepend_title(hit.chunk) for id, hit in hit_by_id.items()}
    excerpts = {id: cut_passage(query_text, hit.chunk.content, max_chars=GRADED_CHARS) for id, hit in hit_by_id.items()}
    prompt = prompts.build_grading_prompt(query_text, passages, excerpts)
    reply = await complete_object(prompt, llm, sources=(), max_chars=MAX_GRADE_CHARS)
    replied = index_by_id(get_completion_list(reply.fields, "grades"), "id", hit_by_id)
    grades = {id: parse_number(item.get("score"), highest=MAX_GRADE) for id, item in replied.items()}
    graded = [_attach_grade(hit, value) for id, hit in hit_by_id.items() if (value := grades.get(id)) is not None]
    if not graded:
        raise make_invalid_completion_error("has no grade from 0 to 10")
    graded_ids = {hit.chunk.id for hit in graded}
    ungraded = [hit for hit in head if hit.chunk.id not in graded_ids]
    return [
        *(_blend_grades_with_search(query_text, graded, hits, prior) if reply.local else _sort_by_grade(graded)),
        *ungraded,
        *tail,
    ]


def _sort_by_grade(graded: Ranking) -> list[Hit]:
    return sorted(graded, key=lambda hit: -hit.signals["grade"])


def _blend_grades_with_search(query_text: str, graded: Ranking, found: Ranking, prior: float) -> list[Hit]:
    scores = [hit.signals["grade"] / MAX_GRADE for hit in graded]
    return blend_with_search_scores(query_text, graded, scores, compute_standings(found), prior=prior)


def _attach_grade(hit: Hit, value: float) -> Hit:
    return replace(hit, signals={**hit.signals, "grade": value})
