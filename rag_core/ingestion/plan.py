"""Dry runs: what indexing would do and cost, computed by the same code that then does it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, cast

from rag_core.core.errors import InvalidRequest, RagError, Unavailable
from rag_core.core.index import Index
from rag_core.core.kit import Kit, NoArchive, NoJobs
from rag_core.core.model import Chunk, Document, Extraction, Facet, Filter, Scope, Vector
from rag_core.core.ports import ChunkStore, Embedder, ReplacementResult
from rag_core.core.run import Run
from rag_core.ingestion.document_enrichment import estimate_document_enrichment
from rag_core.ingestion.indexing import MAX_CHUNKS, warn_of_unpaid_enrichment
from rag_core.ingestion.layout_budget import NOT_PLANNED
from rag_core.ingestion.model_enrichment import EnrichmentEstimate
from rag_core.ingestion.upload import Upload
from rag_core.text.tokens import count_tokens

T = TypeVar("T")
IndexingAction = Literal["add", "update", "skip"]


class BudgetSpent(RagError):
    """The next embedding call would cost more than is left of the budget; what was indexed before stays."""

    code = "budget_spent"


@dataclass(frozen=True, slots=True)
class Tariff:
    """The price of embedding by `model`, per million tokens sent; None where the price is not known.

    Each text is sent with `prefix` before it, cut to its first `max_text_tokens` tokens. Tokens are counted as OpenAI's
    embedders count them (cl100k_base); another model's own count differs.
    """

    model: str
    usd_per_million: float | None
    prefix: str = ""
    max_text_tokens: int | None = None

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Return how many tokens are sent for these texts."""
        counts = (count_tokens(self.prefix + text, encoding="cl100k_base") for text in texts)
        return sum(counts if self.max_text_tokens is None else (min(count, self.max_text_tokens) for count in counts))

    def price_usd(self, tokens: int) -> float | None:
        """Return what this many tokens cost; None where the price is not known."""
        return None if self.usd_per_million is None else tokens * self.usd_per_million / 1_000_000


def format_usd(usd: float) -> str:
    """Format an amount to a millionth of a dollar, and a smaller one in scientific notation instead of as zero."""
    return f"{usd:.6f}" if not usd or usd >= 1e-5 else f"{usd:.1e}"


class EmbeddingMeter:
    """An embedder that counts the tokens it sends to another, and stops before they cost more than `budget_usd`."""

    def __init__(self, embedder: Embedder, tariff: Tariff, budget_usd: float | None = None) -> None:
        """Raise InvalidRequest for a budget where the price is not known."""
        if budget_usd is not None and tariff.usd_per_million is None:
            message = f"cannot be kept: the price of {tariff.model} is not known"
            raise InvalidRequest("the budget", message, code="price_unknown")
        self.sent_tokens = 0
        self.space, self.dimensions = embedder.space, embedder.dimensions
        self._embedder, self._tariff, self._budget_usd = embedder, tariff, budget_usd

    async def embed_query(self, text: str) -> Vector:
        return await self._embedder.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        next_tokens = self._tariff.count_tokens(texts)
        self._check_budget(next_tokens)
        self.sent_tokens += next_tokens  # also of a call that then fails: it may have been billed
        return await self._embedder.embed_documents(texts)

    def _check_budget(self, next_tokens: int) -> None:
        spent, cost = self._tariff.price_usd(self.sent_tokens), self._tariff.price_usd(next_tokens)
        if None in (self._budget_usd, spent, cost):
            return
        left_usd = cast(float, self._budget_usd) - cast(float, spent)
        if cast(float, cost) > left_usd:
            expense = f"the next {next_tokens:,} tokens cost {format_usd(cast(float, cost))} USD"
            raise BudgetSpent(f"{expense}, of the budget {format_usd(left_usd)} are left")


@dataclass(frozen=True, slots=True)
class PlannedDocument:
    """The planned action for one document; `token_count` counts the tokens of its texts that are not embedded yet.

    `enrichment` is what its entities and summaries by a chat model cost at most; None where none is asked for them.
    """

    action: IndexingAction
    document: Document
    chunk_count: int
    token_count: int
    enrichment: EnrichmentEstimate | None = None


@dataclass(frozen=True, slots=True)
class LayoutEstimate:
    """The pages that would be sent to the layout service `reader`, at its price; a Word file counts as one."""

    reader: str
    pages: int
    usd: float


@dataclass(frozen=True, slots=True)
class IndexingPlan:
    """The result of a dry run: what indexing would do; `removed_count` counts documents purged and not replaced.

    A document of which only a layout service could read anything is not among `documents`: it is in `layout` alone.
    """

    documents: tuple[PlannedDocument, ...]
    removed_count: int
    tariff: Tariff
    layout: LayoutEstimate | None = None

    @property
    def action_counts(self) -> Mapping[IndexingAction | Literal["delete"], int]:
        counts = Counter(step.action for step in self.documents)
        return {"add": counts["add"], "update": counts["update"], "skip": counts["skip"], "delete": self.removed_count}

    @property
    def page_count(self) -> int:
        return sum(step.document.pages or 0 for step in self.documents)

    @property
    def chunk_count(self) -> int:
        return sum(step.chunk_count for step in self.documents)

    @property
    def token_count(self) -> int:
        return sum(step.token_count for step in self.documents)

    @property
    def enrichment(self) -> EnrichmentEstimate | None:
        """What entities and summaries of all documents cost at most, without the ceiling of each."""
        estimates = [step.enrichment for step in self.documents if step.enrichment]
        return sum(estimates[1:], estimates[0]) if estimates else None

    @property
    def usd(self) -> float | None:
        """What embedding and describing cost at most; None where a price is not known."""
        embedding = self.tariff.price_usd(self.token_count)
        described = self.enrichment.usd if self.enrichment else 0.0
        return None if embedding is None or described is None else embedding + described


class DryRun:
    """A dry run of indexing: index with its `kit` and nothing is written, embedded or billed; then call `build_plan`.

    Nothing is sent to a layout service that is paid by the page: what only it could read is refused, and says so.
    """

    def __init__(self, kit: Kit, tariff: Tariff, budget_usd: float | None = None) -> None:
        meter = EmbeddingMeter(_EmptyVectorEmbedder(kit.index.embedder), tariff, budget_usd)
        self._tariff, self._store, self._paid = tariff, _DryRunStore(kit, meter), kit.layout_reader
        self._priced = kit
        index = Index(cast(ChunkStore, self._store), meter)
        paid = self._paid
        reader = _UnpaidLayoutReader(paid.name, paid.usd_per_page, paid.kinds) if paid.usd_per_page else paid
        self.kit = replace(kit, layout_reader=reader, index=index, archive=NoArchive(), jobs=NoJobs(), enrichment=None)

    def take(self, source: T, run: Run) -> T | Upload:
        """Return what is to be indexed, without a budget for a chat model, which `kit` does not have.

        Where the kit that would index has none either, the run is told that the budget has no effect.
        """
        if not isinstance(source, Upload):
            return source
        warn_of_unpaid_enrichment(source, self._priced, run)
        return replace(source, enrichment_budget_usd=None)

    def build_plan(self, run: Run | None = None) -> IndexingPlan:
        """Return what indexing with `kit` so far would have done, and in `run` would have sent to a layout service."""
        pages = run.planned_layout_pages if run else 0
        layout = LayoutEstimate(self._paid.name, pages, pages * self._paid.usd_per_page) if pages else None
        return IndexingPlan(tuple(self._store.planned_documents), self._store.removed_count, self._tariff, layout)


def meter_embedding(kit: Kit, tariff: Tariff, budget_usd: float | None) -> Kit:
    """Return the kit with a metered embedder: a document that would exceed the budget raises BudgetSpent unwritten."""
    return replace(kit, index=replace(kit.index, embedder=EmbeddingMeter(kit.index.embedder, tariff, budget_usd)))


@dataclass(frozen=True, slots=True)
class _UnpaidLayoutReader:
    """Stands for a layout reader that is paid by the page, and reads nothing."""

    name: str
    usd_per_page: float
    kinds: frozenset[str]

    async def read(self, data: bytes, kind: str) -> Extraction:
        raise Unavailable(f"a plan sends nothing to {self.name}, which is paid by the page", code=NOT_PLANNED)

    async def close(self) -> None:
        """Do nothing: no resource is open."""


class _EmptyVectorEmbedder:
    """An embedder whose vectors are all empty."""

    def __init__(self, embedder: Embedder) -> None:
        self.space, self.dimensions = embedder.space, embedder.dimensions

    async def embed_query(self, text: str) -> Vector:
        return ()

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [() for _ in texts]


class _DryRunStore:
    """The part of a chunk store that indexing uses; writes are only recorded as a plan."""

    def __init__(self, kit: Kit, meter: EmbeddingMeter) -> None:
        self.planned_documents: list[PlannedDocument] = []
        self._kit, self._store, self._meter = kit, kit.index.store, meter
        self._attributed_tokens = 0
        self._planned_vectors: dict[str, Mapping[str, Vector]] = {}  # of changed documents

    @property
    def removed_count(self) -> int:
        return len(self._planned_vectors.keys() - {step.document.id for step in self.planned_documents})

    async def load_embedding_space(self) -> str:
        return await self._store.load_embedding_space()

    async def count_facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        return await self._store.count_facets(fields, scope, filters=filters, limit=limit)

    async def list_documents(self, scope: Scope, *, source_prefix: str = "") -> Sequence[Document]:
        return await self._store.list_documents(scope, source_prefix=source_prefix)

    async def load_vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        return (
            self._planned_vectors[document_id]
            if document_id in self._planned_vectors
            else await self._store.load_vectors(document_id, scope)
        )

    async def is_embedded(self, document: Document, chunks: Sequence[Chunk], scope: Scope) -> bool:
        return document.id not in self._planned_vectors and await self._store.is_embedded(document, chunks, scope)

    async def purge(self, document_id: str, scope: Scope) -> bool:
        self._planned_vectors[document_id] = {}
        return True

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> ReplacementResult:
        tokens, self._attributed_tokens = self._meter.sent_tokens - self._attributed_tokens, self._meter.sent_tokens
        hashes = [chunk.content_hash for chunk in chunks]
        stored_hashes = await self._load_chunk_hashes(document.id, scope)
        stored = await self._store.load_document(document.id, scope)
        action: IndexingAction = "add" if stored is None else "update"
        same_chunks = document.id not in self._planned_vectors and not tokens and hashes == stored_hashes
        if stored is not None and same_chunks and _select_compared_fields(stored) == _select_compared_fields(document):
            action = "skip"
        estimate = await estimate_document_enrichment(document, chunks, scope, self._kit)
        self.planned_documents.append(PlannedDocument(action, document, len(chunks), tokens, estimate))
        pairs = zip(hashes, vectors, strict=True)
        self._planned_vectors[document.id] = {
            content_hash: vector for content_hash, vector in pairs if vector is not None
        }
        unchanged = (Counter(hashes) & Counter(stored_hashes)).total()
        return ReplacementResult(len(hashes) - unchanged, unchanged, len(stored_hashes) - unchanged)

    async def _load_chunk_hashes(self, document_id: str, scope: Scope) -> list[str]:
        chunks = await self._store.select(replace(scope, document_ids=(document_id,)), limit=MAX_CHUNKS)
        return [chunk.content_hash for chunk in chunks]


def _select_compared_fields(document: Document) -> tuple[object, ...]:
    """Return the fields in which two versions of a document must agree for the document to be skipped."""
    return document.content_hash, document.title, document.source, dict(document.metadata)
