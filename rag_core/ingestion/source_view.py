"""A cited document opened where it is cited: what was read of it, beside the document as it came."""

from dataclasses import dataclass, replace

from rag_core.core.errors import NotFound, UnreadableDocument, no_document
from rag_core.core.kit import Kit
from rag_core.core.model import Chunk, Document, Picture, Scope, Work
from rag_core.core.run import Run
from rag_core.ingestion import originals, viewing
from rag_core.ingestion.indexing import Limits

ARCHIVE_S = 15.0  # as long as it may take to keep one
MAX_CHUNKS = 1_000  # shown at once
AS_READ = "what was read of the document is shown"
TEXTS = ("markdown", "text", "csv")


@dataclass(frozen=True, slots=True)
class Listed:
    """The documents of a scope and those of them that can be restored, by id; `kept` are ids of originals that show."""

    documents: tuple[Document, ...]
    deleted: tuple[Document, ...]
    kept: frozenset[str]


@dataclass(frozen=True, slots=True)
class View:
    """A document with its first chunks. `kind` is that of the original, None where none of this version is kept.

    `lines` are those from `first_line` on, of `total_lines`; None when the original is no text.
    """

    document: Document
    chunks: tuple[Chunk, ...]
    kind: str | None = None
    lines: tuple[str, ...] | None = None
    first_line: int = 1
    total_lines: int | None = None


async def listed(scope: Scope, kit: Kit, run: Run) -> Listed:
    """All documents that the scope sees. Where the archive does not answer, none is said to be kept."""
    store = kit.index.store
    documents = await run.step("documents", store.documents(scope))
    deleted = await run.step("documents", store.deleted(scope))
    works, unknown = kit.archive.works(scope.workflow_id), "which originals are kept is not known"
    kept = await run.attempt("originals", works, otherwise={}, fallback=unknown, within_s=ARCHIVE_S)
    current = (document.id for document in documents if kept.get(document.id) == document.content_hash)
    return Listed(tuple(documents), tuple(deleted), frozenset(current))


async def view(document_id: str, scope: Scope, kit: Kit, run: Run, limits: Limits, *, first_line: int = 1) -> View:
    """A document as it was read and, where its original is a text, the lines from `first_line` on.

    Raises:
        NotFound: there is no such document, or it is not the scope's, or it was deleted.
    """
    document = await _document(document_id, scope, kit, run)
    only = replace(scope, document_ids=(document_id,))
    chunks = await run.step("chunks", kit.index.store.select(only, limit=MAX_CHUNKS + 1))
    if len(chunks) > MAX_CHUNKS:
        run.warn("chunks_cut", f"the document has more chunks than the first {MAX_CHUNKS:,}, which are shown")
    seen = View(document, tuple(chunks[:MAX_CHUNKS]))
    kept = originals.kept(document, kit)
    work = await run.attempt("original", kept, otherwise=None, fallback=AS_READ, within_s=ARCHIVE_S)
    return seen if work is None else await _with_lines(seen, work, run, limits, first_line)


async def page(document_id: str, number: int, scope: Scope, kit: Kit, run: Run, limits: Limits) -> Picture:
    """A page of the document as it came, from 1.

    Raises:
        NotFound: as by `view`; the original of this version is not kept, has no pages, or not this one.
        UnreadableDocument: the page cannot be drawn, or not within the limits of the sandbox.
        Unavailable: the archive did not answer.
    """
    document = await _document(document_id, scope, kit, run)
    work = await run.step("original", originals.kept(document, kit), within_s=ARCHIVE_S)
    if work is None:
        raise _not_kept()
    if work.kind != "pdf":
        raise NotFound("only a PDF has pages that can be drawn", code="page_not_found", field="page")
    return await run.step("draw", viewing.page(work.data, number, timeout_s=limits.parse_timeout_s))


async def _with_lines(seen: View, work: Work, run: Run, limits: Limits, first: int) -> View:
    if work.kind not in TEXTS:
        return replace(seen, kind=work.kind)
    try:
        lines, total = await run.step("lines", viewing.lines(work.data, first, timeout_s=limits.parse_timeout_s))
    except UnreadableDocument as failure:
        run.degrade("lines", failure.code, failure.message, AS_READ)
        return replace(seen, kind=work.kind)
    if len(lines) < total:
        run.warn("lines_cut", f"{len(lines):,} of {total:,} lines are shown, from line {first:,} on")
    return replace(seen, kind=work.kind, lines=tuple(lines), first_line=first, total_lines=total)


async def _document(document_id: str, scope: Scope, kit: Kit, run: Run) -> Document:
    """Who may see it is for the index to say: the archive is asked only for what that gave."""
    found = await run.step("document", kit.index.store.document(document_id, scope))
    if found is None:
        raise no_document()
    return found


def _not_kept() -> NotFound:
    message = "the document is not kept as it came: index it again, with RAG_KEEP_ORIGINALS on, to see its pages"
    return NotFound(message, code="original_not_kept", field="document_id")
