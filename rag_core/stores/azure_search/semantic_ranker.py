"""The semantic ranker of the search service: asked for while it answers, and done without when it refuses."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rag_core.core.run import degrade_current_run
from rag_core.stores.azure_search.previews import MEMBERS_OPTION
from rag_core.stores.azure_search.service_errors import FeatureNotOffered, SearchRecord, SemanticRankerRefused

PAUSE_S = 300.0  # after a refusal; a plan that is used up stays so until the next month
PAUSE_AFTER_THROTTLING_S = 10.0
FALLBACK = "the order of the search"

Search = Callable[..., Awaitable[list[SearchRecord]]]


class SemanticRanker:
    """Whether the ranker is asked: not when it is not used, and not for a while after it has refused."""

    def __init__(self, *, is_used: bool) -> None:
        self._is_used = is_used
        self._refusal: SemanticRankerRefused | None = None
        self._asked_again_at = 0.0  # by the clock of the event loop

    async def search(
        self,
        search: Search,
        semantic: Mapping[str, Any] | None,
        plain: Mapping[str, Any],
        rewriting: Mapping[str, Any] | None = None,
    ) -> list[SearchRecord]:
        """Return the records of the semantic request, or of the plain one where there is no ranker or it refuses.

        `rewriting` are members of a preview, with which the semantic request is tried first. A refusal is recorded in
        the current run, and only if a later request succeeds: else that one's error counts.
        """
        if semantic is None or not self._is_used:
            return await search(**plain)
        if self._refusal is None or asyncio.get_running_loop().time() >= self._asked_again_at:
            try:
                records = await self._search_rewritten(search, semantic, rewriting or {})
            except FeatureNotOffered:
                return await search(**plain)
            except SemanticRankerRefused as refusal:
                records = await search(**plain)
                self._pause(refusal)
            else:
                self._refusal = None
                _report_missing_scores(records)
                return records
        else:
            records = await search(**plain)
        if self._refusal:
            degrade_current_run("semantic", self._refusal.code, self._refusal.message, FALLBACK)
        return records

    async def _search_rewritten(
        self, search: Search, semantic: Mapping[str, Any], rewriting: Mapping[str, Any]
    ) -> list[SearchRecord]:
        """Search with the question rewritten by the service, or as it is where the service refuses to rewrite."""
        if not rewriting:
            return await search(**semantic)
        members = {**semantic.get(MEMBERS_OPTION, {}), **rewriting}
        try:
            return await search(**{**semantic, MEMBERS_OPTION: members})
        except SemanticRankerRefused as refusal:
            records = await search(**semantic)
            reason = f"Azure AI Search did not rewrite the question (status {refusal.details.get('status')})"
            degrade_current_run("rewrite", "query_rewriting_refused", reason, "the question as it was asked")
            return records

    def _pause(self, refusal: SemanticRankerRefused) -> None:
        pause_s = PAUSE_AFTER_THROTTLING_S if refusal.details.get("status") == 429 else PAUSE_S
        self._refusal, self._asked_again_at = refusal, asyncio.get_running_loop().time() + pause_s


def _report_missing_scores(records: list[SearchRecord]) -> None:
    """Record that the ranker gave no hit a score, as it does when it has no capacity or time."""
    if records and all(record["@search.reranker_score"] is None for record in records):
        reason = "the semantic ranker of Azure AI Search gave no scores: it had no capacity, or not enough time"
        degrade_current_run("semantic", "semantic_ranker_partial", reason, FALLBACK)
