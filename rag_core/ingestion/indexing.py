"""A document from upload to index: read, cut, enriched, embedded where it changed, replaced in one step."""

import asyncio
import json
import math
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice

from rag_core.core.errors import InvalidRequest, TooLarge
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Block, Chunk, Document, Indexed, Scalar, Scope
from rag_core.core.ports import Replaced
from rag_core.core.run import Run
from rag_core.ingestion.chunking import Chunking, Piece, Similarity, chunk, mean_cosine, sentences_of, title_of
from rag_core.ingestion.enrichment import entities, key_sentences
from rag_core.ingestion.extract.extraction import Extraction, clean

MAX_CHUNKS = 50_000  # of one document; a table has one a row
MAX_METADATA = 64  # entries of an upload, and fields of a row that can be filtered by
MAX_VALUE = 256  # characters of a value that can be filtered by; a longer cell is in the content only
MAX_NAME = 1024  # characters of a title or source
_ID = re.compile(r"[A-Za-z0-9._:#=-]{1,128}")
_TEXT_ENDINGS = {"md": "markdown", "markdown": "markdown", "csv": "csv", "tsv": "csv"}
_SUMMARY_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class Upload:
    """A document as it comes in: text, a file's bytes with its name, or blocks whose place is known."""

    content: str | None = None
    data: bytes | None = None
    filename: str | None = None
    blocks: tuple[Block, ...] | None = None
    document_id: str | None = None
    title: str | None = None
    source: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a document may be, and how long its file may take to read."""

    max_upload_bytes: int
    parse_timeout_s: float


async def index_document(
    upload: Upload, scope: Scope, kit: Kit, run: Run, *, chunking: Chunking, limits: Limits
) -> Indexed:
    """Make this the document's only version, searchable when this returns; until then the old one is.

    Long work that was taken on for it before ends. Chunks that a remote index has not taken are named in `failed`;
    those that it may take yet are sent again.

    Without an id a document is known by its source or file name, within its owner's part of the workflow; without
    these by its text. Without an embedder it is indexed for words only, and the run says so.

    Raises:
        InvalidRequest: a part of the upload is missing or malformed.
        TooLarge: over the size, or cut into more than `MAX_CHUNKS`.
        UnsupportedDocument, UnreadableDocument: the file cannot be read.
        Conflict, NotFound, StorageFull, Unavailable: the index could not take it; the old version stays.
    """
    from rag_core.ingestion import originals  # which knows uploads from here

    document, chunks = await prepare(upload, scope, kit, run, chunking=chunking, limits=limits)
    async with kit.jobs.superseding(document.id, scope):
        replaced, embedded = await run.step("index", kit.index.add(document, chunks, scope))
    await originals.keep(document, upload, kit, run)
    return account(document, chunks, replaced, embedded, run)


async def prepare(
    upload: Upload, scope: Scope, kit: Kit, run: Run, *, chunking: Chunking, limits: Limits
) -> tuple[Document, list[Chunk]]:
    """What an upload is to the index; the same upload always comes out the same."""
    check(upload, limits)
    extraction = await run.step("extract", _extracted(upload, limits, kit, run))
    for note in extraction.notes:
        run.warn("extraction", note)
    pieces = await run.step("chunk", _pieces(extraction.blocks, chunking, kit.index, run))
    work = asyncio.to_thread(_enriched, upload, extraction, pieces, scope)
    document, chunks = await run.step("enrich", work)
    if not kit.index.embedder.dimensions:
        reason = "there is no embedding model: rag doctor says what is missing"
        run.degrade("index", "embedding_unavailable", reason, "indexed for words only")
    return document, chunks


def account(document: Document, chunks: Sequence[Chunk], replaced: Replaced, embedded: int, run: Run) -> Indexed:
    """What became of a document; what the index has not taken is noted in the run."""
    if replaced.failed:
        reason = f"the index has not taken {len(replaced.failed)} of {len(chunks)} chunks"
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


def check(upload: Upload, limits: Limits) -> None:
    """What can be said against an upload without reading it."""
    given = [part for part in (upload.content, upload.data, upload.blocks) if part is not None]
    if len(given) != 1:
        raise InvalidRequest("content", "is one of three: give exactly one of content, a file and blocks")
    if upload.data is not None and not upload.filename:
        raise InvalidRequest("filename", "is required with a file: its ending says how to read it")
    if upload.document_id is not None and not _ID.fullmatch(upload.document_id):
        raise InvalidRequest("document_id", "must be 1 to 128 letters, digits and the marks . _ : # = -")
    for name in ("title", "source", "filename"):
        if len(getattr(upload, name) or "") > MAX_NAME:
            raise InvalidRequest(name, f"must have at most {MAX_NAME} characters")
    _check_metadata(upload.metadata)
    size = size_of(upload)
    if size > limits.max_upload_bytes:
        raise TooLarge(
            f"the document has {size:,} bytes, more than {limits.max_upload_bytes:,}: split it",
            field="content",
            details={"bytes": size, "limit_bytes": limits.max_upload_bytes},
        )


def _check_metadata(metadata: Mapping[str, Scalar]) -> None:
    if len(metadata) > MAX_METADATA:
        raise InvalidRequest("metadata", f"must have at most {MAX_METADATA} entries")
    for name, value in metadata.items():
        if not 1 <= len(name) <= 128 or not name.isprintable():
            raise InvalidRequest("metadata", "must have names of 1 to 128 printable characters")
        if not isinstance(value, Scalar):
            raise InvalidRequest("metadata", "must have strings, numbers and booleans as values")
        if isinstance(value, str) and len(value) > MAX_VALUE:
            raise InvalidRequest("metadata", f"must have values of at most {MAX_VALUE} characters")
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidRequest("metadata", "must have finite numbers")


def size_of(upload: Upload) -> int:
    """Bytes of the file, or of the text."""
    if upload.data is not None:
        return len(upload.data)
    texts = [upload.content or "", *(block.text for block in upload.blocks or ())]
    return sum(len(text.encode("utf-8", errors="replace")) for text in texts)


async def _extracted(upload: Upload, limits: Limits, kit: Kit, run: Run) -> Extraction:
    from rag_core.ingestion import extract, reading, sandbox  # not needed to start, only to index

    if upload.data is not None:
        return await reading.read(upload.data, upload.filename or "", kit.layout, run, timeout_s=limits.parse_timeout_s)
    if upload.blocks is not None:
        return await asyncio.to_thread(extract.given, upload.blocks)
    kind, text = kind_of_text(upload), upload.content or ""
    return await sandbox.typed_safely(kind, text, timeout_s=limits.parse_timeout_s)


def kind_of_text(upload: Upload) -> str:
    """How a text is read that did not come as a file."""
    ending = (upload.filename or upload.source or "").rpartition(".")[2].lower()
    return _TEXT_ENDINGS.get(ending, "text")


async def _pieces(blocks: Sequence[Block], chunking: Chunking, index: Index, run: Run) -> list[Piece]:
    similarity = await _similarity(blocks, index, run) if chunking.strategy == "semantic" else None
    pieces = await asyncio.to_thread(
        lambda: list(islice(chunk(blocks, chunking, similarity=similarity), MAX_CHUNKS + 1))
    )
    if len(pieces) > MAX_CHUNKS:
        raise TooLarge(
            f"the document has more than {MAX_CHUNKS:,} chunks: split it, or ask for a larger chunk_size",
            code="too_many_chunks",
            details={"limit": MAX_CHUNKS},
        )
    return pieces


async def _similarity(blocks: Sequence[Block], index: Index, run: Run) -> Similarity | None:
    texts = await asyncio.to_thread(sentences_of, blocks)
    vectors = await run.attempt(
        "chunk",
        index.embedder.embed_documents(texts),
        otherwise=None,
        fallback="sentences were compared by their words",
    )
    return mean_cosine(dict(zip(texts, vectors, strict=True))) if vectors else None


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
    """The id that its document will have, where that can be told before it is read."""
    return upload.document_id or (_uuid(scope.workflow_id, scope.user_id, _source(upload)) if _source(upload) else None)


def _source(upload: Upload) -> str:
    """What the caller calls the document's origin: kept as a name, never used as a path."""
    return clean(upload.source or (upload.filename or "").replace("\\", "/").rpartition("/")[2]).strip()


def _title(upload: Upload, extraction: Extraction, source: str) -> str:
    """The one given, else the document's own, its first heading, or the file's name without its ending."""
    heading = next((title_of(block) for block in extraction.blocks if block.kind == "heading"), "")
    stem = source.rpartition("/")[2].rpartition(".")[0]
    known = (clean(title).strip() for title in (upload.title or "", extraction.title, heading, stem))
    return next(filter(None, known), source)[:MAX_NAME].strip()


def _summary(blocks: Sequence[Block]) -> str:
    rows = [block for block in blocks if block.kind == "row"]
    if rows:
        columns = dict.fromkeys(name for row in rows[:1000] for name in row.fields)
        return f"A table of {len(rows):,} rows with {', '.join(list(columns)[:20])}."
    text = "\n\n".join(block.text for block in blocks if block.kind == "paragraph")
    return " ".join(key_sentences(text, _SUMMARY_SENTENCES))


def _chunks(document: Document, pieces: Sequence[Piece]) -> Iterator[Chunk]:
    for ordinal, piece in enumerate(pieces):
        row = list(map(str, piece.fields.values()))
        named = {name: value for name, value in piece.fields.items() if len(str(value)) <= MAX_VALUE}
        label = {"page_label": piece.page_label} if piece.page_label else {}
        yield Chunk(
            id=chunk_id(document.workflow_id, document.id, ordinal),
            document_id=document.id,
            ordinal=ordinal,
            content=piece.content,
            title=document.title,
            source=document.source,
            content_hash=_hash(piece.content),
            spans=piece.spans,
            parent_id=None if piece.parent is None else _uuid(document.workflow_id, document.id, piece.parent),
            heading_path=piece.heading_path,
            summary="; ".join(row)[:300] if row else " ".join(key_sentences(piece.content, 1)),
            entities=entities("\n\n".join(row) or piece.content),
            metadata={**document.metadata, **label, **dict(islice(named.items(), MAX_METADATA))},
        )


def chunk_id(workflow_id: str, document_id: str, ordinal: int) -> str:
    """The id of a document's chunk: of the key "PROPOSAL:STAGE:INDEX" for a proposal's, within its collection (C19)."""
    return _uuid(workflow_id, document_id, ordinal)


def _uuid(*known_by: str | int | None) -> str:
    """The same id for the same parts, and another for any others: a separator in one of them joins nothing."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(known_by)))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
