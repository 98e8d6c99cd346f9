"""A retriever for LangChain (`pip install 'azure-rag[langchain]'`)."""

from collections.abc import Mapping
from typing import Any

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as error:
    message = "this retriever requires: pip install 'azure-rag[langchain]'"
    raise ModuleNotFoundError(message, name=error.name) from error
from pydantic import Field

from rag_core.background_loop import wait_for_result
from rag_core.retrievers.passages import find_passages


class RagRetriever(BaseRetriever):  # type: ignore[misc]
    """Finds passages by `consult_rag`: those of the function app that RAG_FUNCTIONS_URL names, else of this process.

    `options` are further fields of the request, as {"top_k": 5, "pipeline": "standard"}. A failure is raised.
    """

    workflow_id: str = "default"
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return wait_for_result(self._find_documents(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await self._find_documents(query)

    async def _find_documents(self, query: str) -> list[Document]:
        return list(map(_make_document, await find_passages(query, self.workflow_id, self.options)))


def _make_document(passage: Mapping[str, Any]) -> Document:
    metadata = {**passage["metadata"], "title": passage["title"], "score": passage["score"]}
    return Document(page_content=passage["content"], id=passage["id"], metadata=metadata)
