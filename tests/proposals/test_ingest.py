"""Proposals into a real index: what is written, what a second run costs, what clearing leaves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Scope, Vector
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import build_chunk_id, index_document
from rag_core.ingestion.upload import Upload
from rag_core.proposals.ingest import PROPOSAL_LIMITS, IngestionReport, ingest_proposals
from tests.fakes import ConceptEmbedder, filled, kit
from tests.proposal_records import AIP, RECORDS, SMALL

DAO = Scope("dao")


class CountingEmbedder(ConceptEmbedder):
    """Remembers which texts came as documents and which as questions; from the `fails`th document on, it is down."""

    def __init__(self, fails: int = 1000) -> None:
        super().__init__()
        self.documents: list[str] = []
        self.fails = fails

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.documents += texts
        if len(self.documents) >= self.fails:
            raise Unavailable("down")
        return [await super(CountingEmbedder, self).embed_query(text) for text in texts]


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


@pytest.fixture
async def parts(embedder: CountingEmbedder) -> Kit:
    return kit(await filled(embedder=embedder))


async def chunks(parts: Kit, **metadata: str) -> Sequence[Chunk]:
    found = await parts.index.store.select(DAO, limit=1000)
    return [c for c in found if all(c.metadata.get(name) == value for name, value in metadata.items())]


async def ingested(records: Any, parts: Kit, **how: bool) -> IngestionReport:
    return await ingest_proposals(records, DAO, parts, Run(), **how)


async def test_each_stage_is_a_document_whose_chunks_have_keys_of_their_own(parts: Kit) -> None:
    """S2-06, S2-13, S2-14, S2-15, C19: ids follow from PROPOSAL:STAGE:INDEX, and the text is the same (S2-16)."""
    done = await ingested(RECORDS, parts)
    assert (done.proposals, done.documents, done.failed) == (2, 4, [])
    documents = {document.id: document for document in await parts.index.store.list_documents(DAO)}
    assert set(documents) == {"aip-7:forum", "aip-7:snapshot", "aip-7:tally", "aip-8:forum"}
    assert documents["aip-7:tally"].user_id is None
    for stage in ("forum", "snapshot", "tally"):
        [chunk] = await chunks(parts, proposal_id="aip-7", stage=stage)
        assert (chunk.document_id, chunk.ordinal) == (f"aip-7:{stage}", 0)
        assert chunk.id == build_chunk_id("dao", f"aip-7:{stage}", 0)
        assert {"status", "url", "source_id"} <= set(chunk.metadata)
    assert len({chunk.content_hash for chunk in await chunks(parts, proposal_id="aip-7")}) == 1


async def test_a_text_is_embedded_once_however_many_stages_have_it(parts: Kit, embedder: CountingEmbedder) -> None:
    """S2-08, S2-16: and as a document, not as a question."""
    await ingested(RECORDS, parts)
    assert len(embedder.documents) == len(set(embedder.documents)) == 2
    await parts.index.embed_queries(["gearbox"])
    assert len(embedder.documents) == 2


async def test_what_did_not_change_is_not_embedded_again(parts: Kit, embedder: CountingEmbedder) -> None:
    """S2-17, S2-19: the second run is free, and nothing stands twice."""
    first = await ingested(RECORDS, parts)
    before = await chunks(parts)
    second = await ingested(RECORDS, parts)
    assert (first.embedded, second.embedded, second.unchanged, second.removed) == (2, 0, second.chunks, 0)
    assert len(embedder.documents) == 2
    assert await chunks(parts) == before


async def test_an_update_shows_after_the_next_ingestion_and_not_before(parts: Kit) -> None:
    """S2-02, S2-09, S2-18, S2-19, S2-23: importers refresh the records, then ingestion the index."""
    await ingested(RECORDS, parts)
    refreshed = {**SMALL, "body": "The engine misfire threshold falls to 4 %.", "updated_at": "2024-03-01"}
    assert "3 %" in (await chunks(parts, proposal_id="aip-8"))[0].content
    await ingested([AIP, refreshed], parts)
    [now] = await chunks(parts, proposal_id="aip-8")
    assert "4 %" in now.content
    assert "Updated: 2024-03-01" in now.content


async def test_a_new_status_is_stored_though_the_text_is_the_same(parts: Kit, embedder: CountingEmbedder) -> None:
    """S2-17, S2-22: metadata alone costs no embedding."""
    stage = AIP["forum"] | {"status": "in dispute"}
    await ingested([{**AIP, "forum": stage}], parts)
    await ingested([{**AIP, "forum": {**stage, "status": ""}}], parts)
    assert len(embedder.documents) == 1
    assert [c.metadata["status"] for c in await chunks(parts, stage="forum")] == ["unknown"]


async def test_a_document_that_shrinks_leaves_nothing_of_its_tail(parts: Kit) -> None:
    """C20, S2-19."""
    await ingested([{**SMALL, "body": "The misfire is real. " * 400}], parts)
    assert len(await chunks(parts)) > 1
    done = await ingested([SMALL], parts)
    assert done.removed > 0
    assert [chunk.ordinal for chunk in await chunks(parts)] == [0]


async def test_clearing_removes_the_proposals_and_nothing_else(parts: Kit) -> None:
    """S2-20."""
    notes = Upload(content="Notes on the gearbox.", document_id="notes")
    await index_document(notes, DAO, parts, Run(), chunking=Chunking(), limits=PROPOSAL_LIMITS)
    await ingested(RECORDS, parts)
    done = await ingested([SMALL], parts, clear=True)
    assert (done.cleared, done.documents) == (4, 1)
    assert {d.id for d in await parts.index.store.list_documents(DAO)} == {"notes", "aip-8:forum"}
    assert not await parts.index.store.list_deleted(DAO)


async def test_without_bodies_only_what_describes_a_proposal_is_indexed(parts: Kit) -> None:
    """S2-10, S2-60, C21."""
    await ingested([AIP], parts, include_bodies=False)
    [chunk] = await chunks(parts, stage="forum")
    assert "audited" not in chunk.content
    assert "Snapshot options: For: 1,200.5 (80 %)" in chunk.content


async def test_a_record_that_cannot_be_read_is_named_and_the_others_are_indexed(parts: Kit) -> None:
    done = await ingested([{"id": "a:b", "title": "?"}, {**SMALL, "id": "x", "forum": None}, SMALL], parts)
    assert (done.proposals, done.documents, done.skipped) == (3, 1, ["x"])
    [failure] = done.failed
    assert failure.startswith("record 1: id of a proposal must be")


async def test_an_ingestion_that_broke_off_goes_on_where_it_stopped(embedder: CountingEmbedder) -> None:
    """S2-17: what is in stays in, and is not paid for again."""
    failing = CountingEmbedder(fails=2)
    parts = kit(await filled(embedder=failing))
    with pytest.raises(Unavailable):
        await ingested([SMALL, AIP], parts)
    assert {d.id for d in await parts.index.store.list_documents(DAO)} == {"aip-8:forum"}
    again = replace(parts, index=replace(parts.index, embedder=embedder))
    done = await ingested([SMALL, AIP], again)
    assert (done.documents, len(embedder.documents)) == (4, 1)


async def test_a_remark_on_a_record_is_a_warning_of_the_run(parts: Kit) -> None:
    """S2-22."""
    run = Run()
    await ingest_proposals(RECORDS, DAO, parts, run)
    assert [warning.message for warning in run.warnings] == ["aip-8: the forum status “in dispute” is not known"]
