"""The local models, loaded once a process of tests."""

from functools import cache
from pathlib import Path

from rag_core.providers import local_models
from rag_core.providers.cross_encoder import CrossEncoder
from rag_core.providers.local_embedder import LocalEmbedder


@cache
def embedder() -> LocalEmbedder:
    return LocalEmbedder(folder("embedder"), threads=2)


@cache
def reranker() -> CrossEncoder:
    return CrossEncoder(folder("reranker"), threads=2)


def folder(role: local_models.ModelRole) -> Path:
    found = local_models.find_model_folder(role, None)
    assert found, local_models.MODELS_NOT_INSTALLED
    return found
