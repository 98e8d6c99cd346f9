"""The only file that knows which adapter fills which slot. Adapters are imported when first chosen."""

from rag_core.index import Index
from rag_core.kit import Kit
from rag_core.ports import Embedder, Reranker
from rag_core.settings import Settings


def build(settings: Settings) -> Kit:
    """The parts for these settings. Nothing heavy is loaded before it is used."""
    from rag_core.providers.local_text import LocalText
    from rag_core.stores.embedded import EmbeddedStore

    reranker = local_reranker(settings)
    return Kit(
        index=Index(EmbeddedStore(settings.data_dir), local_embedder(settings)),
        llm=LocalText(reranker),
        reranker=reranker,
    )


def local_embedder(settings: Settings) -> Embedder:
    """The offline embedder, or the null one that says which files are missing."""
    from rag_core.providers import local_models
    from rag_core.providers.absent import NoEmbedder
    from rag_core.providers.local_embedder import LocalEmbedder

    folder = local_models.find("embedder", settings.models_dir)
    return LocalEmbedder(folder, threads=settings.model_threads) if folder else NoEmbedder(local_models.MISSING)


def local_reranker(settings: Settings) -> Reranker:
    """The offline cross-encoder, or the null one that says which files are missing."""
    from rag_core.providers import local_models
    from rag_core.providers.absent import NoReranker
    from rag_core.providers.cross_encoder import CrossEncoder

    folder = local_models.find("reranker", settings.models_dir)
    return CrossEncoder(folder, threads=settings.model_threads) if folder else NoReranker(local_models.MISSING)
