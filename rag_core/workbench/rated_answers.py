"""Answers that people rated, as the rows of a labelled set: what `rag eval answers` measures the confidence on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from rag_core.answering.citation_styles import BRACKETS_TO_ROUND
from rag_core.core.model import SavedResult
from rag_core.workbench.session import WorkbenchSession, iterate_saved_queries

MAX_RATED_ANSWERS = 1_000  # of one set: about 20 MB, at ten passages an answer


class RatedAnswerRow(TypedDict):
    """An answer in the form that `rag eval answers` reads: `evidence` are its passages, by the numbers of its marks.

    `id` is that of the saved query, `style` whether a model wrote the answer or it is quoted, `source` the documents.
    """

    id: int
    question: str
    evidence: list[str]
    answer: str
    right: bool
    style: str
    source: str
    comment: str


@dataclass(frozen=True, slots=True)
class RatedAnswers:
    """A labelled set, newest first; `left_out` counts the rated refusals, which say nothing that could be right."""

    rows: tuple[RatedAnswerRow, ...]
    left_out: int


async def collect_rated_answers(session: WorkbenchSession, *, limit: int = MAX_RATED_ANSWERS) -> RatedAnswers:
    """Return the newest `limit` rated answers of the scope; a comment without a rating is none."""
    rows: list[RatedAnswerRow] = []
    left_out = 0
    async for query in iterate_saved_queries(session):
        if len(rows) == limit:
            break
        if query.results_count == 0:
            continue
        results = await session.run.step("results", session.kit.archive.list_results(query.id, session.scope))
        for result in results:
            if result.details.get("feedback", {}).get("rating") is None or "reply" not in result.details:
                continue
            if result.details["reply"]["status"] == "answered":
                rows.append(_build_row(result))
            else:
                left_out += 1
    return RatedAnswers(tuple(rows[:limit]), left_out)


def _build_row(result: SavedResult) -> RatedAnswerRow:
    reply, feedback = result.details["reply"], result.details["feedback"]
    contexts = reply["contexts"]
    return {
        "id": result.query_id,
        "question": reply["question"],
        "evidence": [context["content"] for context in contexts],
        "answer": mark_cited_passages(reply["answer"], reply["claims"], contexts),
        "right": feedback["rating"] == "up",
        "style": reply["origin"],
        "source": ", ".join(dict.fromkeys(context["title"] or context["document_id"] for context in contexts)),
        "comment": feedback["comment"],
    }


def mark_cited_passages(text: str, claims: Sequence[Mapping[str, Any]], contexts: Sequence[Mapping[str, Any]]) -> str:
    """Return an answer with a mark "[n]" after each claim for each of the passages that it cites, counted from 1.

    A mark stands within the last cell of a row. Brackets of the text become round ones, so that none is taken for one.
    """
    parts, at = [], 0
    for claim in claims:
        said = text[at : claim["end"]].translate(BRACKETS_TO_ROUND)
        body = said.rstrip("| \t\n")
        numbers = dict.fromkeys(_find_passage(citation, contexts) for citation in claim["citations"])
        parts += [body, *(f" [{number}]" for number in numbers if number), said[len(body) :]]
        at = claim["end"]
    return "".join((*parts, text[at:].translate(BRACKETS_TO_ROUND)))


def _find_passage(citation: Mapping[str, Any], contexts: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of the passage that a citation quotes, 0 where it is none of these."""
    of_chunk = [n for n, context in enumerate(contexts, start=1) if context["chunk_id"] == citation["chunk_id"]]
    quoting = [n for n in of_chunk if citation["quote"] in contexts[n - 1]["content"]]
    return next(iter(quoting or of_chunk), 0)
