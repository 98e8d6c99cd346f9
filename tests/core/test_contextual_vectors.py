"""A passage whose text lacks the title of its document has a part of the title's vector in its own."""

from collections.abc import Sequence
from hashlib import sha256

import pytest

from rag_core.core.contextual_vectors import (
    TITLE_SHARE,
    build_embeddable_text,
    embed_passages,
    hash_passage,
    list_sent_texts,
)
from rag_core.core.model import EmbeddableText, Vector

TITLE, TEXT = "Acme annual report 2022", "Net sales were $5 million."


class Axes:
    """An embedder whose titles lie on the second axis and whose other texts lie on the first."""

    space, dimensions = "axes", 2

    def __init__(self) -> None:
        self.given: list[str] = []

    async def embed_query(self, text: str) -> Vector:
        return (0.0, 1.0) if text == TITLE else (1.0, 0.0)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.given += texts
        return [await self.embed_query(text) for text in texts]


async def test_a_quarter_of_the_vector_is_the_titles_at_length_one() -> None:
    blended, plain = await embed_passages([EmbeddableText(TEXT, TITLE), EmbeddableText(TEXT)], Axes())
    assert blended[1] / blended[0] == pytest.approx(TITLE_SHARE / (1 - TITLE_SHARE))
    assert sum(x * x for x in blended) == pytest.approx(1)
    assert plain == (1.0, 0.0)


async def test_each_text_and_each_title_is_sent_once() -> None:
    embedder = Axes()
    passages = [EmbeddableText(TEXT, TITLE), EmbeddableText("Other.", TITLE), EmbeddableText(TEXT)]
    await embed_passages(passages, embedder)
    assert embedder.given == list_sent_texts(passages) == [TEXT, "Other.", TITLE]


def test_a_text_that_lacks_half_of_the_title_is_hashed_and_embedded_with_it() -> None:
    hashed = hash_passage(TEXT, TITLE)
    assert hashed == sha256(f"{TITLE}\n\n{TEXT}".encode()).hexdigest()
    assert build_embeddable_text(TEXT, TITLE, hashed) == EmbeddableText(TEXT, TITLE)
    assert hash_passage(TEXT, "Report of Acme, 3Q23") == sha256(f"Report of Acme, 3Q23\n\n{TEXT}".encode()).hexdigest()
    assert hash_passage(TEXT, "Acme annual report 2023") != hashed  # a vector is not reused under another title


@pytest.mark.parametrize(
    "title", ["", "Net sales", "Net sales 2022", "Acme annual report", "scan_2017", "5e1f-2022-44b2"]
)
def test_a_text_that_says_most_of_its_title_or_is_of_no_series_stands_for_itself(title: str) -> None:
    hashed = hash_passage(TEXT, title)
    assert hashed == sha256(TEXT.encode()).hexdigest()
    assert build_embeddable_text(TEXT, title, hashed) == EmbeddableText(TEXT)


def test_a_passage_stored_before_keeps_the_vector_of_its_text() -> None:
    assert build_embeddable_text(TEXT, TITLE, sha256(TEXT.encode()).hexdigest()) == EmbeddableText(TEXT)
