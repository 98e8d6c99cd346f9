"""The rules of change that every store shares: which vectors may join, what a replacement counts, what is restorable.

A document is live, deleted or absent. A store holds vectors of one embedding space: the first vectors written determine
it, and text without vectors may join any space.
"""

from collections import Counter
from collections.abc import Sequence, Set
from datetime import UTC, datetime
from typing import NamedTuple

from rag_core.core.errors import Conflict
from rag_core.core.model import Document, Vector
from rag_core.core.ports import ReplacementResult


class EmbeddingSpace(NamedTuple):
    """The embedding space of the stored vectors; "" and 0 while there are none."""

    name: str
    dimensions: int


def join_embedding_space(
    stored_space: EmbeddingSpace, name: str, vectors: Sequence[Vector | None], *, remedy: str
) -> EmbeddingSpace:
    """Return the space of a store after vectors of the space `name` were added; None stands for a missing vector.

    Raises:
        Conflict: the vectors are of another space or have other dimensions (reindex_required); `remedy` says what to
            do.
    """
    dimensions = {len(vector) for vector in vectors if vector is not None}
    if name or dimensions:
        require_same_embedding_space(stored_space, name, dimensions, remedy=remedy)
    return EmbeddingSpace(name, dimensions.pop()) if dimensions and not any(stored_space) else stored_space


def require_same_embedding_space(stored_space: EmbeddingSpace, name: str, dimensions: Set[int], *, remedy: str) -> None:
    """Raise Conflict (reindex_required) unless vectors of the space `name` can be compared with the stored ones."""
    is_other_space = bool(stored_space.name) and name != stored_space.name
    if is_other_space or len(dimensions | {stored_space.dimensions} - {0}) > 1:
        raise Conflict(
            f"the index holds vectors of {stored_space.name} ({stored_space.dimensions} dimensions), "
            f"these are of {name or 'no model'} ({', '.join(map(str, sorted(dimensions))) or 'none'}): {remedy}",
            code="reindex_required",
        )


def name_document_space(space: str, vectors: Sequence[Vector | None]) -> str:
    """Return the embedding space of a document; "" when it has no vector, so that it can be restored beside any."""
    return space if any(vector is not None for vector in vectors) else ""


def count_replaced_chunks(old_hashes: Sequence[str], new_hashes: Sequence[str]) -> ReplacementResult:
    """Count the chunks a replacement added, removed and left unchanged, by comparing content hashes."""
    unchanged = (Counter(old_hashes) & Counter(new_hashes)).total()
    return ReplacementResult(
        added=len(new_hashes) - unchanged, unchanged=unchanged, removed=len(old_hashes) - unchanged
    )


def require_deleted_document(document: Document) -> None:
    """Raise Conflict (document_exists) for a live document: only a deleted one can be restored."""
    if document.deleted_at is None:
        raise Conflict("the document is there: delete it first", code="document_exists", field="document_id")


def format_deletion_time() -> str:
    """Return the present time as `Document.deleted_at` has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
