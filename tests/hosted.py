"""The model service over the local models, on the loopback interface, and profiles that point at it."""

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from local_emulator.chat_techniques import ChatTechniques
from local_emulator.judging import WordJudge
from local_emulator.model_service import ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.core.settings import Settings
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.providers.provider_profiles import ProviderProfile
from tests import local

DIMENSIONS = 384


def text() -> ChatTechniques:
    techniques = LocalTechniques(local.reranker(), lambda text, count: text.split("\n\n")[:count])
    return ChatTechniques(techniques, WordJudge())


def running(*replies: str) -> AbstractContextManager[str]:
    """Serve while the block runs; gives the address. The key is "key"; `replies` are said before any technique's."""
    return serve_wsgi(ModelService(local.embedder(), text(), keys={"key"}, replies=replies))


def configure(folder: Path, url: str) -> Settings:
    """Return the settings of an app over this data folder whose models are those of the service at `url`."""
    return Settings(
        data_dir=folder,
        llm_provider="openai",
        openai_api_key="key",
        openai_base_url=f"{url}/v1",
        embedding_dimensions=DIMENSIONS,
    )


def at(profile: ProviderProfile, url: str) -> ProviderProfile:
    """A profile whose provider is the service at `url`."""
    return replace(profile, base_url=url if profile.name == "azure" else f"{url}/v1", dimensions=DIMENSIONS)
