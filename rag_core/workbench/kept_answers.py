"""Answers that are kept: rated by who asked, shown with their prompt, taken away as the pages that they cite."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict

from rag_core.core.errors import NotFound, make_unknown_result_error
from rag_core.core.model import Box, Chunk, Evidence, SavedResult
from rag_core.ingestion import source_view
from rag_core.ingestion.upload import UploadLimits
from rag_core.prompts import build_answer_prompt
from rag_core.workbench.contexts import decode_context
from rag_core.workbench.saved_runs import UNSAVED_PIPELINES
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


async def rebuild_answer_prompt(query_id: int, session: WorkbenchSession) -> str:
    """Return the prompt that a model's answer was written to, made again of what is kept; nothing is asked.

    Raises:
        NotFound: there is no such answer, no model wrote it, or a document that its prompt quotes is not kept with it.
    """
    query = await load_saved_query(query_id, session)
    reply = (await load_kept_answer(query_id, session)).details.get("reply", {})
    if reply.get("origin") != "model" or reply["pipeline"] in UNSAVED_PIPELINES:
        raise NotFound("no prompt was sent for this answer: its sentences are the documents' own", code="no_prompt")
    chunks = {context["id"]: context for context in query.retrieved_context or ()}
    if not all(passage["chunk_id"] in chunks for passage in reply["contexts"]):
        raise NotFound("the passages of this answer were changed since it was written", code="no_prompt")
    evidence = [_rebuild_evidence(passage, chunks[passage["chunk_id"]]) for passage in reply["contexts"]]
    return build_answer_prompt(reply["question"], evidence).text


def _rebuild_evidence(passage: Mapping[str, Any], context: Mapping[str, Any]) -> Evidence:
    hit = decode_context(context)
    start = max(0, hit.chunk.content.find(passage["content"]))
    return Evidence(passage["id"], hit, start, start + len(passage["content"]))


async def extract_cited_pages(query_id: int, session: WorkbenchSession, limits: UploadLimits) -> bytes:
    """Return one PDF with the pages that an answer cites, the cited lines highlighted.

    A document in which a quote does not stand where it stood is left out, and the run says so.

    Raises:
        NotFound: there is no such answer, or it cites no page of a PDF whose original is stored.
        UnreadableDocument, Unavailable: as `source_view.extract_cited_pages`.
    """
    answer = await load_kept_answer(query_id, session)
    citations = answer.details.get("reply", {}).get("citations", ())
    current = await _select_current_citations(citations, session)
    if citations and not current:
        message = "what this answer cites was changed or removed since it was written: ask again"
        raise NotFound(message, code="original_not_kept", field="id")
    boxes = _collect_boxes(current)
    return await source_view.extract_cited_pages(boxes, session.scope, session.kit, session.run, limits)


async def _select_current_citations(
    citations: Sequence[Mapping[str, Any]], session: WorkbenchSession
) -> list[Mapping[str, Any]]:
    """Return the citations of documents that are as they were cited: another version has other lines in these boxes."""
    ids = list(dict.fromkeys(citation["chunk_id"] for citation in citations))
    loading = session.kit.index.store.get(ids, session.scope)
    chunks = {chunk.id: chunk for chunk in await session.run.step("chunks", loading)}
    changed = {c["document_id"] for c in citations if not _stands_as_cited(c, chunks.get(c["chunk_id"]))}
    for document_id in sorted(changed):
        message = f"document {document_id} was changed or removed since the answer was written"
        session.run.warn("evidence_left_out", message)
    return [citation for citation in citations if citation["document_id"] not in changed]


def _stands_as_cited(citation: Mapping[str, Any], chunk: Chunk | None) -> bool:
    """Return whether a chunk still has the quote, and lines in all of its boxes."""
    if chunk is None or citation["quote"] not in chunk.content:
        return False
    boxes = {span.bbox for span in chunk.spans if span.page == citation["page"]}
    return all(tuple(box) in boxes for box in citation["boxes"])


def _collect_boxes(citations: Sequence[Mapping[str, Any]]) -> BoxesByDocument:
    """Return the cited boxes by document and page, each once."""
    boxes: defaultdict[str, defaultdict[int, list[Box]]] = defaultdict(lambda: defaultdict(list))
    for citation in citations:
        if citation["page"] and citation["boxes"]:
            of_page = boxes[citation["document_id"]][citation["page"]]
            of_page.extend(box for given in citation["boxes"] if (box := tuple(given)) not in of_page)
    return boxes
