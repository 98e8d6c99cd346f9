"""Ingestion of proposals, started by hand and repeatable: only new or changed texts are embedded (S2-09)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rag_core.core.errors import InvalidRequest, TooLarge
from rag_core.core.index import Index
from rag_core.core.kit import Kit, NoArchive
from rag_core.core.model import IndexingResult, Scope, Vector
from rag_core.core.ports import Embedder
from rag_core.core.run import Run
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.plan import BudgetSpent
from rag_core.ingestion.upload import UploadLimits
from rag_core.proposals.documents import build_stage_uploads
from rag_core.proposals.records import Proposal, ProposalRecord, parse_proposal

PROPOSAL_LIMITS = UploadLimits(max_upload_bytes=25 * 1024**2, parse_timeout_s=30.0)  # for the text of one proposal


@dataclass(slots=True)
class IngestionReport:
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

    def add_result(self, result: IndexingResult) -> None:
        """Add the counts of one indexed document."""
        self.documents += 1
        self.chunks += result.chunks
        self.unchanged += result.unchanged
        self.removed += result.removed
        self.failed += [f"{result.document_id}: chunk {chunk} was not indexed" for chunk in result.failed]


async def ingest_proposals(
    records: Iterable[ProposalRecord],
    scope: Scope,
    kit: Kit,
    run: Run,
    *,
    include_bodies: bool = True,
    clear: bool = False,
) -> IngestionReport:
    """Index proposals, one document per stage, each replacing its earlier version.

    Unchanged texts are not embedded again. Proposals that the records no longer contain stay, unless `clear` purges
    all first. An interrupted ingestion can be repeated and continues where it stopped.

    Raises:
        Unavailable, StorageFull, Conflict: the index did not accept a document; those before it are indexed.
    """
    report = IngestionReport()
    if clear:
        report.cleared = await run.step("clear", _purge_proposals(kit.index, scope))
    for number, record in enumerate(records, start=1):
        report.proposals += 1
        try:
            await _ingest_proposal(
                parse_proposal(record), scope, kit, run, include_bodies=include_bodies, report=report
            )
        except (InvalidRequest, TooLarge) as error:
            report.failed.append(f"record {number}: {error.message}")
        except BudgetSpent as error:
            report.stopped = f"record {number}: {error.message}"
            break
    return report


async def _ingest_proposal(
    proposal: Proposal, scope: Scope, kit: Kit, run: Run, *, include_bodies: bool, report: IngestionReport
) -> None:
    if not proposal.stages:
        report.skipped.append(proposal.id)
    for remark in (remark for stage in proposal.stages for remark in stage.remarks):
        run.warn("proposal", f"{proposal.id}: {remark}")
    embedder = _MemoizingEmbedder(kit.index.embedder, {})
    # records are not files, so no originals are kept
    memoizing_kit = replace(kit, index=replace(kit.index, embedder=embedder), archive=NoArchive())
    for upload, chunking in build_stage_uploads(proposal, scope.workflow_id, include_bodies=include_bodies):
        report.add_result(
            await index_document(upload, scope, memoizing_kit, run, chunking=chunking, limits=PROPOSAL_LIMITS)
        )
    report.embedded += len(embedder.vectors_by_text)


async def _purge_proposals(index: Index, scope: Scope) -> int:
    """Purge the proposals of the scope, and no other documents, and return how many there were (S2-20)."""
    documents = await index.store.list_documents(scope)
    proposal_ids = [document.id for document in documents if "proposal_id" in document.metadata]
    return sum([await index.store.purge(id, scope) for id in proposal_ids])


@dataclass(frozen=True, slots=True)
class _MemoizingEmbedder:
    """An embedder that embeds each text once, however many stages share it."""

    embedder: Embedder
    vectors_by_text: dict[str, Vector]

    @property
    def space(self) -> str:
        return self.embedder.space

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    async def embed_query(self, text: str) -> Vector:
        return await self.embedder.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        new_texts = [text for text in texts if text not in self.vectors_by_text]
        vectors = await self.embedder.embed_documents(new_texts) if new_texts else []
        self.vectors_by_text.update(zip(new_texts, vectors, strict=True))
        return [self.vectors_by_text[text] for text in texts]
