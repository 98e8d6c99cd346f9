"""Queries and results that the archive keeps for the workbench."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rag_core.core.model.documents import Vector

VectorStatus = Literal["no_vec", "to_vec", "vec", "vec_err"]  # S0-87; to_vec: edited since it was embedded


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query saved in the archive with the output of each workbench step (S0-86).

    `id` counts from 1 and is 0 before it is saved. It belongs to its workflow and, where it names one, to its user
    alone. `origin` is "workbench" or the operation that saved it. The contexts are None until their step has run.
    `space` is the embedding space, `preset` has the numbers it is run with, and `steps` has a record of each step:
    "ms", "went_in", "came_out", "techniques", "input_tokens", "output_tokens", "cost_usd", "degraded", "warnings".
    `version` counts its changes, `results_count` its results. Times are ISO 8601, UTC.
    """

    id: int
    workflow_id: str
    original_query: str
    user_id: str | None = None
    expanded_queries: tuple[str, ...] = ()
    hyde_answer: str = ""
    intent: str = ""
    entities: tuple[str, ...] = ()
    vector_status: VectorStatus = "no_vec"
    embedding_original: Vector | None = None
    embeddings_mqe: tuple[Vector, ...] = ()
    embedding_hyde: Vector | None = None
    space: str = ""
    retrieved_context: tuple[Mapping[str, Any], ...] | None = None
    clean_retrieval_context: tuple[Mapping[str, Any], ...] | None = None
    origin: str = "workbench"
    preset: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    results_count: int = 0
    version: int = 1
    created_at: str = ""
    updated_at: str = ""


@dataclass(frozen=True, slots=True)
class SavedResult:
    """A response to a saved query (S0-88); `model` is the model that wrote it, "" when it was pasted.

    `details` has the inputs and the cost of the response; times are ISO 8601, UTC.
    """

    id: int
    query_id: int
    response_text: str
    model: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    created_at: str = ""
    updated_at: str = ""
