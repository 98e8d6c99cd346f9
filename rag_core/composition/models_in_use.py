"""Which models the settings choose, with their files, hashes and licences: what `rag models` prints."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rag_core.composition import index_assembly, model_assembly
from rag_core.composition.choices import choose_chat_provider, choose_judge
from rag_core.core.settings import Settings
from rag_core.providers import entailment_folder, local_models, model_downloads

UNKNOWN_LICENCE = "licence not known"


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """A model, or a local technique in its place; `file` is its ONNX file, None for a hosted model or a technique.

    `licence` and `sha256` are "" where there is no file.
    """

    role: str
    name: str
    where: str
    file: Path | None = None
    sha256: str = ""
    licence: str = ""


def list_models_in_use(settings: Settings) -> Iterator[ModelInUse]:
    """Yield the model of each role, without network access. Raises Misconfigured for one that cannot be used."""
    embedding_provider = index_assembly.choose_embedding_provider(settings).name
    embedder_name = index_assembly.build_current_embedder(settings).space.partition(";")[0]
    if embedding_provider == "local":
        yield _describe_local_model("embedder", embedder_name, settings)
    else:
        yield ModelInUse("embedder", embedder_name, f"hosted by {embedding_provider}")
    yield _describe_local_model("reranker", model_assembly.build_local_reranker(settings).name, settings)
    yield from _list_chat_models(settings)
    yield _describe_judge(settings)


def _describe_local_model(role: local_models.ModelRole, name: str, settings: Settings) -> ModelInUse:
    folder = local_models.find_model_folder(role, settings.models_dir)
    if folder is None:
        return ModelInUse(role, "none", "not installed: see `rag doctor`")
    return _describe_model_file(role, name, folder / "model.onnx")


def _describe_model_file(role: str, name: str, file: Path) -> ModelInUse:
    sha256 = local_models.hash_file(file)
    licence = local_models.PINNED_LICENCES.get(sha256) or model_downloads.find_licence(sha256) or UNKNOWN_LICENCE
    return ModelInUse(role, name, str(file.parent), file, sha256, licence)


def _list_chat_models(settings: Settings) -> Iterator[ModelInUse]:
    provider = choose_chat_provider(settings).name
    if provider == "local":
        yield ModelInUse("chat model", "none", "local techniques stand in")
        return
    profile, _ = model_assembly.build_provider_profile(settings, provider)
    for role, name in (("chat model", profile.chat_model), ("full chat model", settings.full_model)):
        if name:
            yield ModelInUse(role, name, f"hosted by {provider}")


def _describe_judge(settings: Settings) -> ModelInUse:
    judge, folder = choose_judge(settings), entailment_folder.find_entailment_folder(settings.models_dir)
    if judge == "entailment" and folder:
        described = entailment_folder.read_entailment_folder(folder)
        return _describe_model_file("judge", described.name, described.model_file)
    return ModelInUse("judge", "none", {"chat": "the chat model judges"}.get(judge, "the local technique judges"))
