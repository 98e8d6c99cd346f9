"""Indexing of an upload: extract, split, enrich, embed the changed chunks, and replace the document in one step."""

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import islice

from rag_core.core.contextual_vectors import hash_passage
from rag_core.core.errors import TooLarge, Unavailable
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Block, Chunk, Document, Extraction, IndexingResult, Scope
from rag_core.core.ports import ReplacementResult
from rag_core.core.run import Run
from rag_core.ingestion import originals
from rag_core.ingestion.chunking import (
    ChunkDraft,
    Chunking,
    SentenceSimilarity,
    build_cosine_similarity,
    collect_sentences,
    split_into_chunks,
)
from rag_core.ingestion.cut_tables import find_cut_heads
from rag_core.ingestion.document_enrichment import enrich_document
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.ingestion.entities.extraction import CODE_TYPES, EntitySource, find_entities
from rag_core.ingestion.extract.extraction import clean_text
from rag_core.ingestion.model_enrichment import RememberingLog
from rag_core.ingestion.reading import label_extractor
from rag_core.ingestion.tables import TABLE_HEAD_FIELD
from rag_core.ingestion.titles import choose_title
from rag_core.ingestion.upload import (
    MAX_FILTERABLE_CHARS,
    MAX_METADATA_ENTRIES,
    Upload,
    UploadLimits,
    check_upload,
    detect_text_kind,
    lower_budget,
)

MAX_CHUNKS = 50_000  # of one document; a table has one a row
MAX_KNOWN_CODES = 1000  # most frequent codes of the index that are compared with a document's
KNOWN_CODES_TIMEOUT_S = 1.0
_SUMMARY_SENTENCES = 3
_MAX_ROW_SUMMARY_CHARS = 300


async def index_document(
    upload: Upload, scope: Scope, kit: Kit, run: Run, *, chunking: Chunking, limits: UploadLimits
) -> IndexingResult:
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
    document, chunks = await prepare_document(upload, scope, kit, run, chunking=chunking, limits=limits)
    kit = limit_enrichment(kit, upload)
    document, chunks = await enrich_document(document, chunks, scope, kit, run, RememberingLog())
    async with kit.jobs.supersede_document(document.id, scope):
        replaced, embedded = await run.step("index", kit.index.add_document(document, chunks, scope))
        await originals.store_original(document, upload, kit, run)
    return build_indexing_result(document, chunks, replaced, embedded, run)


async def prepare_document(
    upload: Upload, scope: Scope, kit: Kit, run: Run, *, chunking: Chunking, limits: UploadLimits
) -> tuple[Document, list[Chunk]]:
    """Return the document and chunks that an upload becomes; the same upload always gives the same ones."""
    check_upload(upload, limits)
    warn_of_unpaid_enrichment(upload, kit, run)
    if upload.layout_budget_usd and (reason := _explain_unpaid_layout(kit, limits)):
        run.warn("no_effect", f"layout_budget_usd has no effect: {reason}")
    extraction = await run.step("extract", _extract_upload(upload, limits, kit, run))
    for note in extraction.notes:
        run.warn("extraction", note)
    drafts = await run.step("chunk", _split_upload_blocks(extraction.blocks, chunking, kit.index, run))
    known_codes = await _load_known_codes(kit.index, scope, run)
    enriching = asyncio.to_thread(_build_document_with_chunks, upload, extraction, drafts, scope, known_codes)
    document, chunks = await run.step("enrich", enriching)
    if not kit.index.embedder.dimensions:
        reason = "there is no embedding model: rag doctor says what is missing"
        run.degrade("index", "embedding_unavailable", reason, "indexed for lexical search only")
    return document, chunks


def limit_enrichment(kit: Kit, upload: Upload) -> Kit:
    """Return the kit with the ceiling that the upload asks for, where it is below the operator's."""
    wanted = upload.enrichment_budget_usd
    if kit.enrichment is None or wanted is None or wanted >= kit.enrichment.budget_usd:
        return kit
    return replace(kit, enrichment=replace(kit.enrichment, budget_usd=wanted))


def warn_of_unpaid_enrichment(upload: Upload, kit: Kit, run: Run) -> None:
    """Warn of an upload's budget for entities and summaries where nothing can be spent on them."""
    if upload.enrichment_budget_usd and (reason := explain_unpaid_enrichment(kit)):
        run.warn("no_effect", f"enrichment_budget_usd has no effect: {reason}")


def explain_unpaid_enrichment(kit: Kit) -> str:
    """Return why nothing can be spent on entities and summaries by a chat model; "" where it can."""
    if kit.enrichment is not None:
        return ""
    if not kit.has_chat_model:
        return "only a chat model is paid for entities and summaries, and none is configured"
    return "the operator lets entities and summaries cost nothing (RAG_ENRICHMENT_BUDGET_USD)"


def _explain_unpaid_layout(kit: Kit, limits: UploadLimits) -> str:
    """Return why nothing can be spent on reading by a layout service; "" where it can."""
    if not kit.layout_reader.usd_per_page:
        return "only Document Intelligence is paid for reading, and none is configured"
    return "" if limits.layout_budget_usd else "the operator lets reading cost nothing (RAG_LAYOUT_BUDGET_USD)"


async def _load_known_codes(index: Index, scope: Scope, run: Run) -> list[str]:
    """Return codes of the documents that the scope sees, which show what codes look like there.

    None where the store does not answer: the document is accepted all the same, and writing it says what is wrong.
    """
    counting = index.store.count_facets(CODE_TYPES[:1], scope, limit=MAX_KNOWN_CODES)
    try:
        counted = await run.step("known_codes", counting, within_s=KNOWN_CODES_TIMEOUT_S)
    except Unavailable:
        return []
    return [str(bucket.value) for facet in counted for bucket in facet.buckets]


def build_indexing_result(
    document: Document, chunks: Sequence[Chunk], replacement: ReplacementResult, embedded: int, run: Run
) -> IndexingResult:
    """Return the counts of an indexed document, and note in the run how many chunks the index has not accepted."""
    if replacement.failed:
        reason = f"the index has not accepted {len(replacement.failed)} of {len(chunks)} chunks"
        run.degrade("index", "index_partial", reason, "the earlier version stays, what can be sent again will be")
    return IndexingResult(
        document_id=document.id,
        chunks=len(chunks),
        embedded=embedded,
        unchanged=replacement.unchanged,
        removed=replacement.removed,
        pages=document.pages,
        extractor=document.extractor,
        failed=replacement.failed,
    )


async def _extract_upload(upload: Upload, limits: UploadLimits, kit: Kit, run: Run) -> Extraction:
    from rag_core.ingestion import extract, file_extraction, sandbox  # not needed at start

    if upload.data is not None:
        return await file_extraction.extract_file(
            upload.data,
            upload.filename or "",
            kit.layout_reader,
            run,
            timeout_s=limits.parse_timeout_s,
            budget_usd=lower_budget(upload.layout_budget_usd, limits.layout_budget_usd),
        )
    if upload.blocks is not None:
        return await asyncio.to_thread(extract.extraction_from_blocks, upload.blocks)
    kind, text = detect_text_kind(upload), upload.content or ""
    return await sandbox.extract_text_in_sandbox(kind, text, timeout_s=limits.parse_timeout_s)


async def _split_upload_blocks(blocks: Sequence[Block], chunking: Chunking, index: Index, run: Run) -> list[ChunkDraft]:
    similarity = await _build_sentence_similarity(blocks, index, run) if chunking.strategy == "semantic" else None
    drafts = await asyncio.to_thread(
        lambda: list(islice(split_into_chunks(blocks, chunking, similarity=similarity), MAX_CHUNKS + 1))
    )
    if len(drafts) > MAX_CHUNKS:
        raise TooLarge(
            f"the document has more than {MAX_CHUNKS:,} chunks: split it, or ask for a larger chunk_size",
            code="too_many_chunks",
            details={"limit": MAX_CHUNKS},
        )
    return drafts


async def _build_sentence_similarity(blocks: Sequence[Block], index: Index, run: Run) -> SentenceSimilarity | None:
    sentences = await asyncio.to_thread(collect_sentences, blocks)
    vectors = await run.attempt(
        "chunk",
        index.embedder.embed_documents(sentences),
        otherwise=None,
        fallback="sentences were compared by their words",
    )
    return build_cosine_similarity(dict(zip(sentences, vectors, strict=True))) if vectors else None


def _build_document_with_chunks(
    upload: Upload, extraction: Extraction, drafts: Sequence[ChunkDraft], scope: Scope, known_codes: Sequence[str]
) -> tuple[Document, list[Chunk]]:
    text_hash = _hash_text("\n\n".join(block.text for block in extraction.blocks))
    document_id = derive_document_id(upload, scope) or _derive_uuid(scope.workflow_id, scope.user_id, text_hash)
    source = _derive_source(upload) or document_id
    document = Document(
        id=document_id,
        workflow_id=scope.workflow_id,
        title=choose_title(upload, extraction, source),
        source=source,
        content_hash=text_hash,
        extractor=label_extractor(extraction.extractor),
        pages=extraction.pages,
        summary=_summarize_blocks(extraction.blocks),
        user_id=scope.user_id,
        metadata=upload.metadata,
    )
    return document, list(_build_chunks(document, drafts, known_codes))


def derive_document_id(upload: Upload, scope: Scope) -> str | None:
    """Return the id that the upload's document will have; None where only its text will decide that."""
    return upload.document_id or (
        _derive_uuid(scope.workflow_id, scope.user_id, _derive_source(upload)) if _derive_source(upload) else None
    )


def _derive_source(upload: Upload) -> str:
    """Return the caller's name for the document's origin, else the file name; it is never used as a path."""
    return clean_text(upload.source or (upload.filename or "").replace("\\", "/").rpartition("/")[2]).strip()


def _summarize_blocks(blocks: Sequence[Block]) -> str:
    rows = [block for block in blocks if block.kind == "row"]
    if rows:
        columns = dict.fromkeys(name for row in rows[:1000] for name in row.fields)
        return f"A table of {len(rows):,} rows with {', '.join(list(columns)[:20])}."
    text = "\n\n".join(block.text for block in blocks if block.kind == "paragraph")
    return " ".join(select_key_sentences(text, _SUMMARY_SENTENCES))


def _build_chunks(document: Document, drafts: Sequence[ChunkDraft], known_codes: Sequence[str]) -> Iterator[Chunk]:
    pieces_by_row = Counter(id(draft.fields) for draft in drafts)
    sources = [EntitySource(d.content, d.fields if pieces_by_row[id(d.fields)] == 1 else {}) for d in drafts]
    entities = find_entities(sources, known_codes)
    for ordinal, (draft, head) in enumerate(zip(drafts, find_cut_heads(drafts), strict=True)):
        cells = list(map(str, draft.fields.values()))
        filterable = {name: value for name, value in draft.fields.items() if len(str(value)) <= MAX_FILTERABLE_CHARS}
        kept = {"page_label": draft.page_label, TABLE_HEAD_FIELD: head}
        label = {name: value for name, value in kept.items() if value}
        yield Chunk(
            id=build_chunk_id(document.workflow_id, document.id, ordinal),
            document_id=document.id,
            ordinal=ordinal,
            content=draft.content,
            title=document.title,
            source=document.source,
            content_hash=hash_passage(draft.content, document.title),
            spans=draft.spans,
            parent_id=None
            if draft.parent_ordinal is None
            else build_chunk_id(document.workflow_id, document.id, draft.parent_ordinal),
            heading_path=draft.heading_path,
            summary=_join_cells(cells) if cells else " ".join(select_key_sentences(draft.content, 1)),
            entities=entities[ordinal],
            metadata={**document.metadata, **label, **dict(islice(filterable.items(), MAX_METADATA_ENTRIES))},
        )


def _join_cells(cells: Sequence[str]) -> str:
    """Return the beginning of a row's cells, none of which is empty, as its summary."""
    return "; ".join(cell[:_MAX_ROW_SUMMARY_CHARS] for cell in cells[:_MAX_ROW_SUMMARY_CHARS])[:_MAX_ROW_SUMMARY_CHARS]


def build_chunk_id(workflow_id: str, document_id: str, ordinal: int) -> str:
    """Return the id of a document's chunk; it depends on nothing but the workflow, the document and the ordinal."""
    return _derive_uuid(workflow_id, document_id, ordinal)


def _derive_uuid(*parts: str | int | None) -> str:
    """Return a UUID that is the same for the same parts; as JSON, ("a", "b") and ("a,b",) give different ones."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(parts)))


def _hash_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()
