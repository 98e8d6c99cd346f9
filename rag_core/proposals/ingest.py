"""Proposals into the index: by hand and not on a schedule (S2-09), as often as wanted, paying for what is new."""

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

LIMITS = Limits(max_upload_bytes=25 * 1024**2, parse_timeout_s=30.0)  # of one proposal's text


@dataclass(slots=True)
class Ingested:
    """Counts of what was done; `embedded` are texts, each of which several stages may have.

    `cleared` documents were removed before, `skipped` are proposals without a stage, and `failed` names each
    proposal or chunk that is not searchable, and why. `stopped` says why the rest was not begun.
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
        self.documents += 1
        self.chunks += done.chunks
        self.unchanged += done.unchanged
        self.removed += done.removed
        self.failed += [f"{done.document_id}: chunk {chunk} was not taken" for chunk in done.failed]


async def ingest(
    records: Iterable[Record], scope: Scope, kit: Kit, run: Run, *, bodies: bool = True, clear: bool = False
) -> Ingested:
    """Index these proposals, a document a stage, each in place of its earlier version.

    What did not change is not embedded again; what the records no longer have stays, unless it is cleared first. May
    be repeated at any time, also after it broke off: it goes on where it stopped.

    Raises:
        Unavailable, StorageFull, Conflict: the index could not take a document; those before it are in.
    """
    done = Ingested()
    if clear:
        done.cleared = await _cleared(kit.index, scope)
    for number, record in enumerate(records, start=1):
        done.proposals += 1
        try:
            await _one(read(record), scope, kit, run, bodies=bodies, done=done)
        except (InvalidRequest, TooLarge) as failure:
            done.failed.append(f"record {number}: {failure.message}")
        except BudgetSpent as spent:
            done.stopped = f"record {number}: {spent.message}"
            break
    return done


async def _one(proposal: Proposal, scope: Scope, kit: Kit, run: Run, *, bodies: bool, done: Ingested) -> None:
    if not proposal.stages:
        done.skipped.append(proposal.id)
    for remark in (remark for stage in proposal.stages for remark in stage.remarks):
        run.warn("proposal", f"{proposal.id}: {remark}")
    once = _Once(kit.index.embedder, {})
    frugal = replace(kit, index=replace(kit.index, embedder=once), archive=NoArchive())  # records are no files
    for upload, chunking in documents(proposal, scope.workflow_id, bodies=bodies):
        done.count(await index_document(upload, scope, frugal, run, chunking=chunking, limits=LIMITS))
    done.embedded += len(once.made)


async def _cleared(index: Index, scope: Scope) -> int:
    """Remove the proposals of the scope, and nothing else that is indexed there (S2-20)."""
    ingested = [d.id for d in await index.store.documents(scope) if "proposal_id" in d.metadata]
    return sum([await index.store.purge(id, scope) for id in ingested])


@dataclass(frozen=True, slots=True)
class _Once:
    """Embeds a text once, however many stages have it."""

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
        new = [text for text in texts if text not in self.made]
        vectors = await self.embedder.embed_documents(new) if new else []
        self.made.update(zip(new, vectors, strict=True))
        return [self.made[text] for text in texts]
