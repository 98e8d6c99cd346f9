"""What every embedder promises."""

import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from rag_core.core.errors import Unavailable
from rag_core.core.ports import Embedder
from rag_core.providers.null_models import NoEmbedder
from rag_core.providers.openai import OpenAIEmbedder
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from tests import hosted, local

TEXTS = ["Signing keys are rotated every 90 days.", "", "Bananas are yellow.", "P0700 " * 700, "naïve 東京 \ud800 🙂"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with hosted.running() as url:
        yield url


@pytest.fixture(params=["local", "openai", "azure"])
async def embedder(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Embedder]:
    """The hosted ones are asked over the loopback model service, each by its own paths and encoding."""
    if request.param == "local":
        yield local.embedder()
        return
    profile = hosted.at(PROVIDER_PROFILES[request.param], url)
    client = OpenAIEmbedder(
        replace(profile, embedding_encoding="float" if profile.name == "openai" else "base64"), key="key"
    )
    yield client
    await client.close()


async def test_every_text_gets_a_finite_unit_vector_of_the_stated_width(embedder: Embedder) -> None:
    """C05: the width belongs to the embedder's own description."""
    vectors = await embedder.embed_documents(TEXTS)
    assert [len(vector) for vector in vectors] == [embedder.dimensions] * len(TEXTS)
    assert all(math.isclose(math.sqrt(sum(x * x for x in vector)), 1, abs_tol=1e-5) for vector in vectors)


async def test_a_text_has_the_same_vector_alone_as_among_others_and_keeps_its_place(embedder: Embedder) -> None:
    among = await embedder.embed_documents(TEXTS)
    alone = [list((await embedder.embed_documents([text]))[0]) for text in TEXTS]
    assert [list(vector) for vector in among] == alone


async def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert list(await embedder.embed_documents([])) == []


async def test_a_question_is_nearer_to_its_answer_than_to_anything_else(embedder: Embedder) -> None:
    """S1-12: what is embedded is found by meaning: no word of the answer stands in the question."""
    question = await embedder.embed_query("how often does one replace the credentials?")
    closeness = [sum(a * b for a, b in zip(question, v, strict=True)) for v in await embedder.embed_documents(TEXTS)]
    assert max(closeness) == closeness[0]


async def test_the_space_has_a_name(embedder: Embedder) -> None:
    assert embedder.space


async def test_the_absent_embedder_says_what_would_change_that() -> None:
    absent: Embedder = NoEmbedder("install the models")
    assert (absent.space, absent.dimensions) == ("", 0)
    for work in (absent.embed_query("x"), absent.embed_documents(["x"])):
        with pytest.raises(Unavailable, match="install the models") as refused:
            await work
        assert refused.value.code == "embedding_unavailable"
