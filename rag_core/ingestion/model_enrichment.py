"""Entities and summaries of passages by a chat model (S1-31, S1-32): priced before it is asked, and up to a ceiling.

What the model leaves out, or may not cost, stays as it was found without a model, and the run says so. A passage whose
text has been described stays described: a worker that goes on, or a later upload, does not pay for it again.
"""

import asyncio
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from rag_core import prompts
from rag_core.core.errors import DeadlineExceeded, Unavailable
from rag_core.core.json_codec import entity_from_json_array, entity_to_json_array
from rag_core.core.kit import EnrichmentModel, Kit
from rag_core.core.model import Chunk, Document, Entity, Filter, Scope
from rag_core.core.ports import LLM, Prompt
from rag_core.core.run import Run
from rag_core.ingestion.entities.extraction import MAX_ENTITIES_OF_PASSAGE, MAX_ENTITY_CHARS
from rag_core.prompts.completions import (
    complete_object,
    get_completion_list,
    index_by_id,
    make_invalid_completion_error,
)
from rag_core.text.tokens import count_tokens

BATCH_CHUNKS = 10  # passages of a call: fewer pay for the instructions more often, more are described worse
BATCH_CHARS = 30_000
CALLS_AT_ONCE = 4
MAX_SUMMARY_CHARS = 500
MAX_DESCRIBED_CHUNKS = 50_000
CALL_TIMEOUT_S = 120.0
MIN_CALL_S = 10.0  # less time than this for a reply: it would be cut off, and paid for all the same
PAYMENT = "payment:"  # what a key in the log begins with where its value is what some calls have cost, in USD
MARK = "enriched_by"  # the metadata of a chunk that a model has described: the name of the model
FALLBACK = "their key sentence, and the entities found without a model"


@dataclass(frozen=True, slots=True)
class EnrichmentEstimate:
    """What describing passages costs at most; `usd` is None where the price of the model is not known."""

    model: str
    passages: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0

    def __add__(self, other: "EnrichmentEstimate") -> "EnrichmentEstimate":
        return EnrichmentEstimate(
            self.model,
            self.passages + other.passages,
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.usd is None or other.usd is None else self.usd + other.usd,
        )


@dataclass(frozen=True, slots=True)
class Description:
    """What a model wrote of a passage."""

    summary: str
    entities: tuple[Entity, ...]


class EnrichmentLog(Protocol):
    """Where what was paid for, and the payments, are kept until the document is in the index: JSON by key."""

    async def load_enrichments(self, model: str) -> Mapping[str, str]: ...
    async def save_enrichments(self, enrichments: Mapping[str, str], model: str) -> None: ...


@dataclass(frozen=True, slots=True)
class RememberingLog:
    """A log in memory, for a document that a job may have to finish."""

    saved: dict[str, dict[str, str]] = field(default_factory=dict)  # by model

    async def load_enrichments(self, model: str) -> Mapping[str, str]:
        return self.saved.get(model, {})

    async def save_enrichments(self, enrichments: Mapping[str, str], model: str) -> None:
        self.saved.setdefault(model, {}).update(enrichments)

    async def copy_to(self, log: EnrichmentLog) -> None:
        """Save what is remembered in another log."""
        for model, enrichments in self.saved.items():
            await log.save_enrichments(enrichments, model)


@dataclass(slots=True)
class EnrichmentPurse:
    """The money for one document: what was spent of the budget, as far as the replies say, also by earlier attempts.

    A call that was cut off counts with what it costs at most: the model may have written all of its reply.
    """

    model: EnrichmentModel
    run: Run
    spent_usd: float = 0.0
    stopped: list[Chunk] = field(default_factory=list)

    def book_lost_call(self, estimate: EnrichmentEstimate) -> None:
        """Book a call whose reply nobody has waited for."""
        self.spent_usd += estimate.usd or 0.0

    def choose_affordable(self, batches: Sequence[Sequence[Chunk]], document: Document) -> list[Sequence[Chunk]]:
        """Return the first batches that cost no more than is left at most; the chunks of the others are stopped."""
        left, chosen = self.model.budget_usd - self.spent_usd, list[Sequence[Chunk]]()
        for batch in batches:
            usd = estimate_call(_build_prompt(batch, document), self.model, len(batch)).usd
            if usd is None or usd > left or self.stopped:
                self.stopped += batch
            else:
                left -= usd
                chosen.append(batch)
        return chosen

    def can_afford(self, estimate: EnrichmentEstimate) -> bool:
        """Return whether a call costs no more than is left, at most."""
        return estimate.usd is not None and estimate.usd <= self.model.budget_usd - self.spent_usd

    @contextmanager
    def paying(self, *estimates: EnrichmentEstimate) -> Iterator[None]:
        """Book what calls cost by the run's record; where that does not say, what they cost at most."""
        before_usd = self.run.cost_usd
        try:
            yield
        finally:
            after_usd = self.run.cost_usd
            known = None if before_usd is None or after_usd is None else after_usd - before_usd
            self.spent_usd += sum(estimate.usd or 0.0 for estimate in estimates) if known is None else known


async def enrich_chunks(
    document: Document,
    chunks: Sequence[Chunk],
    known: Mapping[str, Description],
    purse: EnrichmentPurse,
    llm: LLM,
    log: EnrichmentLog,
) -> list[Chunk]:
    """Return the chunks with the entities and the summary that a chat model writes of each.

    `known` has what it wrote before of those that are in the index or in the log. A chunk without a usable description
    is returned as it is; the run says how many, and why. Nothing is asked where the price of the model is not known.
    """
    model, run = purse.model, purse.run
    if model.input_usd is None:
        reason = f"the price of {model.name} is not known, so RAG_ENRICHMENT_BUDGET_USD cannot be kept"
        run.degrade("enrichment", "price_unknown", reason, FALLBACK)
        return list(chunks)
    described = dict(known)
    if model.budget_usd:  # without it what was written before is kept, and nothing is asked
        await _describe_new_chunks(document, _list_new(chunks, known), described, purse, llm, log)
    return [_apply(chunk, described.get(chunk.content_hash), model) for chunk in chunks]


async def load_descriptions(
    document: Document, scope: Scope, kit: Kit, model: EnrichmentModel
) -> dict[str, Description]:
    """Return what the model wrote of the document's chunks that are in the index, by content hash."""
    marked = [Filter(f"metadata.{MARK}", "eq", model.name)]
    here = replace(scope, document_ids=(document.id,))
    stored = await kit.index.store.select(here, filters=marked, limit=MAX_DESCRIBED_CHUNKS)
    return {chunk.content_hash: Description(chunk.summary, tuple(chunk.entities)) for chunk in stored}


def estimate_enrichment(
    document: Document, chunks: Sequence[Chunk], model: EnrichmentModel, known: Mapping[str, Description]
) -> EnrichmentEstimate:
    """Return what describing the chunks that are not known costs at most."""
    total = EnrichmentEstimate(model.name, usd=None if model.input_usd is None else 0.0)
    for batch in _batch(_list_new(chunks, known)):
        total += estimate_call(_build_prompt(batch, document), model, len(batch))
    return total


def estimate_call(prompt: Prompt, model: EnrichmentModel, passages: int) -> EnrichmentEstimate:
    """Return what a call costs at most: its prompt and schema, and a reply as long as it may be."""
    sent = count_tokens(prompt.system + prompt.user + json.dumps(prompt.schema), encoding="cl100k_base")
    written = prompt.max_tokens + model.spare_tokens
    if model.input_usd is None or model.output_usd is None:
        return EnrichmentEstimate(model.name, passages, 1, sent, written, None)
    usd = (sent * model.input_usd + written * model.output_usd) / 1_000_000
    return EnrichmentEstimate(model.name, passages, 1, sent, written, usd)


def count_calls(chunks: Sequence[Chunk]) -> int:
    """Return how many calls describe these chunks."""
    return sum(1 for _ in _batch(_list_new(chunks, {})))


async def _describe_new_chunks(
    document: Document,
    chunks: Sequence[Chunk],
    known: dict[str, Description],
    purse: EnrichmentPurse,
    llm: LLM,
    log: EnrichmentLog,
) -> None:
    """Add the descriptions of chunks to the known ones, some calls at once, and save what each wave has brought."""
    model, run, batches = purse.model, purse.run, list(_batch(chunks))
    failures: dict[str, int] = {}
    for at in range(0, len(batches), CALLS_AT_ONCE):
        chosen, spent_usd = purse.choose_affordable(batches[at : at + CALLS_AT_ONCE], document), purse.spent_usd
        timeout_s = min(CALL_TIMEOUT_S, run.remaining_s / 2)
        if at and chosen and timeout_s < MIN_CALL_S:
            raise DeadlineExceeded("there is no time left to describe more passages: what was described is kept")
        with purse.paying(*(estimate_call(_build_prompt(batch, document), model, len(batch)) for batch in chosen)):
            described = await run.step("enrichment", _ask_all(document, chosen, purse, llm, failures, timeout_s))
        known.update(described)
        paid = format_payment(purse.spent_usd - spent_usd)
        await log.save_enrichments(
            {**paid, **{key: format_saved(value) for key, value in described.items()}}, model.name
        )
        if described:
            run.techniques["enrichment"] = model.name
    _note_failures(failures, purse, run)


async def _ask_all(
    document: Document,
    batches: Sequence[Sequence[Chunk]],
    purse: EnrichmentPurse,
    llm: LLM,
    failures: dict[str, int],
    timeout_s: float,
) -> dict[str, Description]:
    replies = await asyncio.gather(*(_describe(batch, document, purse, llm, failures, timeout_s) for batch in batches))
    return {key: value for reply in replies for key, value in reply.items()}


async def _describe(
    batch: Sequence[Chunk],
    document: Document,
    purse: EnrichmentPurse,
    llm: LLM,
    failures: dict[str, int],
    timeout_s: float,
) -> dict[str, Description]:
    """Return the usable descriptions of a reply; why there are none, or fewer, is counted by chunks."""
    prompt = _build_prompt(batch, document)
    try:
        async with asyncio.timeout(timeout_s):
            sources = [chunk.content for chunk in batch]
            reply = await complete_object(prompt, llm, sources=sources, max_chars=MAX_SUMMARY_CHARS)
            if reply.local:
                raise make_invalid_completion_error("came from a local technique")
            by_id = index_by_id(
                get_completion_list(reply.fields, "passages"), "id", [f"p{n}" for n in range(len(batch))]
            )
    except (Unavailable, TimeoutError) as error:
        if isinstance(error, TimeoutError):
            purse.book_lost_call(estimate_call(prompt, purse.model, len(batch)))
        reason = error.message if isinstance(error, Unavailable) else f"no reply within {timeout_s:.0f} s"
        failures[reason] = failures.get(reason, 0) + len(batch)
        return {}
    read = {chunk.content_hash: _read(by_id.get(f"p{n}"), chunk) for n, chunk in enumerate(batch)}
    usable = {key: description for key, description in read.items() if description}
    if missing := len(read) - len(usable):
        reason = "the model's reply has no usable description of them"
        failures[reason] = failures.get(reason, 0) + missing
    return usable


def _read(item: Mapping[str, Any] | None, chunk: Chunk) -> Description | None:
    """Return the description of a chunk; None for one without a summary. Entities must stand in the chunk's text."""
    summary = item.get("summary") if item else None
    if not item or not isinstance(summary, str) or not summary.strip():
        return None
    listed = item.get("entities")
    text = " ".join(chunk.content.split()).casefold()
    entities = dict.fromkeys(
        entity for value in (listed if isinstance(listed, list) else ()) if (entity := _read_entity(value, text))
    )
    return Description(" ".join(summary.split()), tuple(entities)[:MAX_ENTITIES_OF_PASSAGE])


def _read_entity(item: object, text: str) -> Entity | None:
    if not isinstance(item, dict) or item.get("type") not in prompts.ENTITY_TYPES:
        return None
    value = " ".join(str(item.get("value") or "").split())
    return Entity(item["type"], value) if 1 < len(value) <= MAX_ENTITY_CHARS and value.casefold() in text else None


def _apply(chunk: Chunk, described: Description | None, model: EnrichmentModel) -> Chunk:
    """Return the chunk with its description, and trouble codes as they were found: a model calls them codes."""
    if described is None:
        return chunk
    own = {entity.value.casefold(): entity for entity in chunk.entities if entity.type in ("dtc", "acronym")}
    entities = [own.pop(entity.value.casefold(), entity) for entity in described.entities]
    metadata = {**chunk.metadata, MARK: chunk.metadata.get(MARK, model.name)}
    return replace(chunk, summary=described.summary, entities=(*entities, *own.values()), metadata=metadata)


def _list_new(chunks: Sequence[Chunk], known: Mapping[str, Description]) -> list[Chunk]:
    """Return the chunks that have no description yet, each text once."""
    new = {chunk.content_hash: chunk for chunk in chunks if chunk.content_hash not in known and chunk.content.strip()}
    return list(new.values())


def _batch(chunks: Sequence[Chunk]) -> Iterator[list[Chunk]]:
    batch: list[Chunk] = []
    for chunk in chunks:
        if batch and (
            len(batch) == BATCH_CHUNKS or sum(len(c.content) for c in batch) + len(chunk.content) > BATCH_CHARS
        ):
            yield batch
            batch = []
        batch.append(chunk)
    if batch:
        yield batch


def _build_prompt(batch: Sequence[Chunk], document: Document) -> Prompt:
    return prompts.build_enrichment_prompt(document.title, {f"p{n}": chunk.content for n, chunk in enumerate(batch)})


def _note_failures(failures: Mapping[str, int], purse: EnrichmentPurse, run: Run) -> None:
    for reason, count in failures.items():
        run.degrade("enrichment", "enrichment_incomplete", f"{count} passages: {reason}", FALLBACK)
    if purse.stopped:
        reason = (
            f"{len(purse.stopped)} passages were not sent: with the next call the document would cost more than "
            f"{purse.model.budget_usd:g} USD (spent {purse.spent_usd:.4f})"
        )
        run.degrade("enrichment", "enrichment_budget", reason, FALLBACK)


def format_saved(description: Description) -> str:
    """Return a description as a log keeps it."""
    return json.dumps([description.summary, list(map(entity_to_json_array, description.entities))])


def parse_saved(saved: Mapping[str, str]) -> dict[str, Description]:
    """Return the descriptions that a log has kept, by the key that each has there."""
    read = {key: json.loads(text) for key, text in saved.items() if not key.startswith(PAYMENT)}
    return {key: Description(text, tuple(map(entity_from_json_array, pairs))) for key, (text, pairs) in read.items()}


def format_payment(usd: float) -> dict[str, str]:
    """Return what calls have cost as an entry of a log, under a key of its own; none where it is nothing."""
    return {f"{PAYMENT}{uuid.uuid4().hex}": json.dumps(usd)} if usd > 0 else {}


def add_payments(saved: Mapping[str, str]) -> float:
    """Return what was paid for the document by this attempt and those before it, in USD, as a log has kept it."""
    return sum(float(json.loads(usd)) for key, usd in saved.items() if key.startswith(PAYMENT))
