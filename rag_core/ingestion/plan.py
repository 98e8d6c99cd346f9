"""Before anything is paid for: what indexing would do and cost, found by the very code that then does it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from rag_core.core.errors import InvalidRequest, RagError
from rag_core.core.index import Index
from rag_core.core.kit import Kit, NoArchive, NoLayout
from rag_core.core.model import Chunk, Document, Scope, Vector
from rag_core.core.ports import ChunkStore, Embedder, Replaced
from rag_core.ingestion.indexing import MAX_CHUNKS
from rag_core.text.sentences import count_tokens

Action = Literal["add", "update", "skip"]


class BudgetSpent(RagError):
    """Who pays can put it right: what comes next would cost more than is left. What was done before stays."""

    code = "budget_spent"


@dataclass(frozen=True, slots=True)
class Tariff:
    """What embedding by `model` costs: every token that is sent, None where the price is not known.

    Each text is sent with `prefix` before it, and only its first `longest` tokens. Tokens are those of OpenAI's
    embedders (cl100k_base): another's own count differs.
    """

    model: str
    usd_per_million: float | None
    prefix: str = ""
    longest: int | None = None

    def tokens(self, texts: Sequence[str]) -> int:
        counts = (count_tokens(self.prefix + text, table="cl100k_base") for text in texts)
        return sum(counts if self.longest is None else (min(count, self.longest) for count in counts))

    def usd(self, tokens: int) -> float | None:
        return None if self.usd_per_million is None else tokens * self.usd_per_million / 1_000_000


def dollars(usd: float) -> str:
    """An amount to the millionth; a smaller one is not shown as nothing."""
    return f"{usd:.6f}" if not usd or usd >= 1e-5 else f"{usd:.1e}"


class Meter:
    """An embedder that counts what is sent to another, and stops before it would cost more than `budget_usd`."""

    def __init__(self, embedder: Embedder, tariff: Tariff, budget_usd: float | None = None) -> None:
        """Raises InvalidRequest for a budget where the price is not known."""
        if budget_usd is not None and tariff.usd_per_million is None:
            what = f"cannot be kept: the price of {tariff.model} is not known"
            raise InvalidRequest("the budget", what, code="price_unknown")
        self.tokens = 0
        self.space, self.dimensions = embedder.space, embedder.dimensions
        self._embedder, self._tariff, self._budget_usd = embedder, tariff, budget_usd

    async def embed_query(self, text: str) -> Vector:
        return await self._embedder.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        more = self._tariff.tokens(texts)
        self._afford(more)
        self.tokens += more  # also of a call that then fails: it may have been paid for
        return await self._embedder.embed_documents(texts)

    def _afford(self, more: int) -> None:
        spent, cost = self._tariff.usd(self.tokens), self._tariff.usd(more)
        if None in (self._budget_usd, spent, cost):
            return
        left = cast(float, self._budget_usd) - cast(float, spent)
        if cast(float, cost) > left:
            what = f"the next {more:,} tokens cost {dollars(cast(float, cost))} USD"
            raise BudgetSpent(f"{what}, of the budget {dollars(left)} are left")


@dataclass(frozen=True, slots=True)
class Step:
    """What would become of a document. `tokens` are those of its texts that are not embedded yet."""

    action: Action
    document: Document
    chunks: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What indexing would do. `removed` are documents that nothing takes the place of."""

    steps: tuple[Step, ...]
    removed: int
    tariff: Tariff

    @property
    def counts(self) -> Mapping[Action | Literal["delete"], int]:
        done = Counter(step.action for step in self.steps)
        return {"add": done["add"], "update": done["update"], "skip": done["skip"], "delete": self.removed}

    @property
    def pages(self) -> int:
        return sum(step.document.pages or 0 for step in self.steps)

    @property
    def chunks(self) -> int:
        return sum(step.chunks for step in self.steps)

    @property
    def tokens(self) -> int:
        return sum(step.tokens for step in self.steps)


class Rehearsal:
    """Index with `kit`, and nothing is written, embedded or paid for: `plan` then says what would have been.

    Files are read by the local parsers, for the layout service is paid by the page.
    """

    def __init__(self, kit: Kit, tariff: Tariff, budget_usd: float | None = None) -> None:
        meter = Meter(_Blank(kit.index.embedder), tariff, budget_usd)
        self._tariff, self._notes = tariff, _Notes(kit.index.store, meter)
        index = Index(cast(ChunkStore, self._notes), meter)
        self.kit = replace(kit, layout=NoLayout(), index=index, archive=NoArchive())

    def plan(self) -> Plan:
        return Plan(tuple(self._notes.steps), self._notes.removed, self._tariff)


def metered(kit: Kit, tariff: Tariff, budget_usd: float | None) -> Kit:
    """The parts, of which the embedder keeps to the budget: a document that it has no money for is not begun."""
    return replace(kit, index=replace(kit.index, embedder=Meter(kit.index.embedder, tariff, budget_usd)))


class _Blank:
    """An embedder whose vectors are empty."""

    def __init__(self, embedder: Embedder) -> None:
        self.space, self.dimensions = embedder.space, embedder.dimensions

    async def embed_query(self, text: str) -> Vector:
        return ()

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [() for _ in texts]


class _Notes:
    """As much of a store as indexing asks for. What it should write it only writes down."""

    def __init__(self, store: ChunkStore, meter: Meter) -> None:
        self.steps: list[Step] = []
        self._store, self._meter = store, meter
        self._told = 0
        self._now: dict[str, Mapping[str, Vector]] = {}  # the vectors of what would have changed

    @property
    def removed(self) -> int:
        return len(self._now.keys() - {step.document.id for step in self.steps})

    async def space(self) -> str:
        return await self._store.space()

    async def documents(self, scope: Scope) -> Sequence[Document]:
        return await self._store.documents(scope)

    async def vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        return self._now[document_id] if document_id in self._now else await self._store.vectors(document_id, scope)

    async def purge(self, document_id: str, scope: Scope) -> bool:
        self._now[document_id] = {}
        return True

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> Replaced:
        tokens, self._told = self._meter.tokens - self._told, self._meter.tokens
        hashes = [chunk.content_hash for chunk in chunks]
        before, known = await self._hashes(document.id, scope), await self._store.document(document.id, scope)
        action: Action = "add" if known is None else "update"
        kept_as_is = document.id not in self._now and not tokens and hashes == before
        if known is not None and kept_as_is and _facts(known) == _facts(document):
            action = "skip"
        self.steps.append(Step(action, document, len(chunks), tokens))
        made = zip(hashes, vectors, strict=True)
        self._now[document.id] = {hash: vector for hash, vector in made if vector is not None}
        kept = (Counter(hashes) & Counter(before)).total()
        return Replaced(len(hashes) - kept, kept, len(before) - kept)

    async def _hashes(self, document_id: str, scope: Scope) -> list[str]:
        there = await self._store.select(replace(scope, document_ids=(document_id,)), limit=MAX_CHUNKS)
        return [chunk.content_hash for chunk in there]


def _facts(document: Document) -> tuple[object, ...]:
    return document.content_hash, document.title, document.source, dict(document.metadata)
