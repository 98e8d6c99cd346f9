"""What is cited can be opened: the page as it was printed, the lines as they were written, to who may see them."""

import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rag_core.core.errors import NotFound, RagError, StorageFull, Unavailable, UnreadableDocument
from rag_core.core.index import Index
from rag_core.core.kit import Kit, NoArchive
from rag_core.core.model import Block, Box, Original, Scope
from rag_core.core.run import Run
from rag_core.ingestion import lifecycle, source_view
from rag_core.ingestion.chunking import Chunking
from rag_core.ingestion.indexing import index_document
from rag_core.ingestion.plan import DryRun, Tariff
from rag_core.ingestion.upload import Upload, UploadLimits
from rag_core.jobs.indexer import Indexer, IndexingPolicy, run_due_jobs
from rag_core.jobs.sqlite_jobs import SqliteJobs
from rag_core.stores.archive import ArchiveDatabase, SqlArchive
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import ConceptEmbedder
from tests.fakes import kit as parts
from tests.ingestion.pdf_files import lines, pdf

EXAMPLES = Path(__file__).parents[2] / "examples"
MALFORMED = Path(__file__).parents[1] / "data" / "malformed"
LIMITS = UploadLimits(max_upload_bytes=25 * 1024**2, parse_timeout_s=20)
ANN, BOB, NOBODY, SOUTH = Scope("north", "ann"), Scope("north", "bob"), Scope("north"), Scope("south", "ann")
MANUAL = (EXAMPLES / "tcm-diagnostic-manual.pdf").read_bytes()
NOTES = "# Valves\r\n\r\nThe relief valve\r\nopens at 7 bar.\r\n"


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    made = replace(parts(Index(EmbeddedStore(None), ConceptEmbedder())), archive=SqlArchive(ArchiveDatabase(None)))
    yield made
    await made.close()


async def indexed(kit: Kit, scope: Scope = ANN, **upload: Any) -> Run:
    run = Run()
    named = {"document_id": "d1", **upload}
    await index_document(Upload(**named), scope, kit, run, chunking=Chunking(), limits=LIMITS)
    return run


async def view(kit: Kit, scope: Scope = ANN, **asked: Any) -> source_view.DocumentView:
    return await source_view.view_document("d1", scope, kit, Run(), LIMITS, **asked)


async def page(kit: Kit, number: int = 1, scope: Scope = ANN) -> Any:
    return await source_view.view_page("d1", number, scope, kit, Run(), LIMITS)


async def refused(kit: Kit, number: int = 1, scope: Scope = ANN) -> str:
    with pytest.raises(RagError) as failure:
        await page(kit, number, scope)
    return failure.value.code


def darkest(image: Image.Image, box: Box) -> float:
    x0, y0, x1, y1 = (2 * at for at in box)
    return float(image.crop((int(x0), int(y0), int(x1), int(y1))).getextrema()[0])  # type: ignore[arg-type]


async def test_the_cited_box_lies_on_the_words_of_the_page_that_is_drawn(kit: Kit) -> None:
    """S0-93: what the index says of a place holds on the picture."""
    await indexed(kit, data=MANUAL, filename="manual.pdf")
    seen, drawn = await view(kit), await page(kit, 2)
    assert (seen.original_kind, seen.lines, drawn.pages, drawn.page) == ("pdf", None, 6, 2)
    image = Image.open(BytesIO(drawn.png)).convert("L")
    assert image.size == pytest.approx((2 * drawn.width, 2 * drawn.height), abs=1)
    boxes = [box for chunk in seen.chunks if chunk.page == 2 for box in chunk.locate_boxes(0, len(chunk.content))]
    assert boxes
    assert all(darkest(image, box) < 128 for box in boxes)


async def test_the_cited_lines_are_those_of_the_text_as_it_came(kit: Kit) -> None:
    """S0-93: a Markdown file, with the line ends of another system."""
    await indexed(kit, data=NOTES.encode(), filename="notes.md")
    seen = await view(kit)
    assert (seen.original_kind, seen.lines) == ("markdown", ("# Valves", "", "The relief valve", "opens at 7 bar.", ""))
    place = next(c.locate(0, len(c.content)) for c in seen.chunks if "relief" in c.content)
    assert place is not None
    assert seen.lines is not None
    assert "opens at 7 bar." in seen.lines[place.line_start - 1 : place.line_end]
    assert await refused(kit) == "page_not_found"


@pytest.mark.parametrize(
    ("upload", "kind", "kept"),
    [
        ({"content": "a valve\u2028of 7 bar", "source": "x.txt"}, "text", ("a valve", "of 7 bar")),
        ({"content": "name,bar\nvalve,7", "source": "x.csv"}, "csv", ("name,bar", "valve,7")),
        ({"blocks": (Block("on line two\nand three", "paragraph", 2, 3),)}, "text", ("", "on line two", "and three")),
        ({"blocks": (Block("a: 1\nb: 2", "row", 1, 1), Block("beside", "paragraph", 1, 1))}, "text",
         ("a: 1 b: 2  beside",)),
    ],
)  # fmt: skip
async def test_what_came_as_text_or_blocks_is_kept_as_the_lines_that_are_cited(
    kit: Kit, upload: dict[str, Any], kind: str, kept: tuple[str, ...]
) -> None:
    await indexed(kit, **upload)
    seen = await view(kit)
    assert (seen.original_kind, seen.lines, seen.total_lines) == (kind, kept, len(kept))


async def test_a_block_on_a_line_beyond_reason_takes_no_memory(kit: Kit) -> None:
    run = await indexed(kit, blocks=(Block("a valve", "paragraph", 2**53, 2**53),))
    assert run.degraded == []
    assert (await view(kit)).original_kind is None


async def test_of_a_long_text_some_lines_are_shown_from_the_one_asked_for(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the sandbox, for it is large; and it is said that there is more."""
    monkeypatch.setattr("rag_core.ingestion.sandbox_view.MAX_IN_PROCESS_BYTES", 0)
    await indexed(kit, content="\n".join(f"valve {number}" for number in range(1, 12_001)))
    run = Run()
    seen = await source_view.view_document("d1", ANN, kit, run, LIMITS, first_line=1_001)
    assert seen.lines is not None
    assert (seen.lines[0], len(seen.lines), seen.first_line, seen.total_lines) == ("valve 1001", 10_000, 1_001, 12_000)
    assert [one.code for one in run.warnings] == ["lines_cut"]
    beyond = await view(kit, first_line=2**53)
    assert beyond.lines == ()


async def test_a_document_of_many_chunks_is_cut_and_that_is_said(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_view, "MAX_VIEW_CHUNKS", 2)
    await indexed(kit, content="name,bar\n" + "\n".join(f"valve{n},{n}" for n in range(4)), source="x.csv")
    run = Run()
    seen = await source_view.view_document("d1", ANN, kit, run, LIMITS)
    assert ([chunk.ordinal for chunk in seen.chunks], run.warnings[0].code) == ([0, 1], "chunks_cut")


async def test_nobody_else_is_shown_a_page_a_line_or_a_passage(kit: Kit) -> None:
    """S3-15, (RELIABILITY C14): another user, nobody, and the same user in another workflow; as what is not there."""
    await indexed(kit, data=MANUAL, filename="manual.pdf")
    for scope in (BOB, NOBODY, SOUTH):
        assert await refused(kit, scope=scope) == "document_not_found"
        with pytest.raises(NotFound):
            await view(kit, scope)
        listed = await source_view.list_documents(scope, kit, Run())
        assert (listed.documents, listed.deleted, listed.ids_with_original) == ((), (), frozenset())
    assert (await source_view.list_documents(ANN, kit, Run())).ids_with_original == {"d1"}


async def test_of_many_documents_the_archive_is_asked_once(kit: Kit) -> None:
    """S0-94 in spirit: no question a document."""
    asked = list[str]()

    class Counted(SqlArchive):
        async def list_original_hashes(self, workflow_id: str) -> Mapping[str, str]:
            asked.append(workflow_id)
            return await super().list_original_hashes(workflow_id)

    counted = replace(kit, archive=Counted(ArchiveDatabase(None)))
    for number in range(3):
        await indexed(counted, content=NOTES, document_id=f"d{number}")
    assert (await source_view.list_documents(ANN, counted, Run())).ids_with_original == {"d0", "d1", "d2"}
    assert asked == ["north"]
    await counted.archive.close()


async def test_the_same_id_in_two_workflows_is_two_originals(kit: Kit) -> None:
    await indexed(kit, content="north has 7 bar")
    await indexed(kit, SOUTH, content="south has 8 bar")
    assert ((await view(kit)).lines, (await view(kit, SOUTH)).lines) == (("north has 7 bar",), ("south has 8 bar",))


async def test_what_is_deleted_is_shown_to_nobody_until_it_is_restored(kit: Kit) -> None:
    """S3-16."""
    await indexed(kit, data=MANUAL, filename="manual.pdf")
    await lifecycle.delete_document("d1", ANN, kit, Run())
    assert await refused(kit) == "document_not_found"
    listed = await source_view.list_documents(ANN, kit, Run())
    assert ([one.id for one in listed.deleted], listed.ids_with_original) == (["d1"], frozenset())
    await lifecycle.restore_document("d1", ANN, kit.index, Run())
    assert (await page(kit)).pages == 6


async def test_what_is_purged_leaves_no_original(kit: Kit) -> None:
    """(RELIABILITY C21): live or deleted; who may only read removes nothing."""
    for deleted in (False, True):
        await indexed(kit, content=NOTES)
        if deleted:
            await lifecycle.delete_document("d1", ANN, kit, Run())
        with pytest.raises(NotFound):
            await lifecycle.delete_document("d1", BOB, kit, Run(), purge=True)
        assert await kit.archive.list_original_hashes("north")
        await lifecycle.delete_document("d1", ANN, kit, Run(), purge=True)
        assert await kit.archive.list_original_hashes("north") == {}
        with pytest.raises(NotFound):
            await lifecycle.delete_document("d1", ANN, kit, Run(), purge=True)


async def test_a_group_that_reads_a_deleted_document_cannot_take_its_original(kit: Kit) -> None:
    """Removing is the owner's: `deleted` lists it for the group all the same."""
    await indexed(kit, content=NOTES)
    document = await kit.index.store.load_document("d1", ANN)
    assert document is not None
    chunks = await kit.index.store.select(ANN, limit=9)
    await kit.index.add_document(replace(document, groups=("staff",)), chunks, ANN)
    await lifecycle.delete_document("d1", ANN, kit, Run())
    staff = Scope("north", "bob", ("staff",))
    assert [one.id for one in await kit.index.store.list_deleted(staff)] == ["d1"]
    with pytest.raises(NotFound):
        await lifecycle.delete_document("d1", staff, kit, Run(), purge=True)
    assert await kit.archive.list_original_hashes("north")


async def test_a_purge_that_the_archive_does_not_answer_can_be_made_again(kit: Kit) -> None:
    """(RELIABILITY C21): until then the document is deleted, and neither half is forgotten."""
    await indexed(kit, content=NOTES)
    with pytest.raises(Unavailable):
        await lifecycle.delete_document("d1", ANN, over(kit, Down()), Run(), purge=True)
    assert await refused(kit) == "document_not_found"
    await lifecycle.delete_document("d1", ANN, kit, Run(), purge=True)
    assert await kit.archive.list_original_hashes("north") == {}
    assert await kit.index.store.list_deleted(ANN) == []


async def test_a_document_indexed_anew_is_shown_as_it_is_now(kit: Kit) -> None:
    await indexed(kit, data=MANUAL, filename="manual.pdf")
    await indexed(kit, data=pdf(lines("a valve of 7 bar")), filename="manual.pdf")
    assert (await page(kit)).pages == 1
    assert len(await kit.archive.list_original_hashes("north")) == 1


class Down(NoArchive):
    """An archive that does not answer, or has no room."""

    error: RagError = Unavailable("it is down", code="archive_unavailable")

    async def _fail(self, *_: object) -> Any:
        raise self.error

    load_original = list_original_hashes = save_original = delete_original = purge_document = _fail


class Full(Down):
    error = StorageFull("there is no room")


def over(kit: Kit, archive: Any) -> Kit:
    return replace(kit, archive=archive)


@pytest.mark.parametrize("archive", [Down(), Full()])
async def test_a_document_that_cannot_be_kept_is_indexed_all_the_same(kit: Kit, archive: Down) -> None:
    """The run says so; what was kept of the version before is not shown in its place."""
    await indexed(kit, data=MANUAL, filename="manual.pdf")
    run = await indexed(over(kit, archive), data=pdf(lines("a valve of 7 bar")), filename="manual.pdf")
    assert [one.code for one in run.degraded] == ["original_not_kept"]
    assert await refused(kit) == "original_not_kept"
    seen = await view(kit)
    assert (seen.original_kind, seen.lines, seen.chunks[0].content) == (None, None, "a valve of 7 bar")
    assert (await source_view.list_documents(ANN, kit, Run())).ids_with_original == frozenset()


async def test_where_the_archive_does_not_answer_what_was_read_is_shown_and_the_page_is_not(kit: Kit) -> None:
    """An archive that is down is no document without an original."""
    await indexed(kit, data=MANUAL, filename="manual.pdf")
    down, run = over(kit, Down()), Run()
    seen = await source_view.view_document("d1", ANN, down, run, LIMITS)
    assert seen.chunks
    listed = await source_view.list_documents(ANN, down, run)
    assert (len(listed.documents), listed.ids_with_original) == (1, frozenset())
    assert {one.code for one in run.degraded} == {"archive_unavailable"}
    assert await refused(down) == "archive_unavailable"


async def test_an_operator_who_keeps_no_originals_has_none_not_even_old_ones(kit: Kit) -> None:
    await indexed(kit, content=NOTES)
    await indexed(replace(kit, keep_originals=False), content=NOTES)
    assert await kit.archive.list_original_hashes("north") == {}
    assert await refused(kit) == "original_not_kept"


async def test_long_work_keeps_the_upload_when_it_is_done(kit: Kit) -> None:
    """And not before: until then the earlier version is the one that is shown."""
    kit = replace(kit, jobs=SqliteJobs(None))
    terms = IndexingPolicy(LIMITS, max_inline_bytes=10**6, max_inline_chunks=500)
    upload = Upload(data=MANUAL, filename="manual.pdf", document_id="d1")
    await Indexer(kit, Run(), terms).index(upload, ANN, chunking=Chunking(), as_job=True)
    assert await kit.archive.list_original_hashes("north") == {}
    await run_due_jobs(kit, terms, within_s=60)
    assert (await page(kit, 6)).page == 6
    notes = Upload(content=NOTES, document_id="d2")
    await Indexer(kit, Run(), terms).index(notes, ANN, chunking=Chunking())
    assert (await kit.archive.list_original_hashes("north")).keys() == {"d1", "d2"}


async def test_a_rehearsal_keeps_nothing(kit: Kit) -> None:
    await indexed(DryRun(kit, Tariff("none", None)).kit, content=NOTES)
    assert await kit.archive.list_original_hashes("north") == {}


@pytest.mark.parametrize("number", [0, 2**53])
async def test_a_page_that_is_not_there_is_not_found(kit: Kit, number: int) -> None:
    await indexed(kit, data=pdf(lines("a valve of 7 bar")), filename="manual.pdf")
    assert await refused(kit, number) == "page_not_found"


def bomb() -> bytes:
    """A picture of 400 million points in 1 kB, deflated twice."""
    raw = zlib.compress(zlib.compress(bytes(20_000 * 20_000), 9), 9)
    entries = b"/Type/XObject/Subtype/Image/Width 20000/Height 20000/BitsPerComponent 8/ColorSpace/DeviceGray"
    image = b"<<%s/Filter[/FlateDecode/FlateDecode]/Length %d>>\nstream\n%s\nendstream" % (entries, len(raw), raw)
    drawn = pdf(b"q 595 0 0 842 0 0 cm /Im Do Q", more=[image])
    return drawn.replace(b"/XObject<</Im 4 0 R>>", b"/XObject<</Im 7 0 R>>")


DRAWN = {  # made when they are drawn
    "a page of the size of a town": lambda: pdf(lines("Plan")).replace(b"[0 0 595 842]", b"[0 0 1440000 1440000]"),
    "a picture that unpacks to half a gigabyte": bomb,
    "a tree of pages in a circle": (MALFORMED / "pages-loop.pdf").read_bytes,
    "half a file": (MALFORMED / "truncated.pdf").read_bytes,
}
REFUSED = {
    "document_encrypted": (MALFORMED / "enc-R3_V2_U=view_O=master.pdf").read_bytes(),
    "document_damaged": b"\x00" * 4096,
}


async def planted(kit: Kit, original: bytes) -> None:
    """As if this had been read as a document, which none of these could be."""
    await indexed(kit, content=NOTES)
    document = await kit.index.store.load_document("d1", ANN)
    assert document is not None
    await kit.archive.save_original(Original("d1", "north", "", "x.pdf", "pdf", document.content_hash, original))


@pytest.mark.parametrize("name", DRAWN)
async def test_a_hostile_page_is_drawn_within_the_limits(kit: Kit, name: str) -> None:
    """C22, C27: a picture has at most 16 million pixels, the child 1 GiB."""
    await planted(kit, DRAWN[name]())
    width, height = Image.open(BytesIO((await page(kit)).png)).size
    assert width * height <= 16_100_000


@pytest.mark.parametrize("code", REFUSED)
async def test_what_cannot_be_drawn_is_refused_as_it_would_be_when_read(kit: Kit, code: str) -> None:
    """C23."""
    await planted(kit, REFUSED[code])
    assert await refused(kit) == code


async def test_a_page_that_takes_too_long_is_given_up(kit: Kit) -> None:
    """C24: the child is ended at its limit."""
    endless = pdf(b"0 0 595 842 re f\n" * 2_000_000)
    await planted(kit, endless)
    with pytest.raises(UnreadableDocument) as late:
        await source_view.view_page("d1", 1, ANN, kit, Run(), replace(LIMITS, parse_timeout_s=1))
    assert late.value.details == {"seconds": 1}
