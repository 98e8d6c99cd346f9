"""Indexing of an upload: extract, split, enrich, embed the changed chunks, and replace the document in one step."""

import asyncio
import json
import uuid
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice

from rag_core.core.errors import TooLarge
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Block, Chunk, Document, Extraction, Indexed, Scope
from rag_core.core.ports import Replaced
from rag_core.core.run import Run
from rag_core.ingestion import originals
from rag_core.ingestion.chunking import Chunking, Piece, Similarity, chunk, mean_cosine, sentences_of, title_of
from rag_core.ingestion.enrichment import entities, key_sentences
from rag_core.ingestion.extract.extraction import clean
from rag_core.ingestion.upload import (
    MAX_METADATA,
    MAX_NAME,
    MAX_VALUE,
    Limits,
    Upload,
    check,
    kind_of_text,
    size_of,
)

# `Upload`, `Limits`, `check`, `size_of` are defined in `upload`: named here until every module imports them from there
__all__ = [
    "MAX_CHUNKS",
    "Limits",
    "Upload",
    "account",
    "check",
    "chunk_id",
    "index_document",
    "known_id",
    "prepare",
    "size_of",
]

MAX_CHUNKS = 50_000  # of one document; a table has one a row
_SUMMARY_SENTENCES = 3


async def index_document(
    upload: Upload, scope: Scope, kit: Kit, run: Run, *, chunking: Chunking, limits: Limits
) -> Indexed:
    """Make the upload the document's only version; the earlier version stays searchable until this returns.

    Queued jobs for the same document are cancelled. The result's `failed` names the chunks that a remote index has not
    accepted; those that it may accept later are sent again.

    Without an id, a document is identified by its source or file name within its owner's part of the workflow, and
    without these by its text. Without an embedder it is indexed for lexical search only, and the run says so.

    Raises:
        InvalidRequest: a part of the upload is missing or malformed.
        TooLarge: the upload has too many bytes, or gives more than `MAX_CHUNKS` chunks.
        UnsupportedDocument, UnreadableDocument: the file cannot be read.
        Conflict, NotFound, StorageFull, Unavailable: the index did not accept it; the earlier version stays.
    """
    document, chunks = await prepare(upload, scope, kit, run, chunking=chunking, limits=limits)
    async with kit.jobs.superseding(document.id, scope):
        replaced, embedded = await run.step("index", kit.index.add(document, chunks, scope))
    await originals.keep(document, upload, kit, run)
    return account(document, chunks, replaced, embedded, run)


async def prepare(
    upload: Upload, scope: Scope, kit: Kit, run: Run, *, chunking: Chunking, limits: Limits
) -> tuple[Document, list[Chunk]]:
    """Return the document and chunks that an upload becomes; the same upload always gives the same ones."""
    check(upload, limits)
    extraction = await run.step("extract", _extracted(upload, limits, kit, run))
    for note in extraction.notes:
        run.warn("extraction", note)
    drafts = await run.step("chunk", _pieces(extraction.blocks, chunking, kit.index, run))
    enriching = asyncio.to_thread(_enriched, upload, extraction, drafts, scope)
    document, chunks = await run.step("enrich", enriching)
    if not kit.index.embedder.dimensions:
        reason = "there is no embedding model: rag doctor says what is missing"
        run.degrade("index", "embedding_unavailable", reason, "indexed for lexical search only")
    return document, chunks


def account(document: Document, chunks: Sequence[Chunk], replaced: Replaced, embedded: int, run: Run) -> Indexed:
    """Return the counts of an indexed document, and note in the run how many chunks the index has not accepted."""
    if replaced.failed:
        reason = f"the index has not accepted {len(replaced.failed)} of {len(chunks)} chunks"
        run.degrade("index", "index_partial", reason, "the earlier version stays, what can be sent again will be")
    return Indexed(
        document_id=document.id,
        chunks=len(chunks),
        embedded=embedded,
        unchanged=replaced.unchanged,
        removed=replaced.removed,
        pages=document.pages,
        extractor=document.extractor,
        failed=replaced.failed,
    )


async def _extracted(upload: Upload, limits: Limits, kit: Kit, run: Run) -> Extraction:
    from rag_core.ingestion import extract, reading, sandbox  # not needed at start

    if upload.data is not None:
        return await reading.read(upload.data, upload.filename or "", kit.layout, run, timeout_s=limits.parse_timeout_s)
    if upload.blocks is not None:
        return await asyncio.to_thread(extract.given, upload.blocks)
    kind, text = kind_of_text(upload), upload.content or ""
    return await sandbox.typed_safely(kind, text, timeout_s=limits.parse_timeout_s)


async def _pieces(blocks: Sequence[Block], chunking: Chunking, index: Index, run: Run) -> list[Piece]:
    similarity = await _similarity(blocks, index, run) if chunking.strategy == "semantic" else None
    drafts = await asyncio.to_thread(
        lambda: list(islice(chunk(blocks, chunking, similarity=similarity), MAX_CHUNKS + 1))
    )
    if len(drafts) > MAX_CHUNKS:
        raise TooLarge(
            f"the document has more than {MAX_CHUNKS:,} chunks: split it, or ask for a larger chunk_size",
            code="too_many_chunks",
            details={"limit": MAX_CHUNKS},
        )
    return drafts


async def _similarity(blocks: Sequence[Block], index: Index, run: Run) -> Similarity | None:
    sentences = await asyncio.to_thread(sentences_of, blocks)
    vectors = await run.attempt(
        "chunk",
        index.embedder.embed_documents(sentences),
        otherwise=None,
        fallback="sentences were compared by their words",
    )
    return mean_cosine(dict(zip(sentences, vectors, strict=True))) if vectors else None


def _enriched(
    upload: Upload, extraction: Extraction, pieces: Sequence[Piece], scope: Scope
) -> tuple[Document, list[Chunk]]:
    text_hash = _hash("\n\n".join(block.text for block in extraction.blocks))
    document_id = known_id(upload, scope) or _uuid(scope.workflow_id, scope.user_id, text_hash)
    source = _source(upload) or document_id
    document = Document(
        id=document_id,
        workflow_id=scope.workflow_id,
        title=_title(upload, extraction, source),
        source=source,
        content_hash=text_hash,
        extractor=extraction.extractor,
        pages=extraction.pages,
        summary=_summary(extraction.blocks),
        user_id=scope.user_id,
        metadata=upload.metadata,
    )
    return document, list(_chunks(document, pieces))


def known_id(upload: Upload, scope: Scope) -> str | None:
    """Return the id that the upload's document will have; None where only its text will decide that."""
    return upload.document_id or (_uuid(scope.workflow_id, scope.user_id, _source(upload)) if _source(upload) else None)


def _source(upload: Upload) -> str:
    """Return the caller's name for the document's origin, else the file name; it is never used as a path."""
    return clean(upload.source or (upload.filename or "").replace("\\", "/").rpartition("/")[2]).strip()


def _title(upload: Upload, extraction: Extraction, source: str) -> str:
    """Return the first that is not empty of: the given title, the document's own, its first heading, the file name."""
    heading = next((title_of(block) for block in extraction.blocks if block.kind == "heading"), "")
    stem = source.rpartition("/")[2].rpartition(".")[0]
    titles = (clean(title).strip() for title in (upload.title or "", extraction.title, heading, stem))
    return next(filter(None, titles), source)[:MAX_NAME].strip()


def _summary(blocks: Sequence[Block]) -> str:
    rows = [block for block in blocks if block.kind == "row"]
    if rows:
        columns = dict.fromkeys(name for row in rows[:1000] for name in row.fields)
        return f"A table of {len(rows):,} rows with {', '.join(list(columns)[:20])}."
    text = "\n\n".join(block.text for block in blocks if block.kind == "paragraph")
    return " ".join(key_sentences(text, _SUMMARY_SENTENCES))


def _chunks(document: Document, pieces: Sequence[Piece]) -> Iterator[Chunk]:
    for ordinal, draft in enumerate(pieces):
        cells = list(map(str, draft.fields.values()))
        filterable = {name: value for name, value in draft.fields.items() if len(str(value)) <= MAX_VALUE}
        label = {"page_label": draft.page_label} if draft.page_label else {}
        yield Chunk(
            id=chunk_id(document.workflow_id, document.id, ordinal),
            document_id=document.id,
            ordinal=ordinal,
            content=draft.content,
            title=document.title,
            source=document.source,
            content_hash=_hash(draft.content),
            spans=draft.spans,
            parent_id=None if draft.parent is None else _uuid(document.workflow_id, document.id, draft.parent),
            heading_path=draft.heading_path,
            summary="; ".join(cells)[:300] if cells else " ".join(key_sentences(draft.content, 1)),
            entities=entities("\n\n".join(cells) or draft.content),
            metadata={**document.metadata, **label, **dict(islice(filterable.items(), MAX_METADATA))},
        )


def chunk_id(workflow_id: str, document_id: str, ordinal: int) -> str:
    """Return the id of a document's chunk; it depends on nothing but the workflow, the document and the ordinal."""
    return _uuid(workflow_id, document_id, ordinal)


def _uuid(*known_by: str | int | None) -> str:
    """Return a UUID that is the same for the same parts; as JSON, ("a", "b") and ("a,b",) give different ones."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(known_by)))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
