"""Summaries of a document in a few sentences: written by a chat model, or its own key sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from rag_core import prompts
from rag_core.core.errors import StorageFull, make_unknown_document_error
from rag_core.core.kit import Kit
from rag_core.core.model import Document, Entity, Scope
from rag_core.core.ports import LLM, ChunkStore
from rag_core.core.run import Run
from rag_core.core.techniques import note_techniques
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.prompts.completions import complete_text, make_invalid_completion_error
from rag_core.prompts.screening import screen_text

MAX_SUMMARY_CHARS = 2000
EXTRACTIVE_SUMMARY_SENTENCES = 5
MAX_SUMMARIZED_CHARS = 100_000  # some 25,000 tokens: within the window of every current chat model
SUMMARY_TIMEOUT_S = 60.0
ALL_CHUNKS = 100_000

SummaryOrigin = Literal["stored", "model", "extractive"]
_STORED: SummaryOrigin = "stored"
_EXTRACTIVE: SummaryOrigin = "extractive"


@dataclass(frozen=True, slots=True)
class Summary:
    """A document in a few sentences, with the number of its chunks and the entities that occur in them."""

    text: str
    origin: SummaryOrigin
    document: Document
    entities: tuple[Entity, ...]
    chunks: int


async def summarize_document(
    document_id: str, scope: Scope, kit: Kit, run: Run, *, refresh: bool = False, write: bool = True
) -> Summary:
    """Return the stored summary of a document, or write a new one where there is none or with `refresh`.

    A new one is stored, unless it is extractive because no chat model answered. Without `write` nothing is stored and
    no model is asked: the document's key sentences stand in for a summary that it does not have.

    Raises:
        NotFound: there is no such document, or the scope may not see it.
    """
    store = kit.index.store
    document = await run.step("document", store.load_document(document_id, scope))
    if document is None:
        raise make_unknown_document_error()
    chunks = await run.step("chunks", store.select(replace(scope, document_ids=(document_id,)), limit=ALL_CHUNKS))
    contents = [chunk.content for chunk in chunks]
    if document.summary and not refresh:
        text, origin = screen_text(document.summary, contents)[0], _STORED
    elif not write:
        run.warn("summary_not_written", "this document has no summary yet, and GET writes none: POST does")
        text, origin = extract_summary(list(_take_passages(contents))), _EXTRACTIVE
    else:
        text, origin = await _write_summary(document, contents, scope, note_techniques(kit, run), run)
    entities = tuple(dict.fromkeys(entity for chunk in chunks for entity in chunk.entities))
    return Summary(text, origin, document, entities, len(chunks))


async def _write_summary(
    document: Document, passages: Sequence[str], scope: Scope, kit: Kit, run: Run
) -> tuple[str, SummaryOrigin]:
    summarized = list(_take_passages(passages))
    if len(summarized) < len(passages):
        run.warn("summary_of_beginning", f"made from the first {len(summarized)} of {len(passages)} chunks")
    summary = await run.attempt(
        "summary",
        generate_summary(document.title, summarized, kit.llm),
        otherwise=None,
        fallback="the document's key sentences, not stored",
        within_s=SUMMARY_TIMEOUT_S,
    )
    if summary is None:
        return extract_summary(summarized), "extractive"
    text, is_local = summary
    try:
        await run.step("save", _save_summary(text, document, scope, kit.index.store))
    except StorageFull as full:
        run.degrade("save", full.code, full.message, "the summary is returned and not saved")
    return text, "extractive" if is_local else "model"


async def _save_summary(summary: str, document: Document, scope: Scope, store: ChunkStore) -> None:
    """Save the summary of a document, unless the document was replaced or deleted while it was written."""
    current = await store.load_document(document.id, scope)
    if current and current.content_hash == document.content_hash:
        await store.save_summary(document.id, summary, scope)


def _take_passages(passages: Sequence[str]) -> Iterator[str]:
    """Yield the first passages that have at most MAX_SUMMARIZED_CHARS characters together."""
    for passage, end in zip(passages, accumulate(map(len, passages)), strict=True):
        if end <= MAX_SUMMARIZED_CHARS:
            yield passage


async def generate_summary(title: str, passages: Sequence[str], llm: LLM) -> tuple[str, bool]:
    """Summarize a document by chat model; return the summary and whether a local technique wrote it.

    Images are removed, and links that the passages do not contain.

    Raises:
        Unavailable: the model did not answer, or its reply is empty (llm_output_invalid).
    """
    prompt = prompts.build_summary_prompt(title, passages)
    reply = await complete_text(prompt, llm, sources=passages, max_chars=MAX_SUMMARY_CHARS)
    if not reply.text:
        raise make_invalid_completion_error("is empty")
    return reply.text, reply.local


def extract_summary(passages: Sequence[str]) -> str:
    """Return the document's own key sentences, in place of a model's summary."""
    return " ".join(select_key_sentences("\n\n".join(passages), EXTRACTIVE_SUMMARY_SENTENCES))[:MAX_SUMMARY_CHARS]
