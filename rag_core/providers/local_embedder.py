"""Texts to vectors on this machine, by an ONNX model of a folder."""

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
from rag_core.providers import local_models
from rag_core.providers.bert import POSITIONS, Bert, windows

Array = npt.NDArray[np.float32]

OVERLAP = 64  # tokens: a sentence that one window cuts stands whole in the next


@dataclass(frozen=True, slots=True)
class Profile:
    """How a model wants to be used: what stands before a question, and which output is the vector."""

    name: str
    dimensions: int
    pooling: Literal["cls", "mean"]
    query_prefix: str


BGE_SMALL = Profile("bge-small-en-v1.5-int8", 384, "cls", "Represent this sentence for searching relevant passages: ")


class LocalEmbedder:
    """Unit vectors. A text over the model's limit is cut into equal overlapping windows, whose mean is its vector."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        self._folder = folder
        self._model = Bert(folder, threads=threads)

    @cached_property
    def profile(self) -> Profile:
        """Known without loading the model. Raises Misconfigured when the pinned package holds another model."""
        digest = local_models.fingerprint(self._folder)
        return BGE_SMALL if digest == local_models.BGE_SMALL else described(self._folder, f"sha256-{digest[:16]}")

    @property
    def space(self) -> str:
        return f"{self.profile.name};{self.profile.pooling};{POSITIONS}x{OVERLAP}"

    @property
    def dimensions(self) -> int:
        return self.profile.dimensions

    async def embed_query(self, text: str) -> Vector:
        local_models.check_script(text, self._folder)
        return (await self._model.map(self._embed, [self.profile.query_prefix + text]))[0]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return await self._model.map(self._embed, texts)

    def _embed(self, text: str) -> list[float]:
        tokens = self._model.tokens(text)
        parts = [self._pooled(window) for window in windows(tokens, POSITIONS - 2, overlap=OVERLAP)]
        vector = _unit(np.mean(parts, axis=0))  # equal windows, so equal weights
        if vector.shape != (self.dimensions,) or not np.isfinite(vector).all():
            raise Unavailable(f"{self.profile.name} gave no usable vector", code="embedding_unavailable")
        return [float(x) for x in vector]

    def _pooled(self, window: Sequence[int]) -> Array:
        states = self._model.run(window)
        return _unit(states[0] if self.profile.pooling == "cls" else states.mean(axis=0))


def described(folder: Path, name: str) -> Profile:
    """What a sentence-transformers folder states of itself; that library's defaults where it is silent.

    Raises:
        Misconfigured: config.json does not say how wide the vectors are.
    """
    try:
        dimensions = int(_read(folder / "config.json")["hidden_size"])
        by_cls = _read(folder / "1_Pooling" / "config.json").get("pooling_mode_cls_token", False)
        prompts = _read(folder / "config_sentence_transformers.json").get("prompts", {})
        return Profile(name, dimensions, "cls" if by_cls else "mean", str(prompts.get("query", "")))
    except (AttributeError, KeyError, TypeError, ValueError) as garbage:
        raise Misconfigured(f"{folder} does not describe its model: config.json needs hidden_size") from garbage


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes())) if path.is_file() else {}


def _unit(vector: Array) -> Array:
    unit: Array = vector / np.linalg.norm(vector)
    return unit
