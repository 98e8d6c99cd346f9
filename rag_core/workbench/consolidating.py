"""The groups of retrieved passages, completed from the document where it is kept, else from its stored passages."""

import asyncio
from collections.abc import Mapping, Sequence

from rag_core.core.kit import Kit
from rag_core.core.model import Query, Ranking
from rag_core.core.run import Run
from rag_core.ingestion import originals
from rag_core.ingestion.extract.text import decode
from rag_core.workbench.groups import Group, completed, grouped, written_out

READ_AS_LINES = ("markdown", "text")  # kinds of which a line of the file is a line of the document
ENRICH_S = 20.0


async def consolidated(hits: Ranking, query: Query, kit: Kit, run: Run) -> list[Group]:
    """The groups that have enough of their lines and enough text, best first; a warning says what was left out."""
    groups, sparse = grouped(hits, gap=query.line_gap, coverage_min=query.coverage_min)
    whole = await run.attempt(
        "enrich",
        _enriched(groups, query, kit),
        otherwise=groups,
        fallback="the retrieved passages, without what stands between them",
        within_s=ENRICH_S,
    )
    kept = [group for group in whole if len(group.passage.content) >= query.context_min_chars]
    _note(len(hits), len(groups) + sparse, sparse, len(whole) - len(kept), query, run)
    return kept


async def _enriched(groups: Sequence[Group], query: Query, kit: Kit) -> list[Group]:
    ids = {group.passage.document_id for group in groups}
    lines = dict(zip(ids, await asyncio.gather(*(_lines(id, query, kit) for id in ids)), strict=True))
    return list(await asyncio.gather(*(_whole(group, lines, query, kit) for group in groups)))


async def _whole(group: Group, lines: Mapping[str, Sequence[str]], query: Query, kit: Kit) -> Group:
    more = await completed(group, query.scope, kit.index.store, min_chars=query.context_min_chars)
    own = lines[group.passage.document_id]
    return written_out(more, own) if own else more


async def _lines(document_id: str, query: Query, kit: Kit) -> list[str]:
    """The lines of the document as it came; none unless its reader may see it, and it is the version indexed."""
    document = await kit.index.store.document(document_id, query.scope)
    work = document and await originals.kept(document, kit)
    if not work or work.kind not in READ_AS_LINES:
        return []
    return (await asyncio.to_thread(decode, work.data))[0].split("\n")


def _note(chunks: int, groups: int, sparse: int, short: int, query: Query, run: Run) -> None:
    if sparse:
        share = f"less than {query.coverage_min:g} of the lines that they span"
        run.warn("groups_sparse", f"left out {sparse} of {groups} groups, which hold {share}")
    if short:
        run.warn(
            "groups_short", f"left out {short} of {groups} groups, shorter than {query.context_min_chars} characters"
        )
    if chunks and sparse + short == groups:
        run.warn("nothing_consolidated", f"no group is left: a prompt is made of the {chunks} retrieved chunks")
