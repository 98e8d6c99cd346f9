"""Embeddings from a local ONNX model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rag_core.core.errors import Misconfigured, Unavailable
from rag_core.core.model import Vector
from rag_core.core.ports import LocatedWords
from rag_core.providers import local_models
from rag_core.providers.bert import MAX_SEQUENCE_TOKENS, BertModel
from rag_core.text.windows import split_windows

FloatArray = npt.NDArray[np.float32]

WINDOW_OVERLAP_TOKENS = 64  # a sentence cut by one window is whole in the next


@dataclass(frozen=True, slots=True)
class EmbedderProfile:
    """The parameters of an embedding model: its dimensions, its pooling and the prefix of a query."""

    name: str
    dimensions: int
    pooling: Literal["cls", "mean"]
    query_prefix: str


BGE_SMALL_PROFILE = EmbedderProfile(
    "bge-small-en-v1.5-int8", 384, "cls", "Represent this sentence for searching relevant passages: "
)


class LocalEmbedder:
    """An embedder of unit vectors; a text over the model's limit gets the mean of its equal, overlapping windows.

    The best of the windows was better on two sets (2026-11-22), and would need a vector for each in every store.
    """

    def __init__(self, folder: Path, *, threads: int) -> None:
        self._folder = folder
        self._model = BertModel(folder, threads=threads)

    @cached_property
    def profile(self) -> EmbedderProfile:
        """The model's profile, known without loading it. Raises Misconfigured when the pinned package was changed."""
        digest = local_models.hash_model(self._folder)
        return (
            BGE_SMALL_PROFILE
            if digest == local_models.BGE_SMALL_SHA256
            else profile_from_folder(self._folder, f"sha256-{digest[:16]}")
        )

    @property
    def space(self) -> str:
        return f"{self.profile.name};{self.profile.pooling};{MAX_SEQUENCE_TOKENS}x{WINDOW_OVERLAP_TOKENS}"

    @property
    def dimensions(self) -> int:
        return self.profile.dimensions

    async def embed_query(self, text: str) -> Vector:
        local_models.check_query_language(text, self._folder)
        return (await self._model.map(self._embed_text, [self.profile.query_prefix + text]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return await self._model.map(self._embed_text, texts)

    async def compare_words(self, first: LocatedWords, others: Sequence[LocatedWords]) -> Sequence[list[list[float]]]:
        """Return the cosines of the words' vectors where they stand, each the mean of its tokens' vectors."""
        vectors = await self._model.map(self._embed_words, [first, *others])
        return [(vectors[0] @ other.T).tolist() for other in vectors[1:]]

    def _embed_words(self, words: LocatedWords) -> FloatArray:
        """Return a unit vector for each word, of zeros for one that has no token among those that the model reads."""
        tokens = self._model.locate_tokens(words.text)[: MAX_SEQUENCE_TOKENS - 2]
        token_vectors = self._model.run([token.id for token in tokens])[1:-1]
        starts = np.array([token.start for token in tokens], dtype=int)
        ends = np.array([token.end for token in tokens], dtype=int)
        vectors = np.zeros((len(words.ranges), token_vectors.shape[1]), dtype=np.float32)
        for n, (start, end) in enumerate(words.ranges):
            inside = (starts < end) & (ends > start)
            if inside.any():
                vectors[n] = _normalize_array(token_vectors[inside].mean(axis=0))
        return vectors

    def _embed_text(self, text: str) -> list[float]:
        tokens = self._model.tokenize(text)
        window_vectors = [
            self._embed_window(window)
            for window in split_windows(tokens, MAX_SEQUENCE_TOKENS - 2, overlap=WINDOW_OVERLAP_TOKENS)
        ]
        vector = _normalize_array(
            np.mean(window_vectors, axis=0)
        )  # the windows are equally long, so they weigh the same
        if vector.shape != (self.dimensions,) or not np.isfinite(vector).all():
            raise Unavailable(f"{self.profile.name} returned an invalid vector", code="embedding_unavailable")
        return [float(x) for x in vector]

    def _embed_window(self, window: Sequence[int]) -> FloatArray:
        if self.profile.pooling == "cls":
            return _normalize_array(self._model.run(window, row_count=1)[0])
        return _normalize_array(self._model.run(window).mean(axis=0))


def profile_from_folder(folder: Path, name: str) -> EmbedderProfile:
    """Read the profile from a sentence-transformers folder, with that library's defaults for what is not stated.

    Raises:
        Misconfigured: config.json does not state `hidden_size`.
    """
    try:
        dimensions = int(_read_json_file(folder / "config.json")["hidden_size"])
        uses_cls = _read_json_file(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token", False)
        prompts = _read_json_file(folder / "config_sentence_transformers.json").get("prompts", {})
        return EmbedderProfile(name, dimensions, "cls" if uses_cls else "mean", str(prompts.get("query", "")))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Misconfigured(f"the model {folder.name} is not described: its config.json needs hidden_size") from error


def _read_json_file(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes())) if path.is_file() else {}


def _normalize_array(vector: FloatArray) -> FloatArray:
    unit: FloatArray = vector / np.linalg.norm(vector)
    return unit
