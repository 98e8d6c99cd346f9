"""Answering questions from the proposals, whose text is indexed and cited once per stage (S2-33 to S2-43)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rag_core import service
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Chunk, Citation, Filter, Query, Scope
from rag_core.core.presets import Preset, resolve
from rag_core.core.run import Run
from rag_core.ingestion.indexing import chunk_id
from rag_core.proposals.records import STAGES

MOST = 20  # S2-38

Allowed = Mapping[str, Sequence[str]]  # allowed values by metadata field; an empty list allows all


async def ask(
    text: str, scope: Scope, kit: Kit, run: Run, *, top_k: int, allowed: Allowed
) -> tuple[Answer, list[Citation]]:
    """Answer a question from the `top_k` best passages and return the answer with its citations.

    Each proposal and stage is cited once. A `top_k` over 20 is lowered to 20, with a warning in the run.
    """
    if top_k > MOST:
        run.warn("top_k_capped", f"topK is at most {MOST}: {MOST} passages were requested")
    query, preset = meant(text, scope, top_k=top_k, allowed=allowed)
    answer = await service.ask(query, kit, run, pipeline=preset.pipeline)
    stage_chunks = await run.attempt(
        "stages",
        kit.index.store.get(list(_of_all_stages(answer, scope)), scope),
        otherwise=(),
        fallback="citations only of the stages that were retrieved",
    )
    return answer, _at_each_stage(answer, stage_chunks, allowed)


def meant(text: str, scope: Scope, *, top_k: int, allowed: Allowed) -> tuple[Query, Preset]:
    """Return the query for a question about proposals, and the preset that it is made with."""
    preset = resolve("proposals", top_k=min(top_k, MOST), top_n=min(top_k, MOST))
    conditions = [Filter(f"metadata.{name}", "in", tuple(values)) for name, values in allowed.items() if values]
    return preset.query(text, scope, filters=conditions), preset


def _of_all_stages(answer: Answer, scope: Scope) -> Iterator[str]:
    """Return the ids that the answer's passages have at every stage of their proposals (S2-14, S2-16).

    A stage that does not exist, or has another text, may have no chunk of such an id.
    """
    for chunk in _passages(answer).values():
        if proposal := chunk.metadata.get("proposal_id"):
            yield from (chunk_id(scope.workflow_id, f"{proposal}:{stage}", chunk.ordinal) for stage in STAGES)


def _at_each_stage(answer: Answer, twins: Sequence[Chunk], allowed: Allowed) -> list[Citation]:
    """Return the citations in the order of the answer, each repeated for every stage with the same text (S2-43).

    Each proposal and stage is cited once: its first citation counts.
    """
    passages = _passages(answer)
    chunks_by_text: dict[tuple[object, str], dict[str, Chunk]] = {}
    for chunk in (*twins, *passages.values()):
        if all(chunk.metadata.get(name) in values for name, values in allowed.items() if values):
            chunks_by_text.setdefault(_text(chunk), {})[chunk.id] = chunk
    citations_by_stage: dict[tuple[object, object], Citation] = {}
    for citation in (citation for claim in answer.claims for citation in claim.citations):
        for chunk in chunks_by_text[_text(passages[citation.chunk_id])].values():
            moved = _in(chunk, citation)
            citations_by_stage.setdefault(_stage(moved), moved)
    return list(citations_by_stage.values())


def _passages(answer: Answer) -> dict[str, Chunk]:
    return {passage.hit.chunk.id: passage.hit.chunk for passage in answer.evidence}


def _text(chunk: Chunk) -> tuple[object, str]:
    return chunk.metadata.get("proposal_id", chunk.document_id), chunk.content_hash


def _in(chunk: Chunk, citation: Citation) -> Citation:
    """Return the citation with the same quote in another chunk."""
    return replace(
        citation,
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        title=chunk.title,
        source=chunk.source,
        metadata=chunk.metadata,
    )


def _stage(citation: Citation) -> tuple[object, object]:
    return citation.metadata.get("proposal_id", citation.document_id), citation.metadata.get("stage")
