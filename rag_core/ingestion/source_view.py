"""The document view: a document's extracted chunks beside the lines or pages of its original."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rag_core.core.errors import NotFound, UnreadableDocument, make_unknown_document_error
from rag_core.core.kit import Kit
from rag_core.core.model import Box, Chunk, Document, Filter, Original, PageImage, Scope
from rag_core.core.run import Run
from rag_core.ingestion import originals, sandbox_view
from rag_core.ingestion.extract.kinds import CONTAINER_KINDS
from rag_core.ingestion.member_pages import DRAWN_KINDS, MemberPage
from rag_core.ingestion.upload import UploadLimits

LOAD_ORIGINAL_TIMEOUT_S = 15.0  # as long as storing one may take
MAX_VIEW_CHUNKS = 1_000  # in one view
EXTRACTED_TEXT_FALLBACK = "the extracted text of the document is shown"
CitedFile = tuple[str, bytes, Mapping[int, Sequence[Box]]]  # the title, the PDF, and the boxes by page
VIEWABLE_TEXT_KINDS = ("markdown", "text", "csv", "jsonl")


@dataclass(frozen=True, slots=True)
class DocumentList:
    """The live and the restorable documents of a scope, and the ids of those whose current original is stored."""

    documents: tuple[Document, ...]
    deleted: tuple[Document, ...]
    ids_with_original: frozenset[str]


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document with its first chunks. `original_kind` is None when no original of this version is stored.

    `lines` are those of the original from `first_line` on, of `total_lines`; None when the original is no text.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    original_kind: str | None = None
    lines: tuple[str, ...] | None = None
    first_line: int = 1
    total_lines: int | None = None


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of a page as it was extracted: its text, its number in the document, and where it is drawn."""

    text: str
    line: int
    box: Box


async def list_documents(scope: Scope, kit: Kit, run: Run) -> DocumentList:
    """Return all documents in the scope. When the archive does not answer, none is listed with an original."""
    store = kit.index.store
    documents = await run.step("documents", store.list_documents(scope))
    deleted = await run.step("documents", store.list_deleted(scope))
    loading, fallback = kit.archive.list_original_hashes(scope.workflow_id), "which originals are stored is not known"
    hashes = await run.attempt("originals", loading, otherwise={}, fallback=fallback, within_s=LOAD_ORIGINAL_TIMEOUT_S)
    current_ids = (document.id for document in documents if hashes.get(document.id) == document.content_hash)
    return DocumentList(tuple(documents), tuple(deleted), frozenset(current_ids))


async def view_document(
    document_id: str, scope: Scope, kit: Kit, run: Run, limits: UploadLimits, *, first_line: int = 1
) -> DocumentView:
    """Return a document with its chunks and, where its original is a text, the lines from `first_line` on.

    Raises:
        NotFound: the scope has no such document, or it was deleted.
    """
    document = await _load_visible_document(document_id, scope, kit, run)
    document_scope = replace(scope, document_ids=(document_id,))
    chunks = await run.step("chunks", kit.index.store.select(document_scope, limit=MAX_VIEW_CHUNKS + 1))
    if len(chunks) > MAX_VIEW_CHUNKS:
        run.warn("chunks_cut", f"only the first {MAX_VIEW_CHUNKS:,} chunks of the document are shown")
    chunk_view = DocumentView(document, tuple(chunks[:MAX_VIEW_CHUNKS]))
    loading = originals.load_current_original(document, kit)
    original = await run.attempt(
        "original", loading, otherwise=None, fallback=EXTRACTED_TEXT_FALLBACK, within_s=LOAD_ORIGINAL_TIMEOUT_S
    )
    return chunk_view if original is None else await _add_lines(chunk_view, original, run, limits, first_line)


async def view_page(
    document_id: str, page_number: int, scope: Scope, kit: Kit, run: Run, limits: UploadLimits
) -> PageImage:
    """Render a page of the document's original, counted from 1.

    Raises:
        NotFound: the document is not in the scope, its original is not stored or neither PDF nor picture, or has no
            such page.
        UnreadableDocument: the page cannot be rendered within the limits of the sandbox.
        Unavailable: the archive did not answer.
    """
    original = await load_original(document_id, scope, kit, run)
    drawn = await find_drawn_page(original, page_number, scope, kit, run, limits)
    if drawn is None:
        raise NotFound(_describe_undrawn_page(original.kind), code="page_not_found", field="page")
    drawing = sandbox_view.render_page_in_sandbox(
        drawn.data, drawn.page, timeout_s=limits.parse_timeout_s, kind=drawn.kind
    )
    image = await run.step("draw", drawing)
    if original.kind in DRAWN_KINDS:
        return image
    document = await _load_visible_document(document_id, scope, kit, run)
    return replace(image, page=page_number, pages=document.pages or page_number)


async def find_drawn_page(
    original: Original, page_number: int, scope: Scope, kit: Kit, run: Run, limits: UploadLimits
) -> MemberPage | None:
    """Return the PDF or picture in which a page is drawn: the original, or a file within it; None where none is.

    Raises:
        UnreadableDocument: the original cannot be read within the limits of the sandbox.
    """
    return (await _find_drawn_pages(original, [page_number], scope, kit, run, limits)).get(page_number)


async def _find_drawn_pages(
    original: Original, page_numbers: Sequence[int], scope: Scope, kit: Kit, run: Run, limits: UploadLimits
) -> dict[int, MemberPage]:
    """Return the pages that are drawn, as `find_drawn_page` does one; a zip or mail is read once for all."""
    if original.kind in DRAWN_KINDS:
        return {number: MemberPage(original.kind, original.data, number) for number in page_numbers}
    if original.kind not in CONTAINER_KINDS:
        return {}
    document_id = original.document_id
    places = {number: await _load_page_place(document_id, number, scope, kit, run) for number in page_numbers}
    if not any(places.values()):
        return {}
    taking = sandbox_view.take_member_pages_in_sandbox(
        original.data, original.kind, list(places.values()), timeout_s=limits.parse_timeout_s
    )
    taken = await run.step("member", taking)
    return {number: page for number, page in zip(places, taken, strict=True) if page}


async def _load_page_place(document_id: str, page_number: int, scope: Scope, kit: Kit, run: Run) -> str:
    """Return the locator of what is drawn on a page of a zip or mail, as it was indexed; "" where nothing is."""
    on_page = (Filter("page", "eq", page_number),)
    selecting = kit.index.store.select(replace(scope, document_ids=(document_id,)), filters=on_page, limit=1)
    chunks = await run.step("chunks", selecting)
    return next((span.locator for chunk in chunks for span in chunk.spans if span.bbox is not None), "")


async def list_page_lines(document_id: str, page_number: int, scope: Scope, kit: Kit, run: Run) -> tuple[PageLine, ...]:
    """Return the lines of a page whose place is known, in order and each once, of the document's first chunks."""
    document_scope = replace(scope, document_ids=(document_id,))
    selecting = kit.index.store.select(document_scope, limit=MAX_VIEW_CHUNKS)
    chunks = await run.attempt("chunks", selecting, otherwise=(), fallback="the page is shown without its text")
    lines: dict[tuple[int, Box], PageLine] = {}
    for chunk in chunks:
        for span in chunk.spans:
            if span.page == page_number and span.bbox is not None:
                text = " ".join(chunk.content[span.start : span.end].split())
                lines.setdefault((span.line_start, span.bbox), PageLine(text, span.line_start, span.bbox))
    return tuple(sorted(lines.values(), key=lambda line: line.line))


async def load_original(document_id: str, scope: Scope, kit: Kit, run: Run) -> Original:
    """Return the document's original as it was uploaded.

    Raises:
        NotFound: the document is not in the scope, or its original is not stored.
        Unavailable: the archive did not answer.
    """
    document = await _load_visible_document(document_id, scope, kit, run)
    loading = originals.load_current_original(document, kit)
    original = await run.step("original", loading, within_s=LOAD_ORIGINAL_TIMEOUT_S)
    if original is None:
        raise _make_original_missing_error()
    return original


async def extract_cited_pages(
    boxes_by_document: Mapping[str, Mapping[int, Sequence[Box]]], scope: Scope, kit: Kit, run: Run, limits: UploadLimits
) -> bytes:
    """Return one PDF with the cited pages of these documents, the boxes highlighted; other documents are left out.

    Raises:
        NotFound: none of the documents is a PDF in the scope whose original is stored.
        UnreadableDocument: a page cannot be taken out within the limits of the sandbox.
        Unavailable: the archive did not answer.
    """
    files: list[CitedFile] = []
    for document_id, boxes in boxes_by_document.items():
        document = await run.step("document", kit.index.store.load_document(document_id, scope))
        loading = originals.load_current_original(document, kit) if document else None
        original = await run.step("original", loading, within_s=LOAD_ORIGINAL_TIMEOUT_S) if loading else None
        found: list[CitedFile] = []
        if document and original:
            found = await _find_cited_files(document, original, boxes, scope, kit, run, limits)
        files += found
        if not found:
            run.warn("evidence_left_out", f"document {document_id} is no PDF, nor holds one, whose original is stored")
    if not files:
        raise _make_original_missing_error()
    return await run.step(
        "highlight", sandbox_view.extract_cited_pages_in_sandbox(files, timeout_s=limits.parse_timeout_s)
    )


async def _find_cited_files(
    document: Document,
    original: Original,
    boxes: Mapping[int, Sequence[Box]],
    scope: Scope,
    kit: Kit,
    run: Run,
    limits: UploadLimits,
) -> list[CitedFile]:
    """Return the PDF with its boxes by page: the original, or those in it that have the cited pages."""
    if original.kind == "pdf":
        return [(document.title, original.data, boxes)]
    pages = await _find_drawn_pages(original, sorted(boxes), scope, kit, run, limits)
    cited = [(number, page) for number, page in pages.items() if page.kind == "pdf"]
    for number in sorted(boxes.keys() - dict(cited).keys()) if cited else ():
        run.warn("evidence_left_out", f"page {number} of document {document.id} is left out: it is of no PDF")
    return [
        (f"{document.title}: {path}", held[0][1].data, {page.page: boxes[number] for number, page in held})
        for path, held in ((path, list(of)) for path, of in groupby(cited, key=lambda numbered: numbered[1].path))
    ]


async def _add_lines(
    view: DocumentView, original: Original, run: Run, limits: UploadLimits, first_line: int
) -> DocumentView:
    if original.kind not in VIEWABLE_TEXT_KINDS:
        return replace(view, original_kind=original.kind)
    try:
        lines, total = await run.step(
            "lines", sandbox_view.read_lines_in_sandbox(original.data, first_line, timeout_s=limits.parse_timeout_s)
        )
    except UnreadableDocument as error:
        run.degrade("lines", error.code, error.message, EXTRACTED_TEXT_FALLBACK)
        return replace(view, original_kind=original.kind)
    if len(lines) < total:
        run.warn("lines_cut", f"{len(lines):,} of {total:,} lines are shown, from line {first_line:,} on")
    return replace(view, original_kind=original.kind, lines=tuple(lines), first_line=first_line, total_lines=total)


async def _load_visible_document(document_id: str, scope: Scope, kit: Kit, run: Run) -> Document:
    """Return the document from the index, which checks the scope; the archive itself does not check users."""
    document = await run.step("document", kit.index.store.load_document(document_id, scope))
    if document is None:
        raise make_unknown_document_error()
    return document


def _describe_undrawn_page(kind: str) -> str:
    if kind in CONTAINER_KINDS:
        return "the page is of no PDF or picture in the file, or two files in it are cited by the same words"
    return "only a PDF or a picture has pages that can be drawn"


def _make_original_missing_error() -> NotFound:
    message = "the document's original is not stored: index it again, with RAG_KEEP_ORIGINALS on, to see its pages"
    return NotFound(message, code="original_not_kept", field="document_id")
