"""Answering questions from the proposals, whose text is indexed and cited once per stage (S2-33 to S2-43)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Chunk, Citation, Filter, Scope
from rag_core.core.run import Run
from rag_core.ingestion.indexing import build_chunk_id
from rag_core.proposals.records import STAGE_NAMES

MAX_PROPOSAL_PASSAGES = 20  # S2-38

MetadataFilters = Mapping[str, Sequence[str]]  # allowed values by metadata field; an empty list allows all


async def cite_each_stage(
    answer: Answer, scope: Scope, metadata_filters: MetadataFilters, kit: Kit, run: Run
) -> list[Citation]:
    """Return the answer's citations, each at every stage whose text has the same words: each stage once."""
    stage_chunks = await run.attempt(
        "stages",
        kit.index.store.get(list(_list_stage_chunk_ids(answer, scope)), scope),
        otherwise=(),
        fallback="citations only of the stages that were retrieved",
    )
    return _cite_each_stage(answer, stage_chunks, metadata_filters)


def build_stage_filters(metadata_filters: MetadataFilters) -> list[Filter]:
    """Return the conditions on a proposal's metadata; a field without values has none."""
    return [Filter(f"metadata.{name}", "in", tuple(values)) for name, values in metadata_filters.items() if values]


def limit_passages(top_k: int, run: Run) -> int:
    """Return how many passages are searched for: at most 20, with a warning when more were requested (S2-38)."""
    if top_k > MAX_PROPOSAL_PASSAGES:
        message = f"topK is at most {MAX_PROPOSAL_PASSAGES}: {MAX_PROPOSAL_PASSAGES} passages were requested"
        run.warn("top_k_capped", message)
    return min(top_k, MAX_PROPOSAL_PASSAGES)


def _list_stage_chunk_ids(answer: Answer, scope: Scope) -> Iterator[str]:
    """Return the ids that the answer's passages have at every stage of their proposals (S2-14, S2-16).

    A stage that does not exist, or has another text, may have no chunk of such an id.
    """
    for chunk in _collect_evidence_chunks(answer).values():
        if proposal := chunk.metadata.get("proposal_id"):
            yield from (
                build_chunk_id(scope.workflow_id, f"{proposal}:{stage}", chunk.ordinal) for stage in STAGE_NAMES
            )


def _cite_each_stage(
    answer: Answer, stage_chunks: Sequence[Chunk], metadata_filters: MetadataFilters
) -> list[Citation]:
    """Return the citations in the order of the answer, each repeated for every stage with the same text (S2-43).

    Each proposal and stage is cited once: its first citation counts.
    """
    passages = _collect_evidence_chunks(answer)
    chunks_by_text: dict[tuple[object, str], dict[str, Chunk]] = {}
    for chunk in (*stage_chunks, *passages.values()):
        if all(chunk.metadata.get(name) in values for name, values in metadata_filters.items() if values):
            chunks_by_text.setdefault(_build_proposal_text_key(chunk), {})[chunk.id] = chunk
    citations_by_stage: dict[tuple[object, object], Citation] = {}
    for citation in (citation for claim in answer.claims for citation in claim.citations):
        for chunk in chunks_by_text[_build_proposal_text_key(passages[citation.chunk_id])].values():
            moved = _move_citation(chunk, citation)
            citations_by_stage.setdefault(_build_proposal_stage_key(moved), moved)
    return list(citations_by_stage.values())


def _collect_evidence_chunks(answer: Answer) -> dict[str, Chunk]:
    return {passage.hit.chunk.id: passage.hit.chunk for passage in answer.evidence}


def _build_proposal_text_key(chunk: Chunk) -> tuple[object, str]:
    return chunk.metadata.get("proposal_id", chunk.document_id), chunk.content


def _move_citation(chunk: Chunk, citation: Citation) -> Citation:
    """Return the citation with the same quote in another chunk."""
    return replace(
        citation,
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        title=chunk.title,
        source=chunk.source,
        metadata=chunk.metadata,
    )


def _build_proposal_stage_key(citation: Citation) -> tuple[object, object]:
    return citation.metadata.get("proposal_id", citation.document_id), citation.metadata.get("stage")
