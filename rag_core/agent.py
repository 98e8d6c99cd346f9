"""The documented local class (S1-07 to S1-10): the same service, without HTTP, answering in the same shape."""

from dataclasses import dataclass
from typing import Any

from rag_core.answering.citation_styles import Style
from rag_core.core import presets
from rag_core.core.kit import Kit
from rag_core.core.model import Filter, Scope
from rag_core.core.presets import Preset
from rag_core.core.run import Run
from rag_core.replies import answered, consulted
from rag_core.service import ask, consult


@dataclass(frozen=True, slots=True)
class RAGRetrievalAgent:
    """Four ways to find, and one to be answered, on the parts of `bootstrap.in_memory()` or any others.

    Every method takes, besides the question, its `workflow_id`, the `user_id` and `groups` of who asks, and the request
    fields of `consult_rag` (`top_k`, `search_type`, `enable_…`). Replies are plain data, as `consult_rag` gives them.
    """

    kit: Kit

    async def consult_rag_tool(self, query: str, workflow_id: str = "default", **fields: Any) -> dict[str, Any]:
        """Hybrid search with semantic ranking and captions."""
        return await self.ask("standard", query, workflow_id, **fields)

    async def consult_rag_with_rerank(self, query: str, workflow_id: str = "default", **fields: Any) -> dict[str, Any]:
        """The same with three times the candidates, of which the best are graded."""
        return await self.ask("rerank", query, workflow_id, **fields)

    async def advanced_rag_retrieve(self, query: str, workflow_id: str = "default", **fields: Any) -> dict[str, Any]:
        """Expansion, HyDE, one search a wording, fusion and grading."""
        return await self.ask("advanced", query, workflow_id, **fields)

    async def get_entity_facets(
        self, query: str = "", workflow_id: str = "default", *, field: str | None = None, **fields: Any
    ) -> dict[str, Any]:
        """The unique values of `field`, or of the field that the question means, with their counts."""
        return await self.ask("facets", query, workflow_id, facets=(field,) if field else (), **fields)

    async def ask(
        self,
        pipeline: str,
        query: str,
        workflow_id: str = "default",
        *,
        user_id: str | None = None,
        groups: tuple[str, ...] = (),
        filters: tuple[Filter, ...] = (),
        facets: tuple[str, ...] = (),
        **fields: Any,
    ) -> dict[str, Any]:
        """By any pipeline, as `consult_rag` is asked."""
        run = Run()
        preset = _chosen(run, pipeline=pipeline, **fields)
        question = preset.query(query, Scope(workflow_id, user_id, groups), filters=filters, facets=facets)
        result = await consult(question, self.kit, run, pipeline=preset.pipeline)
        return consulted(result, question, preset, run)

    async def answer(
        self,
        query: str,
        workflow_id: str = "default",
        *,
        user_id: str | None = None,
        groups: tuple[str, ...] = (),
        document_ids: tuple[str, ...] = (),
        filters: tuple[Filter, ...] = (),
        style: Style = "numbers",
        **fields: Any,
    ) -> dict[str, Any]:
        """An answer in sentences with their checked citations, as `api/rag/ask` is asked and replies."""
        run = Run()
        preset = _chosen(run, **fields)
        question = preset.query(query, Scope(workflow_id, user_id, groups, document_ids), filters=filters)
        answer = await ask(question, self.kit, run, pipeline=preset.pipeline)
        return answered(answer, question, preset, run, style)


def _chosen(run: Run, **fields: Any) -> Preset:
    preset, advice = presets.choose(**fields)
    for message in advice:
        run.warn("no_effect", message)
    return preset
