"""Ingestion of proposals, started by hand and repeatable: only new or changed texts are embedded (S2-09)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rag_core.core.errors import InvalidRequest, TooLarge
from rag_core.core.index import Index
from rag_core.core.kit import Kit, NoArchive
from rag_core.core.model import Indexed, Scope, Vector
from rag_core.core.ports import Embedder
from rag_core.core.run import Run
from rag_core.ingestion.indexing import Limits, index_document
from rag_core.ingestion.plan import BudgetSpent
from rag_core.proposals.documents import documents
from rag_core.proposals.records import Proposal, Record, read

LIMITS = Limits(max_upload_bytes=25 * 1024**2, parse_timeout_s=30.0)  # for the text of one proposal


@dataclass(slots=True)
class Ingested:
    """Counts of an ingestion, with the proposals that were skipped or failed.

    `embedded` counts distinct texts, each of which several stages may share. `cleared` documents were purged before
    the ingestion, `skipped` are proposals without a stage, and `failed` says which proposals or chunks are not
    searchable, and why. `stopped` says why the remaining proposals were not ingested.
    """

    proposals: int = 0
    documents: int = 0
    chunks: int = 0
    embedded: int = 0
    unchanged: int = 0
    removed: int = 0
    cleared: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    stopped: str = ""

    def count(self, done: Indexed) -> None:
        """Add the counts of one indexed document."""
        self.documents += 1
        self.chunks += done.chunks
        self.unchanged += done.unchanged
        self.removed += done.removed
        self.failed += [f"{done.document_id}: chunk {chunk} was not indexed" for chunk in done.failed]


async def ingest(
    records: Iterable[Record], scope: Scope, kit: Kit, run: Run, *, bodies: bool = True, clear: bool = False
) -> Ingested:
    """Index proposals, one document per stage, each replacing its earlier version.

    Unchanged texts are not embedded again. Proposals that the records no longer contain stay, unless `clear` purges
    all first. An interrupted ingestion can be repeated and continues where it stopped.

    Raises:
        Unavailable, StorageFull, Conflict: the index did not accept a document; those before it are indexed.
    """
    report = Ingested()
    if clear:
        report.cleared = await _cleared(kit.index, scope)
    for number, record in enumerate(records, start=1):
        report.proposals += 1
        try:
            await _one(read(record), scope, kit, run, bodies=bodies, done=report)
        except (InvalidRequest, TooLarge) as error:
            report.failed.append(f"record {number}: {error.message}")
        except BudgetSpent as error:
            report.stopped = f"record {number}: {error.message}"
            break
    return report


async def _one(proposal: Proposal, scope: Scope, kit: Kit, run: Run, *, bodies: bool, done: Ingested) -> None:
    if not proposal.stages:
        done.skipped.append(proposal.id)
    for remark in (remark for stage in proposal.stages for remark in stage.remarks):
        run.warn("proposal", f"{proposal.id}: {remark}")
    embedder = _Once(kit.index.embedder, {})
    # records are not files, so no originals are kept
    memoizing_kit = replace(kit, index=replace(kit.index, embedder=embedder), archive=NoArchive())
    for upload, chunking in documents(proposal, scope.workflow_id, bodies=bodies):
        done.count(await index_document(upload, scope, memoizing_kit, run, chunking=chunking, limits=LIMITS))
    done.embedded += len(embedder.made)


async def _cleared(index: Index, scope: Scope) -> int:
    """Purge the proposals of the scope, and no other documents, and return how many there were (S2-20)."""
    documents = await index.store.documents(scope)
    proposal_ids = [document.id for document in documents if "proposal_id" in document.metadata]
    return sum([await index.store.purge(id, scope) for id in proposal_ids])


@dataclass(frozen=True, slots=True)
class _Once:
    """An embedder that embeds each text once, however many stages share it."""

    embedder: Embedder
    made: dict[str, Vector]

    @property
    def space(self) -> str:
        return self.embedder.space

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    async def embed_query(self, text: str) -> Vector:
        return await self.embedder.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        new_texts = [text for text in texts if text not in self.made]
        vectors = await self.embedder.embed_documents(new_texts) if new_texts else []
        self.made.update(zip(new_texts, vectors, strict=True))
        return [self.made[text] for text in texts]
