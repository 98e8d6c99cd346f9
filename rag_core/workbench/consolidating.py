"""Consolidation of retrieved passages: grouped, then completed from the original or from the stored chunks."""

import asyncio
from collections.abc import Mapping, Sequence

from rag_core.core.kit import Kit
from rag_core.core.model import Query, Ranking
from rag_core.core.run import Run
from rag_core.ingestion import originals
from rag_core.ingestion.extract.text import decode
from rag_core.workbench.groups import Group, completed, grouped, written_out

READ_AS_LINES = ("markdown", "text")  # kinds of originals whose file lines are the document's lines
ENRICH_S = 20.0


async def consolidated(hits: Ranking, query: Query, kit: Kit, run: Run) -> list[Group]:
    """Return the groups with sufficient coverage and length, best first; warnings say how many were left out."""
    groups, sparse = grouped(hits, gap=query.line_gap, coverage_min=query.coverage_min)
    enriched = await run.attempt(
        "enrich",
        _enriched(groups, query, kit),
        otherwise=groups,
        fallback="the retrieved passages without the text between them",
        within_s=ENRICH_S,
    )
    long_enough = [group for group in enriched if len(group.passage.content) >= query.context_min_chars]
    _note(len(hits), len(groups) + sparse, sparse, len(enriched) - len(long_enough), query, run)
    return long_enough


async def _enriched(groups: Sequence[Group], query: Query, kit: Kit) -> list[Group]:
    document_ids = {group.passage.document_id for group in groups}
    documents = await asyncio.gather(*(_lines(id, query, kit) for id in document_ids))
    lines_by_document = dict(zip(document_ids, documents, strict=True))
    return list(await asyncio.gather(*(_whole(group, lines_by_document, query, kit) for group in groups)))


async def _whole(group: Group, lines: Mapping[str, Sequence[str]], query: Query, kit: Kit) -> Group:
    """Complete a group from the stored chunks, and from the lines of its original where there is one."""
    complete = await completed(group, query.scope, kit.index.store, min_chars=query.context_min_chars)
    document_lines = lines[group.passage.document_id]
    return written_out(complete, document_lines) if document_lines else complete


async def _lines(document_id: str, query: Query, kit: Kit) -> list[str]:
    """Return the lines of the original; none unless the scope may see it and it is the version that is indexed."""
    document = await kit.index.store.document(document_id, query.scope)
    original = document and await originals.kept(document, kit)
    if not original or original.kind not in READ_AS_LINES:
        return []
    return (await asyncio.to_thread(decode, original.data))[0].split("\n")


def _note(chunks: int, groups: int, sparse: int, short: int, query: Query, run: Run) -> None:
    if sparse:
        reason = f"they cover less than {query.coverage_min:g} of the lines that they span"
        run.warn("groups_sparse", f"left out {sparse} of {groups} groups: {reason}")
    if short:
        reason = f"they have fewer than {query.context_min_chars} characters"
        run.warn("groups_short", f"left out {short} of {groups} groups: {reason}")
    if chunks and sparse + short == groups:
        run.warn("nothing_consolidated", f"no group is left: prompts use the {chunks} retrieved chunks")
