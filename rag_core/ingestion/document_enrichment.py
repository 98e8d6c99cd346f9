"""What a chat model adds to a document at indexing: entities and a summary of each passage, and a summary of all.

The summary of a document is made of those of its passages, so that it covers all of it and costs little. It is priced
with them, and kept under the same ceiling.
"""

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rag_core import prompts
from rag_core.core.errors import DeadlineExceeded, Unavailable
from rag_core.core.kit import EnrichmentModel, Kit
from rag_core.core.model import Chunk, Document, Scope
from rag_core.core.ports import LLM, Prompt
from rag_core.core.run import Run
from rag_core.ingestion.model_enrichment import (
    CALL_TIMEOUT_S,
    MARK,
    MAX_SUMMARY_CHARS,
    Description,
    EnrichmentEstimate,
    EnrichmentLog,
    EnrichmentPurse,
    add_payments,
    enrich_chunks,
    estimate_call,
    estimate_enrichment,
    format_payment,
    format_saved,
    load_descriptions,
    parse_saved,
)
from rag_core.prompts.completions import complete_text, make_invalid_completion_error

MAX_JOINED_CHARS = 20_000  # of the passages' summaries: of a long document every second, third, … is sent
MAX_DOCUMENT_SUMMARY_CHARS = 2_000
_KEY_SENTENCES = "its key sentences are its summary"


async def enrich_document(
    document: Document, chunks: Sequence[Chunk], scope: Scope, kit: Kit, run: Run, log: EnrichmentLog
) -> tuple[Document, list[Chunk]]:
    """Return the document and its chunks with what the kit's chat model writes of them, up to its ceiling.

    What the model leaves out, or may not cost, stays as it was found without a model, and the run says so.
    """
    model = kit.enrichment
    if model is None:
        return document, list(chunks)
    stored = await kit.index.store.load_document(document.id, scope)
    known, saved = await load_descriptions(document, scope, kit, model), await log.load_enrichments(model.name)
    purse, written = EnrichmentPurse(model, run, add_payments(saved)), parse_saved(saved)
    described = await enrich_chunks(document, chunks, {**known, **written}, purse, kit.llm, log)
    summary = find_known_summary(document, stored, known)
    if summary is None and any(MARK in chunk.metadata for chunk in described):
        summary = await _summarize(document, described, written, purse, kit.llm, log)
    return (document if summary is None else replace(document, summary=summary)), described


async def estimate_document_enrichment(
    document: Document, chunks: Sequence[Chunk], scope: Scope, kit: Kit
) -> EnrichmentEstimate | None:
    """Return what enriching a document costs at most; None where the kit has no model for it."""
    model = kit.enrichment
    if model is None:
        return None
    stored = await kit.index.store.load_document(document.id, scope)
    known = await load_descriptions(document, scope, kit, model)
    total = await asyncio.to_thread(estimate_enrichment, document, chunks, model, known)
    if find_known_summary(document, stored, known) is not None or len(chunks) < 2:
        return total
    return total + _estimate_summary(document, len(chunks), model)


def find_known_summary(document: Document, stored: Document | None, known: Mapping[str, Description]) -> str | None:
    """Return the summary that the model wrote of this text before; None where it wrote none.

    It is told by its difference from the key sentences, which stand in the document that is about to be stored.
    """
    is_same = stored is not None and stored.content_hash == document.content_hash and bool(known)
    return stored.summary if stored and is_same and stored.summary not in ("", document.summary) else None


def _estimate_summary(document: Document, passages: int, model: EnrichmentModel) -> EnrichmentEstimate:
    """Return what the summary costs at most, before the summaries that it is made of are written."""
    longest = min(passages * MAX_SUMMARY_CHARS, MAX_JOINED_CHARS)
    call = estimate_call(prompts.build_summary_prompt(document.title, ()), model, 0)
    extra_usd = None if model.input_usd is None else longest * model.input_usd / 1_000_000  # a token a character
    usd = None if call.usd is None or extra_usd is None else call.usd + extra_usd
    return replace(call, input_tokens=call.input_tokens + longest, usd=usd)


async def _summarize(
    document: Document,
    chunks: Sequence[Chunk],
    written: Mapping[str, Description],
    purse: EnrichmentPurse,
    llm: LLM,
    log: EnrichmentLog,
) -> str | None:
    """Return the model's summary of a document, saved in the log; None where there is none, which the run says.

    `written` is what the log had before.
    """
    model, run, key = purse.model, purse.run, f"document:{document.content_hash}"
    saved = written.get(key)
    if saved or len(chunks) == 1:
        return saved.summary if saved else chunks[0].summary
    if not model.budget_usd:
        return None
    prompt = prompts.build_summary_prompt(document.title, list(_choose_summaries(chunks)))
    estimate, spent_usd = estimate_call(prompt, model, 0), purse.spent_usd
    if not purse.can_afford(estimate):
        reason = f"the summary of the document was not asked for: it could cost {estimate.usd or 0:.4f} USD more"
        run.degrade("enrichment", "enrichment_budget", reason, _KEY_SENTENCES)
        return None
    try:
        with purse.paying(estimate):
            asking = _ask_for_summary(prompt, chunks, llm)
            text = await run.step("enrichment", asking, within_s=min(CALL_TIMEOUT_S, run.remaining_s / 2))
    except Unavailable as error:
        if isinstance(error, DeadlineExceeded):
            purse.book_lost_call(estimate)
        reason = f"the summary of the document: {error.message}"
        run.degrade("enrichment", "enrichment_incomplete", reason, _KEY_SENTENCES)
        text = None
    summary = {} if text is None else {key: format_saved(Description(text, ()))}
    await log.save_enrichments({**format_payment(purse.spent_usd - spent_usd), **summary}, model.name)
    return text


def _choose_summaries(chunks: Sequence[Chunk]) -> Iterator[str]:
    """Yield the summaries of the passages, of so many that they fit evenly spread ones."""
    step = max(1, math.ceil(sum(len(chunk.summary) for chunk in chunks) / MAX_JOINED_CHARS))
    return (chunk.summary for chunk in chunks[::step])


async def _ask_for_summary(prompt: Prompt, chunks: Sequence[Chunk], llm: LLM) -> str:
    sources = [chunk.content for chunk in chunks]
    reply = await complete_text(prompt, llm, sources=sources, max_chars=MAX_DOCUMENT_SUMMARY_CHARS)
    if reply.local or not reply.text:
        raise make_invalid_completion_error("came from a local technique" if reply.local else "is empty")
    return reply.text
