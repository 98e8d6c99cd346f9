"""A result as plain data, in the field names of the RAG agent's documented reply (S1-37 to S1-43)."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from rag_core.answering import citation_styles
from rag_core.answering.citation_styles import Style
from rag_core.core.model import Answer, Citation, Claim, Evidence, Hit, Query, Result
from rag_core.core.presets import Preset
from rag_core.core.run import Run

FOUND_BY = {"words": "bm25", "meaning": "vector"}  # S4-51's names of the legs


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


def answered(answer: Answer, query: Query, preset: Preset, run: Run, style: Style | None = None) -> dict[str, Any]:
    """The reply to a question that wants an answer: JSON types only. Without a style, in its pipeline's own.

    `answer` is the bare text, in which the claims' `start` and `end` count; `cited_answer` has the citations in it.
    `citations` has each cited passage once, by number, with the verdict of the first claim that cites it.
    """
    style = style or citation_styles.usual(preset.pipeline)
    claims = checked(answer.claims, style)
    first = {citation["number"]: citation for claim in reversed(claims) for citation in claim["citations"]}
    return {
        "success": True,
        "answer": answer.text,
        "cited_answer": citation_styles.cited_text(answer, style),
        "status": answer.status,
        "origin": answer.origin,
        "claims": claims,
        "citations": [first[number] for number in sorted(first)],
        "confidence": {
            "value": answer.confidence.value,
            "inputs": dict(answer.confidence.inputs),
            "formula": answer.confidence.formula,
        },
        "contexts": [_context(passage) for passage in answer.evidence],
        "chunks": [_chunk(passage) for passage in answer.evidence if preset.pipeline == "classical"],
        "style": style,
        "pipeline": preset.pipeline,
        "preset": preset.numbers(),
        "workflow_id": query.scope.workflow_id,
        **diary(run),
    }


def checked(claims: Sequence[Claim], style: Style) -> list[dict[str, Any]]:
    """Sentences with their verdicts, and with citations numbered through all of them."""
    numbers = citation_styles.numbered(claims)
    return [
        {
            "text": claim.text,
            "start": claim.start,
            "end": claim.end,
            "verdict": claim.verdict,
            "reasons": list(claim.reasons),
            "citations": [
                {"number": number, "label": citation_styles.label(citation, style, number), "verdict": claim.verdict}
                | _citation(citation)
                for number, citation in citation_styles.cited(claim, numbers)
            ],
        }
        for claim in claims
    ]


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


def _citation(citation: Citation) -> dict[str, Any]:
    place = citation.place
    return {
        "chunk_id": citation.chunk_id,
        "document_id": citation.document_id,
        "title": citation.title,
        "source": citation.source,
        "quote": citation.quote,
        "score": citation.score,
        "section": list(citation.section),
        "page": place and place.page,
        "page_label": citation.page_label,
        "bbox": place and place.bbox,
        "boxes": [list(box) for box in citation.boxes],
        "lines": place and [place.line_start, place.line_end],
    }


def _context(passage: Evidence) -> dict[str, Any]:
    chunk, place = passage.hit.chunk, citation_styles.place_of(passage)
    return {
        "id": passage.id,
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "title": chunk.title,
        "source": chunk.source,
        "page": place and place.page,
        "lines": place and [place.line_start, place.line_end],
        "section": list(place.section if place else chunk.heading_path),
        "content": passage.text,
        "score": passage.hit.score,
    }


def _chunk(passage: Evidence) -> dict[str, Any]:
    """A passage in the classical pipeline's words: there `source` is what found it, not its file (S4-51, C27)."""
    hit, chunk = passage.hit, passage.hit.chunk
    return {
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "document_name": PurePath(chunk.source).name if hit.signals.keys() & FOUND_BY else chunk.title,
        "section": chunk.heading_path[-1] if chunk.heading_path else None,
        "page": chunk.page,
        "content": passage.text,
        "score": hit.score,
        "relevance": hit.signals.get("relevance"),
        "source": retrieved_by(hit),
    }


def retrieved_by(hit: Hit) -> str:
    """Which leg found it: "bm25", "vector" or "hybrid" for both; "fallback" for what is not of the index."""
    legs = [name for signal, name in FOUND_BY.items() if signal in hit.signals]
    return "hybrid" if len(legs) > 1 else next(iter(legs), "fallback")


def _document(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "id": chunk.id,
        "title": chunk.title,
        "content": chunk.content,
        "doc_type": "chunk",
        "score": hit.score,
        "reranker_score": hit.signals.get("semantic"),
        "rerank_score": hit.signals.get("grade", hit.signals.get("relevance")),  # C08: a model's, or a cross-encoder's
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
