"""Consolidation of retrieved passages: grouped, then completed from the original or from the stored chunks."""

import asyncio
from collections.abc import Mapping, Sequence

from rag_core.core.concurrency import run_together
from rag_core.core.kit import Kit
from rag_core.core.model import Ranking
from rag_core.core.presets import Query
from rag_core.core.run import Run
from rag_core.ingestion import originals
from rag_core.ingestion.extract.text import decode_text
from rag_core.workbench.passage_groups import PassageGroup, complete_group, group_hits, rewrite_from_lines

LINE_BASED_KINDS = ("markdown", "text")  # kinds of originals whose file lines are the document's lines
ENRICH_TIMEOUT_S = 20.0


async def consolidate_hits(hits: Ranking, query: Query, kit: Kit, run: Run) -> list[PassageGroup]:
    """Return the groups with sufficient coverage and length, best first; warnings say how many were left out."""
    groups, sparse = group_hits(
        hits, max_line_gap=query.preset.workbench.line_gap, coverage_min=query.preset.workbench.coverage_min
    )
    enriched = await run.attempt(
        "enrich",
        _enrich_groups(groups, query, kit),
        otherwise=groups,
        fallback="the retrieved passages without the text between them",
        within_s=ENRICH_TIMEOUT_S,
    )
    long_enough = [
        group for group in enriched if len(group.passage.content) >= query.preset.workbench.context_min_chars
    ]
    _warn_of_omitted_groups(len(hits), len(groups) + sparse, sparse, len(enriched) - len(long_enough), query, run)
    return long_enough


async def _enrich_groups(groups: Sequence[PassageGroup], query: Query, kit: Kit) -> list[PassageGroup]:
    document_ids = {group.passage.document_id for group in groups}
    documents = await run_together(_load_document_lines(id, query, kit) for id in document_ids)
    lines_by_document = dict(zip(document_ids, documents, strict=True))
    return await run_together(_enrich_group(group, lines_by_document, query, kit) for group in groups)


async def _enrich_group(
    group: PassageGroup, lines_by_document: Mapping[str, Sequence[str]], query: Query, kit: Kit
) -> PassageGroup:
    """Complete a group from the stored chunks, and from the lines of its original where there is one."""
    complete = await complete_group(
        group, query.scope, kit.index.store, min_chars=query.preset.workbench.context_min_chars
    )
    document_lines = lines_by_document[group.passage.document_id]
    return rewrite_from_lines(complete, document_lines) if document_lines else complete


async def _load_document_lines(document_id: str, query: Query, kit: Kit) -> list[str]:
    """Return the lines of the original; none unless the scope may see it and it is the version that is indexed."""
    document = await kit.index.store.load_document(document_id, query.scope)
    original = document and await originals.load_current_original(document, kit)
    if not original or original.kind not in LINE_BASED_KINDS:
        return []
    return (await asyncio.to_thread(decode_text, original.data))[0].split("\n")


def _warn_of_omitted_groups(
    chunk_count: int, group_count: int, sparse_count: int, short_count: int, query: Query, run: Run
) -> None:
    if sparse_count:
        reason = f"they cover less than {query.preset.workbench.coverage_min:g} of the lines that they span"
        run.warn("groups_sparse", f"left out {sparse_count} of {group_count} groups: {reason}")
    if short_count:
        reason = f"they have fewer than {query.preset.workbench.context_min_chars} characters"
        run.warn("groups_short", f"left out {short_count} of {group_count} groups: {reason}")
    if chunk_count and sparse_count + short_count == group_count:
        run.warn("nothing_consolidated", f"no group is left: prompts use the {chunk_count} retrieved chunks")
