"""A proposal's documents: the text, the header, the metadata."""

from itertools import pairwise

from rag_core.ingestion.chunking import split_into_chunks
from rag_core.ingestion.extract import extraction_from_blocks
from rag_core.proposals.documents import build_proposal_content, build_proposal_header, build_stage_uploads
from rag_core.proposals.records import parse_proposal
from rag_core.text.tokens import count_tokens
from tests.functions.test_cold_start import loaded_by
from tests.proposal_records import AIP

HEADER = """Title: Fund the gearbox audit
Source: dao
Tags: Treasury, forum, snapshot, tally
Updated: 2024-01-15

Content:
"""
FACTS = """- Author: Ann
- Category: Treasury
- Created: 2024-01-05 10:00 UTC

- Forum status: active
- Forum posts: 12
- Forum URL: https://forum.example/t/21001

- Snapshot status: closed
- Snapshot voting begins: 2024-01-08
- Snapshot deadline: 2024-01-15 14:00 UTC
- Snapshot options: For: 1,200.5 (80 %); Against: 299.5 (20 %)
- Snapshot URL: https://snapshot.example/#/dao/proposal/0xabc

- Tally status: executed
- Tally deadline: 2024-02-01
- Tally options: for: 900 (90 %); against: 100 (10 %)
- Tally URL: https://tally.example/9000"""


def test_the_text_has_every_field_of_the_proposal_and_its_stages() -> None:
    """S2-04, S2-10, S2-12, S2-21: this is the whole document without bodies."""
    assert (
        build_proposal_header(parse_proposal(AIP), "dao")
        + build_proposal_content(parse_proposal(AIP), include_bodies=False)
        == HEADER + FACTS
    )


def test_a_path_is_in_the_header_when_there_is_one() -> None:
    """S2-04."""
    lines = build_proposal_header(parse_proposal({**AIP, "path": "treasury/audits"}), "dao").split("\n")
    assert lines[1:3] == ["Source: dao", "Path: treasury/audits"]


def test_bodies_come_in_when_they_are_wanted() -> None:
    """S2-10, C21: the proposal's own, the forum's with its comments, and the vote's."""
    text = build_proposal_content(parse_proposal(AIP), include_bodies=True)
    for said in ("Costs are 40,000 ARB.", "An engine misfire", "Bob wrote: The brake budget", "Should the caliper"):
        assert said in text
        assert said not in FACTS


def test_there_is_a_document_a_stage_with_the_same_text_and_its_own_metadata() -> None:
    """S2-13, S2-14, S2-15, S2-16."""
    found = list(build_stage_uploads(parse_proposal(AIP), "dao", include_bodies=True))
    uploads = [upload for upload, _ in found]
    assert [upload.document_id for upload in uploads] == ["aip-7:forum", "aip-7:snapshot", "aip-7:tally"]
    assert all((u.blocks, u.title) == (uploads[0].blocks, uploads[0].title) for u in uploads)
    assert uploads[1].metadata == {
        "proposal_id": "aip-7",
        "stage": "snapshot",
        "status": "closed",
        "url": "https://snapshot.example/#/dao/proposal/0xabc",
        "source_id": "0xabc",
        "category": "Treasury",
        "created": "2024-01-05 10:00 UTC",
    }


def test_the_header_stands_above_every_chunk_and_the_lines_are_those_of_the_document() -> None:
    """S2-05, S2-07, S2-48, S2-62: 512 tokens with the header, 50 repeated."""
    sentences = [f"Sentence number {n} of the motivation is about gearbox {n}." for n in range(120)]
    body = "\n\n".join(" ".join(sentences[n : n + 6]) for n in range(0, 120, 6))
    upload, chunking = next(build_stage_uploads(parse_proposal({**AIP, "body": body}), "dao", include_bodies=True))
    assert (chunking.chunk_size, chunking.overlap) == (512, 50)
    pieces = list(split_into_chunks(extraction_from_blocks(upload.blocks or ()).blocks, chunking))
    whole = (HEADER + build_proposal_content(parse_proposal({**AIP, "body": body}), include_bodies=True)).split("\n")
    assert len(pieces) > 3
    for piece in pieces:
        assert piece.content.startswith(HEADER)
        assert count_tokens(piece.content) <= 512
        for span in piece.spans:
            place = "\n".join(whole[span.line_start - 1 : span.line_end])
            assert piece.content[span.start : span.end] in place
    repeated = [a.content.removeprefix(HEADER)[-60:] in b.content for a, b in pairwise(pieces)]
    assert any(repeated)


def test_a_header_longer_than_a_chunk_leaves_room_for_text() -> None:
    upload, chunking = next(
        build_stage_uploads(parse_proposal({**AIP, "title": "界" * 5000}), "dao", include_bodies=True)
    )
    assert len(upload.title or "") == 200
    assert list(split_into_chunks(upload.blocks or (), chunking))


def test_documents_are_built_without_a_store_a_model_or_a_database() -> None:
    """S2-61: builder, records, ingestion and retrieval stand apart."""
    loaded = loaded_by("import rag_core.proposals.documents")
    assert "rag_core.proposals.records" in loaded
    apart = (
        "rag_core.stores",
        "rag_core.providers",
        "rag_core.proposals.ingest",
        "rag_core.proposals.answering",
        "psycopg",
    )
    assert [module for module in loaded if module.startswith(apart)] == []
