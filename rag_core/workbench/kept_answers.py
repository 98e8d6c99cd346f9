"""Answers that are kept: rated by who asked, and taken away as the pages that they cite."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict

from rag_core.core.errors import make_unknown_result_error
from rag_core.core.model import Box, SavedResult
from rag_core.ingestion import source_view
from rag_core.ingestion.upload import UploadLimits
from rag_core.workbench.session import WorkbenchSession, load_saved_query

BoxesByDocument = Mapping[str, Mapping[int, Sequence[Box]]]


class FeedbackFields(TypedDict):
    """What somebody said of an answer: whether it is right, with a comment, "" for none."""

    rating: Literal["up", "down"] | None
    comment: str


async def load_kept_answer(query_id: int, session: WorkbenchSession) -> SavedResult:
    """Return the first result of a saved query: the answer that it was saved with, where it is of a call.

    Raises:
        NotFound: there is no such saved query, or it has no result.
    """
    await load_saved_query(query_id, session)
    results = await session.run.step("results", session.kit.archive.list_results(query_id, session.scope))
    if not results:
        raise make_unknown_result_error()
    return results[-1]


async def rate_answer(query_id: int, feedback: FeedbackFields, session: WorkbenchSession) -> FeedbackFields:
    """Keep what somebody says of an answer with it, in place of what was said before. Raises NotFound."""
    answer = await load_kept_answer(query_id, session)
    rated = replace(answer, details={**answer.details, "feedback": dict(feedback)})
    await session.run.step("keep", session.kit.archive.update_result(rated, session.scope))
    return feedback


async def extract_cited_pages(query_id: int, session: WorkbenchSession, limits: UploadLimits) -> bytes:
    """Return one PDF with the pages that an answer cites, the cited lines highlighted.

    Raises:
        NotFound: there is no such answer, or it cites no page of a PDF whose original is stored.
        UnreadableDocument, Unavailable: as `source_view.extract_cited_pages`.
    """
    answer = await load_kept_answer(query_id, session)
    boxes = _collect_boxes(answer.details.get("reply", {}).get("citations", ()))
    return await source_view.extract_cited_pages(boxes, session.scope, session.kit, session.run, limits)


def _collect_boxes(citations: Sequence[Mapping[str, Any]]) -> BoxesByDocument:
    """Return the cited boxes by document and page, each once."""
    boxes: defaultdict[str, defaultdict[int, list[Box]]] = defaultdict(lambda: defaultdict(list))
    for citation in citations:
        if citation["page"] and citation["boxes"]:
            of_page = boxes[citation["document_id"]][citation["page"]]
            of_page.extend(box for given in citation["boxes"] if (box := tuple(given)) not in of_page)
    return boxes
