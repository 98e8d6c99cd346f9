"""The document view: a document's extracted chunks beside the lines or pages of its original."""

from dataclasses import dataclass, replace

from rag_core.core.errors import NotFound, UnreadableDocument, no_document
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Document, Picture, Scope, Work
from rag_core.core.run import Run
from rag_core.ingestion import originals, viewing
from rag_core.ingestion.upload import Limits

ARCHIVE_S = 15.0  # as long as storing one may take
MAX_CHUNKS = 1_000  # in one view
AS_READ = "the extracted text of the document is shown"
TEXTS = ("markdown", "text", "csv")


@dataclass(frozen=True, slots=True)
class Listed:
    """The live and the restorable documents of a scope, and the ids of those whose current original is stored."""

    documents: tuple[Document, ...]
    deleted: tuple[Document, ...]
    kept: frozenset[str]


@dataclass(frozen=True, slots=True)
class View:
    """A document with its first chunks. `original_kind` is None when no original of this version is stored.

    `lines` are those of the original from `first_line` on, of `total_lines`; None when the original is no text.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    kind: str | None = None
    lines: tuple[str, ...] | None = None
    first_line: int = 1
    total_lines: int | None = None


async def listed(scope: Scope, kit: Kit, run: Run) -> Listed:
    """Return all documents in the scope. When the archive does not answer, none is listed with an original."""
    store = kit.index.store
    documents = await run.step("documents", store.documents(scope))
    deleted = await run.step("documents", store.deleted(scope))
    loading, fallback = kit.archive.works(scope.workflow_id), "which originals are stored is not known"
    hashes = await run.attempt("originals", loading, otherwise={}, fallback=fallback, within_s=ARCHIVE_S)
    current_ids = (document.id for document in documents if hashes.get(document.id) == document.content_hash)
    return Listed(tuple(documents), tuple(deleted), frozenset(current_ids))


async def view(document_id: str, scope: Scope, kit: Kit, run: Run, limits: Limits, *, first_line: int = 1) -> View:
    """Return a document with its chunks and, where its original is a text, the lines from `first_line` on.

    Raises:
        NotFound: the scope has no such document, or it was deleted.
    """
    document = await _document(document_id, scope, kit, run)
    document_scope = replace(scope, document_ids=(document_id,))
    chunks = await run.step("chunks", kit.index.store.select(document_scope, limit=MAX_CHUNKS + 1))
    if len(chunks) > MAX_CHUNKS:
        run.warn("chunks_cut", f"only the first {MAX_CHUNKS:,} chunks of the document are shown")
    chunk_view = View(document, tuple(chunks[:MAX_CHUNKS]))
    loading = originals.kept(document, kit)
    original = await run.attempt("original", loading, otherwise=None, fallback=AS_READ, within_s=ARCHIVE_S)
    return chunk_view if original is None else await _with_lines(chunk_view, original, run, limits, first_line)


async def page(document_id: str, number: int, scope: Scope, kit: Kit, run: Run, limits: Limits) -> Picture:
    """Render a page of the document's original, counted from 1.

    Raises:
        NotFound: the document is not in the scope, its original is not stored or no PDF, or has no such page.
        UnreadableDocument: the page cannot be rendered within the limits of the sandbox.
        Unavailable: the archive did not answer.
    """
    document = await _document(document_id, scope, kit, run)
    original = await run.step("original", originals.kept(document, kit), within_s=ARCHIVE_S)
    if original is None:
        raise _not_kept()
    if original.kind != "pdf":
        raise NotFound("only a PDF has pages that can be drawn", code="page_not_found", field="page")
    return await run.step("draw", viewing.page(original.data, number, timeout_s=limits.parse_timeout_s))


async def _with_lines(seen: View, work: Work, run: Run, limits: Limits, first: int) -> View:
    if work.kind not in TEXTS:
        return replace(seen, kind=work.kind)
    try:
        lines, total = await run.step("lines", viewing.lines(work.data, first, timeout_s=limits.parse_timeout_s))
    except UnreadableDocument as error:
        run.degrade("lines", error.code, error.message, AS_READ)
        return replace(seen, kind=work.kind)
    if len(lines) < total:
        run.warn("lines_cut", f"{len(lines):,} of {total:,} lines are shown, from line {first:,} on")
    return replace(seen, kind=work.kind, lines=tuple(lines), first_line=first, total_lines=total)


async def _document(document_id: str, scope: Scope, kit: Kit, run: Run) -> Document:
    """Return the document from the index, which checks the scope; the archive itself does not check users."""
    document = await run.step("document", kit.index.store.document(document_id, scope))
    if document is None:
        raise no_document()
    return document


def _not_kept() -> NotFound:
    message = "the document's original is not stored: index it again, with RAG_KEEP_ORIGINALS on, to see its pages"
    return NotFound(message, code="original_not_kept", field="document_id")
