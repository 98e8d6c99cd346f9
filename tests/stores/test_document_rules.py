"""The rules of change that the three stores share, without a store."""

import pytest

from rag_core.core.errors import Conflict, NotFound
from rag_core.core.model import Scope
from rag_core.stores.access import can_read_document, can_write_document, require_replaceable_documents
from rag_core.stores.document_rules import EmbeddingSpace, join_embedding_space, name_document_space
from tests.stores.sample import document

EMPTY, STORED = EmbeddingSpace("", 0), EmbeddingSpace("a", 2)


@pytest.mark.parametrize(
    ("stored", "name", "vectors", "joined"),
    [
        (EMPTY, "a", [[1.0, 0.0], None], STORED),
        (EMPTY, "", [None], EMPTY),
        (EMPTY, "a", [], EMPTY),
        (STORED, "a", [[1.0, 0.0]], STORED),
        (STORED, "", [None, None], STORED),
    ],
)
def test_the_first_vectors_determine_the_space_and_text_joins_any(
    stored: EmbeddingSpace, name: str, vectors: list[list[float] | None], joined: EmbeddingSpace
) -> None:
    assert join_embedding_space(stored, name, vectors, remedy="") == joined


@pytest.mark.parametrize(
    ("stored", "name", "vectors"),
    [(STORED, "b", [[1.0, 0.0]]), (STORED, "b", []), (STORED, "", [[1.0, 0.0]]), (STORED, "a", [[1.0]]),
     (EMPTY, "a", [[1.0], [1.0, 0.0]])],
)  # fmt: skip
def test_vectors_that_cannot_be_compared_are_refused_with_what_to_do(
    stored: EmbeddingSpace, name: str, vectors: list[list[float] | None]
) -> None:
    with pytest.raises(Conflict, match="use the first") as refused:
        join_embedding_space(stored, name, vectors, remedy="use the first")
    assert refused.value.code == "reindex_required"


def test_a_document_without_vectors_is_of_no_space() -> None:
    assert [name_document_space("a", vectors) for vectors in ([], [None], [None, [1.0]])] == ["", "", "a"]


def test_groups_read_and_the_owner_writes() -> None:
    owned = document("diary", Scope("w", "ann"), groups=("staff",))
    ann, bob, nobody = Scope("w", "ann"), Scope("w", "bob", ("staff",)), Scope("w")
    assert [can_read_document(owned, scope) for scope in (ann, bob, nobody)] == [True, True, False]
    assert [can_write_document(owned, scope) for scope in (ann, bob, nobody)] == [True, False, False]
    require_replaceable_documents([], bob)
    require_replaceable_documents([owned], ann)
    with pytest.raises(NotFound) as refused:
        require_replaceable_documents([owned], bob)
    assert refused.value.code == "document_not_found"
