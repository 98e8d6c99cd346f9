"""A component for Haystack (`pip install 'azure-rag[haystack]'`)."""

from collections.abc import Mapping
from typing import Any

try:
    from haystack import Document, component
except ModuleNotFoundError as error:
    message = "this retriever requires: pip install 'azure-rag[haystack]'"
    raise ModuleNotFoundError(message, name=error.name) from error

from rag_core.background_loop import wait_for_result
from rag_core.retrievers.passages import find_passages


@component
class RagRetriever:
    """Finds passages by `consult_rag`: those of the function app that RAG_FUNCTIONS_URL names, else of this process.

    `options` are further fields of the request, as {"top_k": 5, "pipeline": "standard"}. A failure is raised.
    """

    def __init__(self, workflow_id: str = "default", options: dict[str, Any] | None = None) -> None:
        self.workflow_id, self.options = workflow_id, dict(options or {})

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, query: str) -> dict[str, list[Document]]:
        """Return the passages that bear on a query, best first."""
        return wait_for_result(self.run_async(query))

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    async def run_async(self, query: str) -> dict[str, list[Document]]:
        """Return the passages that bear on a query, best first."""
        passages = await find_passages(query, self.workflow_id, self.options)
        return {"documents": list(map(_make_document, passages))}


def _make_document(passage: Mapping[str, Any]) -> Document:
    meta = {**passage["metadata"], "title": passage["title"]}
    return Document(id=passage["id"], content=passage["content"], meta=meta, score=passage["score"])
