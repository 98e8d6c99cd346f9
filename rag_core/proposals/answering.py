"""Questions to the corpus of proposals, where a text stands once a stage and is cited once a stage (S2-33 to S2-43)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rag_core import service
from rag_core.core.kit import Kit
from rag_core.core.model import Answer, Chunk, Citation, Filter, Query, Scope
from rag_core.core.presets import Preset, resolve
from rag_core.core.run import Run
from rag_core.ingestion.indexing import chunk_id
from rag_core.proposals.records import STAGES

MOST = 20  # S2-38

Allowed = Mapping[str, Sequence[str]]  # values by metadata field; none given are all


async def ask(
    text: str, scope: Scope, kit: Kit, run: Run, *, top_k: int, allowed: Allowed
) -> tuple[Answer, list[Citation]]:
    """An answer from the `top_k` passages nearest in meaning, and what it cites: each proposal and stage once.

    More than 20 passages are asked for as 20, and the run says so.
    """
    if top_k > MOST:
        run.warn("top_k_capped", f"topK is at most {MOST}: {MOST} passages were asked for")
    query, preset = meant(text, scope, top_k=top_k, allowed=allowed)
    answer = await service.ask(query, kit, run, pipeline=preset.pipeline)
    twins = await run.attempt(
        "stages",
        kit.index.store.get(list(_of_all_stages(answer, scope)), scope),
        otherwise=(),
        fallback="cited at the stage that was found only",
    )
    return answer, _at_each_stage(answer, twins, allowed)


def meant(text: str, scope: Scope, *, top_k: int, allowed: Allowed) -> tuple[Query, Preset]:
    """The question that is put to the index, and the preset that it has its numbers of."""
    preset = resolve("proposals", top_k=min(top_k, MOST), top_n=min(top_k, MOST))
    conditions = [Filter(f"metadata.{name}", "in", tuple(values)) for name, values in allowed.items() if values]
    return preset.query(text, scope, filters=conditions), preset


def _of_all_stages(answer: Answer, scope: Scope) -> Iterator[str]:
    """The ids under which the passages stand when the other stages are there and have the same text (S2-14, S2-16)."""
    for chunk in _passages(answer).values():
        if proposal := chunk.metadata.get("proposal_id"):
            yield from (chunk_id(scope.workflow_id, f"{proposal}:{stage}", chunk.ordinal) for stage in STAGES)


def _at_each_stage(answer: Answer, twins: Sequence[Chunk], allowed: Allowed) -> list[Citation]:
    """The citations in the order of the answer, each at all of the stages that have its text, once (S2-43, C44)."""
    passages = _passages(answer)
    same: dict[tuple[object, str], dict[str, Chunk]] = {}
    for chunk in (*twins, *passages.values()):
        if all(chunk.metadata.get(name) in values for name, values in allowed.items() if values):
            same.setdefault(_text(chunk), {})[chunk.id] = chunk
    cited = (citation for claim in answer.claims for citation in claim.citations)
    every = (_in(chunk, citation) for citation in cited for chunk in same[_text(passages[citation.chunk_id])].values())
    first: dict[tuple[object, object], Citation] = {}
    for citation in every:
        first.setdefault(_stage(citation), citation)
    return list(first.values())


def _passages(answer: Answer) -> dict[str, Chunk]:
    return {passage.hit.chunk.id: passage.hit.chunk for passage in answer.evidence}


def _text(chunk: Chunk) -> tuple[object, str]:
    return chunk.metadata.get("proposal_id", chunk.document_id), chunk.content_hash


def _in(chunk: Chunk, citation: Citation) -> Citation:
    """The same words in this chunk."""
    return replace(
        citation,
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        title=chunk.title,
        source=chunk.source,
        metadata=chunk.metadata,
    )


def _stage(citation: Citation) -> tuple[object, object]:
    return citation.metadata.get("proposal_id", citation.document_id), citation.metadata.get("stage")
