"""Steps of the Azure stores of LangChain and LlamaIndex; `evals.toolkit_stores` runs it with the packages of theirs."""

import asyncio
import sys
from collections.abc import Callable

from azure.core.credentials import AzureKeyCredential
from azure.search.documents import SearchClient
from azure.search.documents.indexes import SearchIndexClient
from langchain_community.vectorstores.azuresearch import AzureSearch
from langchain_core.embeddings import Embeddings
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters, VectorStoreQuery
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.azureaisearch import AzureAISearchVectorStore, IndexManagement, MetadataIndexFieldType

ENDPOINT, KEY = sys.argv[1:3]
TEXTS = ("the gearbox shifts late", "the engine misfires when cold", "the brake pads wear out")
WORDS = ("gearbox", "engine", "brake")


class WordEmbeddings(Embeddings):
    """One number for each of three words."""

    def embed_query(self, text: str) -> list[float]:
        return [1.0 if word in text else 0.01 for word in WORDS]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class WordEmbedding(MockEmbedding):
    """The same for LlamaIndex."""

    def _get_query_embedding(self, query: str) -> list[float]:
        return WordEmbeddings().embed_query(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return WordEmbeddings().embed_query(text)


def open_langchain(**more: object) -> AzureSearch:
    return AzureSearch(ENDPOINT, KEY, "langchain", WordEmbeddings(), **more)


def langchain_adds_and_searches_in_every_way() -> None:
    store = open_langchain(semantic_configuration_name="semantic")
    ids = store.add_texts(list(TEXTS), [{"page": number} for number in range(len(TEXTS))], keys=["a", "b", "c"])
    assert len(ids) == 3
    for kind in ("similarity", "hybrid"):
        assert store.similarity_search("gearbox", k=1, search_type=kind)[0].page_content == TEXTS[0], kind
    (best, *_), *_ = store.semantic_hybrid_search_with_score_and_rerank("engine misfires", k=1)
    assert best.page_content == TEXTS[1]
    found = store.similarity_search("gearbox", k=3, search_type="similarity", filters="id ne 'a'")
    assert {one.metadata["page"] for one in found} == {1, 2}
    assert store.similarity_search_with_relevance_scores("brake", k=1)[0][1] > 0.9


def langchain_searches_asynchronously_and_deletes() -> None:
    async def search() -> None:
        store = open_langchain()
        assert (await store.ahybrid_search("brake pads", k=1))[0].page_content == TEXTS[2]
        retriever = store.as_retriever(search_type="similarity", k=1)
        assert (await retriever.ainvoke("engine"))[0].page_content == TEXTS[1]

    asyncio.run(search())
    store = open_langchain()
    assert store.delete(["a"])
    assert store.similarity_search("gearbox", k=3, search_type="similarity")[0].page_content != TEXTS[0]


def open_llama_index() -> AzureAISearchVectorStore:
    return AzureAISearchVectorStore(
        search_or_index_client=SearchIndexClient(ENDPOINT, AzureKeyCredential(KEY)),
        index_name="llama",
        index_management=IndexManagement.CREATE_IF_NOT_EXISTS,
        id_field_key="id",
        chunk_field_key="chunk",
        embedding_field_key="embedding",
        embedding_dimensionality=3,
        metadata_string_field_key="metadata",
        doc_id_field_key="doc_id",
        filterable_metadata_field_keys={"page": ("page", MetadataIndexFieldType.INT32)},
        semantic_configuration_name="mySemanticConfig",
    )


def llama_index_adds_and_searches_in_every_way() -> None:
    store, embedding = open_llama_index(), WordEmbedding(embed_dim=3)
    nodes = [TextNode(text=text, id_=f"n{n}", metadata={"page": n}) for n, text in enumerate(TEXTS)]
    index = VectorStoreIndex(
        nodes, storage_context=StorageContext.from_defaults(vector_store=store), embed_model=embedding
    )
    for mode in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.SEMANTIC_HYBRID):
        retriever = index.as_retriever(vector_store_query_mode=mode, similarity_top_k=1)
        assert retriever.retrieve("the engine misfires")[0].text == TEXTS[1], mode
    filters = MetadataFilters(filters=[ExactMatchFilter(key="page", value=2)])
    assert [one.text for one in index.as_retriever(filters=filters).retrieve("engine")] == [TEXTS[2]]


def llama_index_gives_nodes_and_deletes() -> None:
    store = open_llama_index()
    assert [one.node_id for one in store.get_nodes(["n0"])] == ["n0"]
    store.delete_nodes(["n0"])
    asked = VectorStoreQuery(query_embedding=WordEmbeddings().embed_query("gearbox"), similarity_top_k=3)
    assert "n0" not in (store.query(asked).ids or [])
    assert SearchClient(ENDPOINT, "llama", AzureKeyCredential(KEY)).get_document_count() == 2


STEPS: tuple[Callable[[], None], ...] = (
    langchain_adds_and_searches_in_every_way,
    langchain_searches_asynchronously_and_deletes,
    llama_index_adds_and_searches_in_every_way,
    llama_index_gives_nodes_and_deletes,
)


def main() -> int:
    failed = 0
    for step in STEPS:
        try:
            step()
        except Exception as failure:
            failed += 1
            print(f"failed {step.__name__}: {type(failure).__name__}: {failure}")
        else:
            print(f"passed {step.__name__}")
    print(f"{len(STEPS)} steps: {len(STEPS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
