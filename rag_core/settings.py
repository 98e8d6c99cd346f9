"""The only reader of the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_core.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator chose. Each field names its variable in docs/settings.md.

    `data_dir` is where the embedded store lives, None for memory only. `models_dir` holds `embedder/` and
    `reranker/`, each with model.onnx and tokenizer.json; None means the pinned package.
    """

    data_dir: Path | None = Path(".rag")
    models_dir: Path | None = None
    model_threads: int = 2
    request_timeout_s: float = 200.0
    max_upload_bytes: int = 25 * 1024 * 1024
    parse_timeout_s: float = 30.0
    trust_principal: bool = False


DEFAULTS = Settings()


def load(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the environment. Raises Misconfigured, naming the variable, for a value that cannot be used."""
    values = os.environ if environment is None else environment
    home = values.get("RAG_DATA_DIR") or str(DEFAULTS.data_dir)
    models = values.get("RAG_MODELS_DIR")
    return Settings(
        data_dir=None if home == ":memory:" else Path(home),
        models_dir=Path(models) if models else None,
        model_threads=int(_number(values, "RAG_MODEL_THREADS", DEFAULTS.model_threads, 1, 64)),
        request_timeout_s=_number(values, "RAG_TIMEOUT_S", DEFAULTS.request_timeout_s, 1, 230),
        max_upload_bytes=int(_number(values, "RAG_MAX_UPLOAD_BYTES", DEFAULTS.max_upload_bytes, 1, 100 * 1024**2)),
        parse_timeout_s=_number(values, "RAG_PARSE_TIMEOUT_S", DEFAULTS.parse_timeout_s, 1, 200),
        trust_principal=values.get("WEBSITE_AUTH_ENABLED", "").lower() == "true",
    )


def _number(values: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    raw = values.get(name)
    if raw is None:
        return default
    try:
        number = float(raw)
    except ValueError:
        number = float("nan")
    if not low <= number <= high:
        raise Misconfigured(f"{name} must be a number from {low:g} to {high:g}", field=name)
    return number
