"""A retriever for LlamaIndex (`pip install 'azure-rag[llamaindex]'`)."""

from collections.abc import Mapping
from typing import Any

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    message = "this retriever requires: pip install 'azure-rag[llamaindex]'"
    raise ModuleNotFoundError(message, name=error.name) from error

from rag_core.background_loop import wait_for_result
from rag_core.retrievers.passages import find_passages


class RagRetriever(BaseRetriever):  # type: ignore[misc]
    """Finds passages by `consult_rag`: those of the function app that RAG_FUNCTIONS_URL names, else of this process.

    `options` are further fields of the request, as {"top_k": 5, "pipeline": "standard"}. A failure is raised.
    """

    def __init__(self, workflow_id: str = "default", options: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._workflow_id, self._options = workflow_id, dict(options or {})

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return wait_for_result(self._aretrieve(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = await find_passages(query_bundle.query_str, self._workflow_id, self._options)
        return list(map(_make_node, passages))


def _make_node(passage: Mapping[str, Any]) -> NodeWithScore:
    metadata = {**passage["metadata"], "title": passage["title"]}
    return NodeWithScore(
        node=TextNode(id_=passage["id"], text=passage["content"], metadata=metadata), score=passage["score"]
    )
