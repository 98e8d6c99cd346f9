"""A document is known by its name, replaced whole, and embedded only where it changed."""

import asyncio
import csv
import gzip
import io
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import pytest

from rag_core.core.errors import Conflict, InvalidRequest, NotFound, RagError, TooLarge, Unavailable, UnreadableDocument
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Block, Chunk, Filter, IndexingResult, Scope, Span, Vector
from rag_core.core.ports import LLM
from rag_core.core.run import Run
from rag_core.ingestion import indexing
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.providers.null_models import NoEmbedder, NoReranker
from rag_core.stores.embedded import EmbeddedStore

EXAMPLES = Path(__file__).parents[2] / "examples"
DTC = Path(__file__).parents[1] / "data" / "dtc" / "dtc_codes.csv.gz"
HERE = Scope("here")
LIMITS = UploadLimits(10_000_000, 30)


@dataclass
class Counting:
    """An embedder that remembers what it was given, and fails when told to."""

    space: str = "counting"
    dimensions: int = 2
    given: list[str] = field(default_factory=list)
    broken: bool = False

    async def embed_query(self, text: str) -> Vector:
        return (await self.embed_documents([text]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        if self.broken:
            raise Unavailable("no answer")
        self.given += texts
        return [(0.6, 0.8) for _ in texts]


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    reason = "none is configured"
    store = EmbeddedStore(None)
    llm: LLM = None  # type: ignore[assignment] # indexing asks no chat model
    yield Kit(index=Index(store, Counting()), llm=llm, reranker=NoReranker(reason))
    await store.close()


def deaf(kit: Kit) -> Kit:
    return replace(kit, index=replace(kit.index, embedder=NoEmbedder("none is configured")))


async def put(
    kit: Kit, upload: Upload, scope: Scope = HERE, *, run: Run | None = None, **numbers: object
) -> IndexingResult:
    chunking = Chunking(**numbers)  # type: ignore[arg-type]
    return await index_document(upload, scope, kit, run or Run(), chunking=chunking, limits=LIMITS)


async def chunks_of(kit: Kit, document_id: str, scope: Scope = HERE) -> Sequence[Chunk]:
    return await kit.index.store.select(replace(scope, document_ids=(document_id,)), limit=10_000)


async def test_a_chunk_carries_all_that_the_index_holds(kit: Kit) -> None:
    """S1-22, S1-24, S1-25, S1-26, S1-28, S1-29, S1-30, S1-31, S1-32: extracted, cut, enriched and stored."""
    data = (EXAMPLES / "tcm-diagnostic-manual.pdf").read_bytes()
    indexed = await put(kit, Upload(data=data, filename="docs/manual.pdf", title="Manual", metadata={"year": 2026}))
    assert (indexed.chunks, indexed.embedded, indexed.pages, indexed.extractor) == (6, 6, 6, "pdf (pdfium), reading 4")
    chunks = await chunks_of(kit, indexed.document_id)
    assert [chunk.page for chunk in chunks] == [1, 2, 3, 4, 5, 6]
    assert len({chunk.id for chunk in chunks}) == 6
    second = chunks[1]
    assert "P0700 names no faulty part." in second.content
    assert (second.title, second.source, second.metadata["year"]) == ("Manual", "manual.pdf", 2026)
    assert ("dtc", "P0700") in {(entity.type, entity.value) for entity in second.entities}
    assert second.summary.endswith(".")
    assert second.content_hash == sha256(second.content.encode()).hexdigest()
    document = await kit.index.store.load_document(indexed.document_id, HERE)
    assert document is not None
    assert document.workflow_id == "here"
    assert document.summary.startswith("This manual describes how to find the cause of a fault")


async def test_a_vector_is_stored_beside_every_chunk(kit: Kit) -> None:
    """S1-23, S1-27: vectors and metadata in one index."""
    indexed = await put(kit, Upload(content="One.\n\nTwo."), strategy="blocks")
    chunks = await chunks_of(kit, indexed.document_id)
    assert set(await kit.index.store.load_vectors(indexed.document_id, HERE)) == {c.content_hash for c in chunks}


async def test_entity_codes_are_facets(kit: Kit) -> None:
    """S1-33: a facetable list of all entities."""
    await put(kit, Upload(content="P0700 is set by the transmission control module (TCM)."))
    (codes,) = await kit.index.store.count_facets(["entity_codes"], HERE, limit=10)
    assert {bucket.value for bucket in codes.buckets} >= {"P0700", "TCM"}


async def test_the_same_document_twice_is_one_and_nothing_is_embedded_again(kit: Kit) -> None:
    """S1-24, S1-57, C35: no copy, no work, and what was cited is still called the same."""
    upload = Upload(data=(EXAMPLES / "workshop-notes.txt").read_bytes(), filename="notes.txt")
    first = await put(kit, upload)
    cited = [chunk.id for chunk in await chunks_of(kit, first.document_id)]
    second = await put(kit, upload)
    assert first.document_id == second.document_id
    assert [chunk.id for chunk in await chunks_of(kit, second.document_id)] == cited
    assert (second.embedded, second.unchanged, second.removed) == (0, first.chunks, 0)
    assert len(await kit.index.store.list_documents(HERE)) == 1


async def test_a_changed_document_embeds_what_changed_and_leaves_no_tail(kit: Kit) -> None:
    lines = [f"Paragraph {n} of the text." for n in range(9)]
    await put(kit, Upload(content="\n\n".join(lines), source="a"), strategy="blocks")
    lines[3] = "Another one."
    changed = await put(kit, Upload(content="\n\n".join(lines), source="a"), strategy="blocks")
    assert (changed.chunks, changed.embedded, changed.unchanged) == (9, 1, 8)
    shrunk = await put(kit, Upload(content=lines[0], source="a"), strategy="blocks")
    assert (shrunk.chunks, shrunk.embedded) == (1, 0)
    assert [chunk.content for chunk in await chunks_of(kit, shrunk.document_id)] == [lines[0]]


async def test_a_failed_re_index_leaves_the_old_version(kit: Kit) -> None:
    """C36: nothing is written when the embedder fails."""
    indexed = await put(kit, Upload(content="The old text.", source="a"))
    failing = replace(kit, index=replace(kit.index, embedder=Counting(broken=True)))
    with pytest.raises(Unavailable):
        await put(failing, Upload(content="The new text.", source="a"))
    assert [chunk.content for chunk in await chunks_of(kit, indexed.document_id)] == ["The old text."]


async def test_another_model_is_refused_before_it_embeds_anything(kit: Kit) -> None:
    """C52 (RELIABILITY)."""
    await put(kit, Upload(content="Some text."))
    other = Counting(space="other")
    with pytest.raises(Conflict) as refused:
        await put(replace(kit, index=replace(kit.index, embedder=other)), Upload(content="More text."))
    assert (refused.value.code, other.given) == ("reindex_required", [])


async def test_eight_uploads_of_one_document_at_once_are_one(kit: Kit) -> None:
    """C35: a race leaves one copy."""
    uploads = (put(kit, Upload(content="Same. " * 50, source="a")) for _ in range(8))
    assert len({indexed.document_id for indexed in await asyncio.gather(*uploads)}) == 1
    assert len(await kit.index.store.list_documents(HERE)) == 1


async def test_two_people_may_have_a_document_of_the_same_name(kit: Kit) -> None:
    """C20: one owner's file neither replaces nor reveals another's."""
    ann, bob = Scope("here", "ann", ("a",)), Scope("here", "bob", ("b",))
    hers = await put(kit, Upload(content="Hers.", source="notes.txt"), ann)
    his = await put(kit, Upload(content="His.", source="notes.txt"), bob)
    assert hers.document_id != his.document_id
    assert [chunk.content for chunk in await kit.index.store.select(ann, limit=9)] == ["Hers."]
    with pytest.raises(NotFound):
        await put(kit, Upload(content="Mine now.", document_id=hers.document_id), bob)


async def test_without_an_embedder_words_are_indexed_and_the_run_says_so(kit: Kit) -> None:
    run = Run()
    indexed = await put(deaf(kit), Upload(content="Words only."), run=run)
    assert (indexed.chunks, indexed.embedded) == (1, 0)
    assert [(note.code, note.fallback) for note in run.degraded] == [
        ("embedding_unavailable", "indexed for lexical search only")
    ]


async def test_semantic_chunks_are_made_by_the_embedder(kit: Kit) -> None:
    """S1-16, S1-50: the sentences are embedded; without an embedder their words are compared, and the run says so."""
    embedder = kit.index.embedder
    assert isinstance(embedder, Counting)
    await put(kit, Upload(content="One thing. Another thing. A third thing."), strategy="semantic")
    assert embedder.given[:3] == ["One thing.", "Another thing.", "A third thing."]
    run = Run()
    await put(deaf(kit), Upload(content="One thing. Another thing.", source="b"), run=run, strategy="semantic")
    assert "sentences were compared by their words" in {note.fallback for note in run.degraded}


async def test_fields_of_a_row_can_be_filtered_by(kit: Kit) -> None:
    """S1-20: the columns of a table are fields of its chunks."""
    await put(kit, Upload(data=(EXAMPLES / "trouble-codes.csv").read_bytes(), filename="codes.csv"))
    found = await kit.index.store.select(HERE, filters=[Filter("metadata.code", "eq", "P0700")], limit=9)
    assert {chunk.metadata["manufacturer"] for chunk in found} == {"GENERIC", "AUDI"}
    assert all("P0700" in {entity.value for entity in chunk.entities} for chunk in found)


async def test_facets_of_a_whole_data_set_agree_with_a_count(kit: Kit) -> None:
    """S1-10: how many unique trouble codes among 18,805 definitions, against a plain set."""
    data = gzip.decompress(DTC.read_bytes())
    codes = {row["code"] for row in csv.DictReader(io.StringIO(data.decode()))}
    indexed = await put(deaf(kit), Upload(data=data, filename="dtc.csv"))
    found, column = await kit.index.store.count_facets(["dtc", "metadata.code"], HERE, limit=20_000)
    assert (indexed.chunks, found.total, column.total) == (18_805, len(codes), len(codes))
    assert {bucket.value for bucket in found.buckets} == codes


async def test_blocks_keep_the_place_they_came_with(kit: Kit) -> None:
    """S3-05, S3-06, S3-07, S3-21: page from 1, x0 y0 x1 y1, and the lines as the parser numbered them."""
    box = (10.5, 20.25, 110.0, 40.0)
    block = Block("P0700 is stored.", "paragraph", 12, 14, 3, box, ("Faults",), page_label="iii")
    indexed = await put(kit, Upload(blocks=(block,)))
    (chunk,) = await chunks_of(kit, indexed.document_id)
    assert chunk.locate(0, 5) == Span(0, 5, 3, 12, 14, box, ("Faults",))
    assert (chunk.page, chunk.heading_path, indexed.pages) == (3, ("Faults",), 3)
    assert chunk.metadata["page_label"] == "iii"


async def test_each_block_is_embedded_and_stored_as_a_chunk(kit: Kit) -> None:
    """S3-19: one after the other, in one write."""
    blocks = tuple(Block(f"Block {n}.", "paragraph", n, n, 1 + n // 3) for n in range(1, 7))
    indexed = await put(kit, Upload(document_id="doc", blocks=blocks), strategy="blocks")
    chunks = await chunks_of(kit, "doc")
    assert [chunk.content for chunk in chunks] == [block.text for block in blocks]
    assert [(c.page, c.spans[0].line_start) for c in chunks] == [(b.page, b.line_start) for b in blocks]
    assert (indexed.chunks, indexed.embedded) == (6, 6)


async def test_a_box_a_line_is_stored_for_every_line(kit: Kit) -> None:
    """S3-06: what is quoted can be drawn line by line."""
    boxes = ((1.0, 2.0, 30.0, 4.0), (1.0, 5.0, 20.0, 7.0))
    await put(kit, Upload(document_id="doc", blocks=(Block("one\ntwo", "paragraph", 8, 9, 2, boxes=boxes),)))
    (chunk,) = await chunks_of(kit, "doc")
    assert chunk.locate_boxes(0, 7) == boxes
    assert chunk.locate(4, 7) == Span(4, 7, 2, 9, 9, boxes[1])


async def test_a_section_s_chunks_name_the_one_in_which_it_begins(kit: Kit) -> None:
    """S0-56, S0-89: `parent_id`, None at the top."""
    text = "# A\n\nText.\n\n## A1\n\nMore.\n\n# B\n\nLast.\n"
    indexed = await put(kit, Upload(content=text, source="a.md"), strategy="headings")
    a, a1, b = await chunks_of(kit, indexed.document_id)
    assert [chunk.parent_id for chunk in (a, a1, b)] == [None, a.id, None]
    assert [chunk.heading_path for chunk in (a, a1, b)] == [("A",), ("A", "A1"), ("B",)]


@pytest.mark.parametrize(
    ("title", "content", "source", "known_as"),
    [
        ("Given", "---\ntitle: Own\n---\n# Head", "file.md", "Given"),
        (None, "---\ntitle: Own\n---\n# Head", "file.md", "Own"),
        (None, "Text.\n\nHead #1\n===", "file.md", "Head #1"),
        (None, "Text.", "folder/file.md", "file"),
        (None, "Text.", "file", "file"),
    ],
)
async def test_a_document_is_known_by_the_best_title_there_is(
    kit: Kit, title: str | None, content: str, source: str, known_as: str
) -> None:
    """S1-28: the one given, its own, its first heading, its file's name."""
    indexed = await put(kit, Upload(content=content, source=source, title=title))
    document = await kit.index.store.load_document(indexed.document_id, HERE)
    assert document is not None
    assert document.title == known_as


async def test_a_name_is_never_a_path(kit: Kit) -> None:
    """C29: kept as a name only, without what cannot be seen."""
    indexed = await put(kit, Upload(data=b"Text.", filename="..\\..\\etc/\u202epasswd\x00.txt"))
    (chunk,) = await chunks_of(kit, indexed.document_id)
    assert (chunk.source, chunk.title) == ("passwd.txt", "passwd")


async def test_text_that_no_encoder_takes_is_cleaned(kit: Kit) -> None:
    """C04: halves of characters, zero width and NUL."""
    indexed = await put(kit, Upload(content="P07\u200b00\ud800 is\x00 set."))
    (chunk,) = await chunks_of(kit, indexed.document_id)
    assert chunk.content == "P0700 is set."


@pytest.mark.parametrize(
    "upload", [Upload(content="Seen\u202e."), Upload(blocks=(Block("Seen\u202e.", "paragraph", 1, 1),))]
)
async def test_hidden_characters_are_told_however_the_text_came(kit: Kit, upload: Upload) -> None:
    """C33: also where there was no file."""
    run = Run()
    await put(kit, upload, run=run)
    assert [warning.message for warning in run.warnings] == ["hidden text was left out: 1 characters"]


async def test_what_an_extractor_noticed_is_told(kit: Kit) -> None:
    """C33: hidden text is said to be there."""
    run = Run()
    data = (Path(__file__).parents[1] / "data" / "malformed" / "invisible_text.pdf").read_bytes()
    await put(kit, Upload(data=data, filename="a.pdf"), run=run)
    assert ["hidden text" in warning.message for warning in run.warnings] == [True]


@pytest.mark.parametrize(
    ("upload", "field"),
    [
        (Upload(), "content"),
        (Upload(content="a", data=b"b", filename="c.txt"), "content"),
        (Upload(data=b"b"), "filename"),
        (Upload(content="a", document_id="a b"), "document_id"),
        (Upload(content="a", document_id="a,b|c"), "document_id"),
        (Upload(content="a", document_id="x" * 129), "document_id"),
        (Upload(content="a", title="x" * 1025), "title"),
        (Upload(content="a", source="x" * 1025), "source"),
        (Upload(content="a", metadata={"": 1}), "metadata"),
        (Upload(content="a", metadata={"a": "x" * 300}), "metadata"),
        (Upload(content="a", metadata={"a": float("nan")}), "metadata"),
        (Upload(content="a", metadata={"a": [1]}), "metadata"),  # type: ignore[dict-item]
        (Upload(content="a", metadata={str(n): n for n in range(65)}), "metadata"),
        (Upload(blocks=(Block("a", "paragraph", 2, 1),)), "blocks"),
        (Upload(blocks=(Block("a\nb", "paragraph", 1, 2, boxes=((0, 0, 1, 1),)),)), "blocks"),
        (Upload(blocks=(Block("a", "paragraph", 1, 1, boxes=((2, 0, 1, 1),)),)), "blocks"),
        (Upload(blocks=(Block("a", "paragraph", 1, 1, bbox=(0, 3, 1, 1)),)), "blocks"),
        (Upload(blocks=(Block("a", "paragraph", 1, 1, bbox=(0, 0, float("inf"), 1)),)), "blocks"),
    ],
)
async def test_a_malformed_upload_is_refused_by_the_name_of_its_part(kit: Kit, upload: Upload, field: str) -> None:
    """S1-57, C16: what was wrong and what would be right."""
    with pytest.raises(InvalidRequest) as refused:
        await put(kit, upload)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("upload", "error"),
    [
        (Upload(content="x" * 10_000_001), TooLarge),
        (Upload(data=b"x" * 10_000_001, filename="a.txt"), TooLarge),
        (Upload(content=" \n"), UnreadableDocument),
        (Upload(blocks=()), UnreadableDocument),
    ],
)
async def test_too_much_and_nothing_are_refused(kit: Kit, upload: Upload, error: type[RagError]) -> None:
    with pytest.raises(error):
        await put(kit, upload)


async def test_a_document_of_too_many_chunks_is_refused_whole(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """C34: one over the cap is refused, the cap itself is not, nothing half-indexed."""
    monkeypatch.setattr(indexing, "MAX_CHUNKS", 3)
    with pytest.raises(TooLarge) as refused:
        await put(kit, Upload(content="a\n\nb\n\nc\n\nd"), strategy="blocks")
    assert refused.value.code == "too_many_chunks"
    assert not await kit.index.store.list_documents(HERE)
    assert (await put(kit, Upload(content="a\n\nb\n\nc"), strategy="blocks")).chunks == 3


async def test_no_two_workflows_share_an_id_of_a_chunk(kit: Kit) -> None:
    """Ids may hold the mark that would part them: "a:b" and "c" are not "a" and "b:c"."""
    for workflow, name in (("a:b", "c"), ("a", "b:c")):
        await put(kit, Upload(content="Some text.", document_id=name), Scope(workflow))
    [one], [other] = await chunks_of(kit, "c", Scope("a:b")), await chunks_of(kit, "b:c", Scope("a"))
    assert one.id != other.id


async def test_what_a_user_indexes_is_that_users_alone(kit: Kit) -> None:
    """C17: groups that the user happens to be in are not let in by it."""
    ada, bob = Scope("here", "ada", ("mechanics",)), Scope("here", "bob", ("mechanics",))
    await put(kit, Upload(content="Ada's notes."), ada)
    assert len(await kit.index.store.list_documents(ada)) == 1
    assert not await kit.index.store.list_documents(bob)


async def test_each_piece_of_a_long_row_has_the_entities_of_its_own_text(kit: Kit) -> None:
    """All pieces once had those of the whole row: a cell of a megabyte took hours."""
    cell = "P0700 is stored. " + "Nothing else is said here. " * 60 + "P0715 is stored."
    await put(
        kit,
        Upload(content=f'id,text\n1,"{cell}"\n', source="codes.csv", document_id="codes"),
        chunk_size=100,
        overlap=0,
    )
    pieces = await chunks_of(kit, "codes")
    codes = [[entity.value for entity in piece.entities if entity.type == "dtc"] for piece in pieces]
    assert len(pieces) > 2
    assert codes == [["P0700"], *[[]] * (len(pieces) - 2), ["P0715"]]
