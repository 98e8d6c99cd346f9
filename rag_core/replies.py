"""The replies to a search and to a question: as objects, and as plain data in the documents' field names (S1-37 to 43).

The TypedDicts are what the HTTP contract is read off. Every reply has the fields of `Done`.
"""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Literal, NotRequired, TypedDict, cast

from rag_core.answering import citation_styles
from rag_core.answering.citation_styles import CitationStyle
from rag_core.answering.claim_replies import CitationReply, ClaimReply, LinesReply, format_claims
from rag_core.core.json_codec import lines_to_json
from rag_core.core.model import Answer, Entity, Evidence, Facet, FacetBucket, Hit, Ranking, SearchResult
from rag_core.core.presets import Preset, Query
from rag_core.core.run import Run
from rag_core.run_reply import Done, format_run
from rag_core.workbench.saved_runs import SavedRunFields

MAX_CITED_CHARS = 300  # of a passage that has a counted value
LEG_NAMES: dict[str, Literal["bm25", "vector"]] = {"words": "bm25", "meaning": "vector"}  # by signal; S4-51
SavedQueryId = Annotated[int | None, "the id of the saved query, where calls are archived"]


class EntityReply(TypedDict):
    """A typed name that occurs in a passage."""

    type: str
    value: str


class CaptionReply(TypedDict):
    """The sentence of a passage that speaks to the question; `highlights` marks the shared words with <em>."""

    text: str
    highlights: str


class PassageMetadata(TypedDict):
    """The position of a passage, together with the metadata of its document.

    `similar_count` is how many more passages of the document were found that are near-identical to it; none: left out.
    `locator` is that of a citation, and is left out where it is "".
    """

    source: str
    page: int | None
    chunk_id: str
    document_id: str
    lines: LinesReply | None
    section: list[str]
    similar_count: NotRequired[int]
    locator: NotRequired[str]


class Passage(TypedDict):
    """A passage that was found."""

    id: str
    title: str
    content: str
    doc_type: Literal["chunk"]
    score: Annotated[float, "of the search; the list is in the final order of the pipeline, best first"]
    reranker_score: float | None
    rerank_score: float | None
    metadata: PassageMetadata
    summary: str
    entities: list[str]
    captions: list[CaptionReply]
    found_by: list[str]


class SemanticAnswerReply(TypedDict):
    """A sentence of the index that may answer the question by itself; `score` is 0..1."""

    text: str
    score: float
    chunk_id: str


class CountedAtReply(TypedDict):
    """A passage that has a counted value."""

    document_id: str
    chunk_id: str
    title: str
    source: str
    page: int | None
    text: str


class BucketReply(TypedDict):
    """One value of a facet, in how many chunks it occurs, and one of them, where the pipeline facets looked it up."""

    value: str | bool | int | float
    count: int
    cited: NotRequired[CountedAtReply]


class ConsultReply(Done):
    """The passages that bear on a question, and how they were found."""

    documents: list[Passage]
    count: int
    queries_used: list[str]
    queries: dict[str, str]
    reranked: bool
    hyde_used: bool
    pipeline: str
    semantic_answers: list[SemanticAnswerReply]
    facets: dict[str, list[BucketReply]]
    facet_totals: dict[str, int]
    preset: dict[str, str | int | float]
    workflow_id: str
    kept: NotRequired[SavedQueryId]


class ConfidenceReply(TypedDict):
    """The confidence of an answer, 0..1, with the numbers that it was computed from."""

    value: float
    inputs: dict[str, float]
    formula: str


class ContextReply(TypedDict):
    """A passage that the answer was written from; of an unknown answer, one of the nearest passages."""

    id: str
    chunk_id: str
    document_id: str
    title: str
    source: str
    page: int | None
    lines: LinesReply | None
    locator: str
    section: list[str]
    content: str
    score: float


class ChunkReply(TypedDict):
    """A passage in the field names of the classical pipeline; `source` is the leg that found it."""

    chunk_id: str
    document_id: str
    document_name: str
    section: str | None
    page: int | None
    content: str
    score: float
    relevance: float | None
    source: Literal["bm25", "vector", "hybrid", "fallback"]


class AskReply(Done):
    """An answer; one that is `unknown` says so in its text, has no claims, and has the nearest passages as contexts.

    `question` is what was answered: of a conversation, as a chat model wrote it to stand alone, else as it was asked.
    `missing_words` are words of it that no cited passage has: a plan, a year, a condition.
    """

    question: str
    answer: str
    cited_answer: str
    status: Literal["answered", "unknown"]
    origin: Literal["model", "extractive"]
    claims: list[ClaimReply]
    citations: list[CitationReply]
    confidence: ConfidenceReply
    missing_words: list[str]
    contexts: list[ContextReply]
    chunks: Annotated[list[ChunkReply], "of the classical pipeline only"]
    style: CitationStyle
    pipeline: str
    preset: dict[str, str | int | float]
    workflow_id: str
    kept: NotRequired[SavedQueryId]


@dataclass(frozen=True, slots=True)
class SearchReply:
    """What a search found, with the preset it was made with and the record of the call."""

    result: SearchResult
    query: Query
    preset: Preset
    run: Run
    saved: SavedRunFields

    @property
    def hits(self) -> Ranking:
        """The passages that were found, best first."""
        return self.result.hits

    def to_json(self) -> ConsultReply:
        """Return the reply of `consult_rag`. A HyDE answer is not shown: nothing in it was checked."""
        result = self.result
        return {
            **format_run(self.run),
            "documents": [format_passage(hit) for hit in result.hits],
            "count": len(result.hits),
            "queries_used": [variant.label for variant in result.variants],
            "queries": {variant.label: variant.text for variant in result.variants if variant.label != "hyde"},
            "reranked": result.reranked,
            "hyde_used": any(variant.label == "hyde" for variant in result.variants),
            "pipeline": self.preset.pipeline,
            "semantic_answers": [
                {"text": answer.text, "score": answer.score, "chunk_id": answer.chunk_id} for answer in result.answers
            ],
            "facets": {facet.field: _format_buckets(facet) for facet in result.facets},
            "facet_totals": {facet.field: facet.total for facet in result.facets},
            "preset": self.preset.export_numbers(),
            "workflow_id": self.query.scope.workflow_id,
            **self.saved,
        }


@dataclass(frozen=True, slots=True)
class AnswerReply:
    """An answer, with the preset it was made with and the record of the call; it prints as the answer's text."""

    answer: Answer
    query: Query
    preset: Preset
    run: Run
    saved: SavedRunFields

    def __str__(self) -> str:
        return self.answer.text

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The passages that the answer was made from."""
        return self.answer.evidence

    def to_json(self, style: CitationStyle | None = None) -> AskReply:
        """Return the reply of `rag/ask`, its citations in a style, by default that of the pipeline.

        `answer` is the bare text, to which the claims' `start` and `end` refer; `cited_answer` has the citations in it.
        `citations` has each cited passage once, by number, with the verdict of the first claim that cites it.
        """
        answer, pipeline = self.answer, self.preset.pipeline
        style = style or citation_styles.choose_default_style(pipeline)
        claims = format_claims(answer.claims, style)
        first = {citation["number"]: citation for claim in reversed(claims) for citation in claim["citations"]}
        return {
            **format_run(self.run),
            "question": self.query.text,
            "answer": answer.text,
            "cited_answer": citation_styles.render_cited_answer(answer, style),
            "status": answer.status,
            "origin": answer.origin,
            "claims": claims,
            "citations": [first[number] for number in sorted(first)],
            "confidence": {
                "value": answer.confidence.value,
                "inputs": dict(answer.confidence.inputs),
                "formula": answer.confidence.formula,
            },
            "missing_words": list(answer.missing_words),
            "contexts": [_format_context(passage) for passage in answer.evidence],
            "chunks": [_format_chunk(passage) for passage in answer.evidence if pipeline == "classical"],
            "style": style,
            "pipeline": pipeline,
            "preset": self.preset.export_numbers(),
            "workflow_id": self.query.scope.workflow_id,
            **self.saved,
        }


def format_entity(entity: Entity) -> EntityReply:
    """Return an entity as plain data."""
    return {"type": entity.type, "value": entity.value}


def name_retrieval_leg(hit: Hit) -> Literal["bm25", "vector", "hybrid", "fallback"]:
    """Return which leg found a hit: "hybrid" for both, "fallback" for what is not of the index."""
    legs = [name for signal, name in LEG_NAMES.items() if signal in hit.signals]
    return "hybrid" if len(legs) > 1 else next(iter(legs), "fallback")


def _format_buckets(facet: Facet) -> list[BucketReply]:
    return [_format_bucket(bucket) for bucket in facet.buckets]


def _format_bucket(bucket: FacetBucket) -> BucketReply:
    counted: BucketReply = {"value": bucket.value, "count": bucket.count}
    if bucket.chunk:
        chunk, place = bucket.chunk, bucket.chunk.place
        counted["cited"] = {
            "document_id": chunk.document_id,
            "chunk_id": chunk.id,
            "title": chunk.title,
            "source": chunk.source,
            "page": place.page if place else None,
            "text": chunk.content[:MAX_CITED_CHARS],
        }
    return counted


def _format_context(passage: Evidence) -> ContextReply:
    chunk, place = passage.hit.chunk, passage.place
    return {
        "id": passage.id,
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "title": chunk.title,
        "source": chunk.source,
        "page": place.page if place else None,
        "lines": lines_to_json(place),
        "locator": place.locator if place else "",
        "section": list(place.section if place else chunk.heading_path),
        "content": passage.text,
        "score": passage.hit.score,
    }


def _format_chunk(passage: Evidence) -> ChunkReply:
    """Return a passage in the classical pipeline's field names: its `source` is what found it, not its file (S4-51)."""
    hit, chunk = passage.hit, passage.hit.chunk
    return {
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "document_name": PurePath(chunk.source).name if hit.signals.keys() & LEG_NAMES.keys() else chunk.title,
        "section": chunk.heading_path[-1] if chunk.heading_path else None,
        "page": chunk.page,
        "content": passage.text,
        "score": hit.score,
        "relevance": hit.signals.get("relevance"),
        "source": name_retrieval_leg(hit),
    }


def format_passage(hit: Hit) -> Passage:
    """Return a passage as plain data."""
    chunk = hit.chunk
    return {
        "id": chunk.id,
        "title": chunk.title,
        "content": chunk.content,
        "doc_type": "chunk",
        "score": hit.score,
        "reranker_score": hit.signals.get("semantic"),
        "rerank_score": hit.signals.get("grade", hit.signals.get("relevance")),  # a chat model's, or a cross-encoder's
        "metadata": _format_metadata(hit),
        "summary": chunk.summary,
        "entities": [entity.value for entity in chunk.entities],
        "captions": [{"text": caption.text, "highlights": caption.highlights} for caption in hit.captions],
        "found_by": list(hit.found_by),
    }


def _format_metadata(hit: Hit) -> PassageMetadata:
    """Return where a passage stands, together with the document's own metadata."""
    chunk, place = hit.chunk, hit.chunk.place
    position: PassageMetadata = {
        "source": chunk.source,
        "page": chunk.page,
        "chunk_id": str(chunk.ordinal),  # S1-38 has a short number here; the unique id is the document's `id`
        "document_id": chunk.document_id,
        "lines": lines_to_json(place),
        "section": list(chunk.heading_path),
    }
    if hit.similar_count:
        position["similar_count"] = hit.similar_count
    if place and place.locator:
        position["locator"] = place.locator
    return cast(PassageMetadata, {**chunk.metadata, **position})
