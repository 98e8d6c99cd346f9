"""A result as plain data, in the field names of the RAG agent's documented reply (S1-37 to S1-43)."""

from dataclasses import asdict
from typing import Any

from rag_core.model import Hit, Query, Result
from rag_core.presets import Preset
from rag_core.run import Run


def consulted(result: Result, query: Query, preset: Preset, run: Run) -> dict[str, Any]:
    """The reply to a question: JSON types only, and what happened on the way.

    `queries` has the wordings asked; an imagined answer is never shown (RELIABILITY C47).
    """
    return {
        "success": True,
        "documents": [_document(hit) for hit in result.hits],
        "count": len(result.hits),
        "queries_used": [asked.label for asked in result.asked],
        "queries": {asked.label: asked.text for asked in result.asked if asked.label != "hyde"},
        "reranked": result.reranked,
        "hyde_used": any(asked.label == "hyde" for asked in result.asked),
        "pipeline": preset.pipeline,
        "semantic_answers": [asdict(answer) for answer in result.answers],
        "facets": {facet.field: [asdict(bucket) for bucket in facet.buckets] for facet in result.facets},
        "facet_totals": {facet.field: facet.total for facet in result.facets},
        "preset": preset.numbers(),
        "workflow_id": query.scope.workflow_id,
        **diary(run),
    }


def diary(run: Run) -> dict[str, Any]:
    """What every reply says of its request: who did which step, how long it took, what it cost."""
    return {
        "run_id": run.id,
        "degraded": [asdict(degradation) for degradation in run.degraded],
        "warnings": [asdict(warning) for warning in run.warnings],
        "timings": dict(run.timings),
        "techniques": dict(run.techniques),
        "usage": {
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
            "cost_usd": None if run.cost_usd is None else round(run.cost_usd, 9),
        },
    }


def _document(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "id": chunk.id,
        "title": chunk.title,
        "content": chunk.content,
        "doc_type": "chunk",
        "score": hit.score,
        "reranker_score": hit.signals.get("semantic"),
        "rerank_score": hit.signals.get("grade"),
        "metadata": _metadata(hit),
        "summary": chunk.summary,
        "entities": [entity.value for entity in chunk.entities],
        "captions": [asdict(caption) for caption in hit.captions],
        "found_by": list(hit.found_by),
    }


def _metadata(hit: Hit) -> dict[str, Any]:
    """Where the passage stands, and the document's own metadata besides."""
    chunk = hit.chunk
    place = chunk.place(0, len(chunk.content))
    return {
        **chunk.metadata,
        "source": chunk.source,
        "page": chunk.page,
        "chunk_id": str(chunk.ordinal),  # S1-38 has a short number here; the unique id is the document's `id`
        "document_id": chunk.document_id,
        "lines": [place.line_start, place.line_end] if place else None,
        "section": list(chunk.heading_path),
    }
