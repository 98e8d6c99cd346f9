"""The only file that knows which adapter fills which slot. Adapters are imported when first chosen."""

from dataclasses import replace

from rag_core.index import Index
from rag_core.kit import Kit
from rag_core.ports import Embedder, Reranker
from rag_core.settings import DEFAULTS, Settings


def build(settings: Settings) -> Kit:
    """The parts for these settings. Nothing heavy is loaded before it is used."""
    from rag_core.ingestion.enrich import key_sentences
    from rag_core.providers.local_text import LocalText
    from rag_core.stores.embedded import EmbeddedStore

    reranker = local_reranker(settings)
    return Kit(
        index=Index(EmbeddedStore(settings.data_dir), local_embedder(settings)),
        llm=LocalText(reranker, key_sentences),
        reranker=reranker,
    )


def in_memory(settings: Settings = DEFAULTS) -> Kit:
    """The same parts over a store that ends with the process (the InMemoryVectorStore of S1-36)."""
    return build(replace(settings, data_dir=None))


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
