"""The only file that knows which adapter fills which slot. Adapters are imported when first chosen."""

from dataclasses import replace
from typing import TYPE_CHECKING

from rag_core.choices import provider
from rag_core.errors import Misconfigured
from rag_core.index import Index
from rag_core.kit import Kit, NoLayout
from rag_core.ports import LLM, ChunkStore, Embedder, Layout, Reranker
from rag_core.settings import DEFAULTS, Settings

if TYPE_CHECKING:
    from rag_core.providers.openai import Profile
    from rag_core.stores.azure_search import AzureSearchStore

OUTBOX = "outbox.sqlite3"  # of the chunks that Azure AI Search has not taken yet
CUT = ("text-embedding-3-large",)  # wider than the profiles' 1536 unless asked to be less (C06)


def build(settings: Settings) -> Kit:
    """The parts for these settings. Nothing heavy is loaded before it is used, and nobody is contacted.

    Raises:
        Misconfigured: a part is chosen that lacks what it requires; the variable is named.
    """
    reranker = local_reranker(settings)
    embedder = _embedder(settings)
    return Kit(
        index=Index(_store(settings, embedder), embedder),
        llm=_llm(settings, reranker),
        reranker=reranker,
        layout=_layout(settings),
    )


def in_memory(settings: Settings = DEFAULTS) -> Kit:
    """The local parts over a store that ends with the process (the InMemoryVectorStore of S1-36)."""
    return build(replace(settings, data_dir=None, azure_search_endpoint=None))


async def setup(settings: Settings) -> str:
    """Make the store ready to be written to, or upgrade it; says what was done. May be repeated."""
    if settings.azure_search_endpoint is None:
        store = _embedded(settings)
        held = await store.describe()
        await store.close()
        return f"{held.location} is ready: {held.documents} documents, {held.chunks} chunks"
    search = _azure_search(settings.azure_search_endpoint, settings, _embedder(settings))
    try:
        return f"{settings.azure_search_endpoint}, index {settings.azure_search_index}: {await search.setup()}"
    finally:
        await search.close()


def local_embedder(settings: Settings) -> Embedder:
    """The offline embedder, or the null one that says which files are missing."""
    from rag_core.providers import local_models
    from rag_core.providers.absent import NoEmbedder

    folder = local_models.find("embedder", settings.models_dir)
    if folder is None:
        return NoEmbedder(local_models.missing("embedder", settings.models_dir))
    from rag_core.providers.local_embedder import LocalEmbedder  # wants the libraries that `find` has looked for

    return LocalEmbedder(folder, threads=settings.model_threads)


def local_reranker(settings: Settings) -> Reranker:
    """The offline cross-encoder, or the null one that says which files are missing."""
    from rag_core.providers import local_models
    from rag_core.providers.absent import NoReranker

    folder = local_models.find("reranker", settings.models_dir)
    if folder is None:
        return NoReranker(local_models.missing("reranker", settings.models_dir))
    from rag_core.providers.cross_encoder import CrossEncoder

    return CrossEncoder(folder, threads=settings.model_threads)


def _store(settings: Settings, embedder: Embedder) -> ChunkStore:
    if settings.azure_search_endpoint is None:
        return _embedded(settings)
    return _azure_search(settings.azure_search_endpoint, settings, embedder)


def _azure_search(endpoint: str, settings: Settings, embedder: Embedder) -> "AzureSearchStore":
    from rag_core.stores.azure_search import AzureSearchStore

    return AzureSearchStore(
        endpoint,
        settings.azure_search_key,
        settings.azure_search_index,
        outbox=settings.data_dir and settings.data_dir / OUTBOX,
        space=embedder.space,
        dimensions=embedder.dimensions,
    )


def _embedded(settings: Settings) -> ChunkStore:
    try:
        from rag_core.stores.embedded import EmbeddedStore
    except ModuleNotFoundError as lacking:
        raise Misconfigured(
            f"no store: AZURE_SEARCH_ENDPOINT is not set, and the embedded store lacks {lacking.name}: "
            "set the one, or pip install 'azure-rag[local]' for the other",
            field="AZURE_SEARCH_ENDPOINT",
        ) from lacking
    return EmbeddedStore(settings.data_dir)


def _embedder(settings: Settings) -> Embedder:
    if provider(settings) == "local":
        return local_embedder(settings)
    from rag_core.providers.openai import OpenAIEmbedder

    chosen, key = profile(settings)
    return OpenAIEmbedder(chosen, key=key)


def _llm(settings: Settings, reranker: Reranker) -> LLM:
    if provider(settings) == "local":
        from rag_core.ingestion.enrich import key_sentences
        from rag_core.providers.local_text import LocalText

        return LocalText(reranker, key_sentences)
    from rag_core.providers.openai import OpenAIChat

    chosen, key = profile(settings)
    return OpenAIChat(chosen, key=key)


def profile(settings: Settings) -> tuple["Profile", str | None]:
    """The provider's profile with what the operator said of it, and the key."""
    from rag_core.providers.openai import PROFILES

    name = provider(settings)
    own = PROFILES[name]
    where, chat, embedding, key = {
        "azure": (
            settings.azure_openai_endpoint,
            settings.chat_deployment,
            settings.embedding_deployment,
            settings.azure_openai_key,
        ),
        "gemini": (None, settings.gemini_model, settings.gemini_embedding_model, settings.gemini_api_key),
        "ollama": (_v1(settings.ollama_host), settings.ollama_model, settings.ollama_embedding_model, None),
    }.get(name, (settings.openai_base_url, settings.chat_model, settings.embedding_model, settings.openai_api_key))
    said = replace(
        own,
        base_url=where or own.base_url,
        chat_model=chat or own.chat_model,
        embedding_model=embedding or own.embedding_model,
        dimensions=settings.embedding_dimensions or own.dimensions,
        send_dimensions=own.send_dimensions or settings.embedding_dimensions is not None or embedding in CUT,
    )
    if name == "azure":
        said = replace(said, api_version=settings.azure_openai_api_version)
    return replace(said, try_s=settings.ollama_timeout_s) if name == "ollama" else said, key


def _v1(host: str | None) -> str | None:
    return host and f"{host}/v1"


def _layout(settings: Settings) -> Layout:
    if settings.doc_intelligence_endpoint is None:
        return NoLayout()
    from rag_core.ingestion.extract.document_intelligence import DocumentIntelligence

    return DocumentIntelligence(settings.doc_intelligence_endpoint, settings.doc_intelligence_key)
