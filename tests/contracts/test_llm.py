"""What every chat model, or stand-in for one, promises for the tasks of the pipelines."""

import json
from collections.abc import AsyncIterator, Iterator

import pytest

from rag_core import prompts
from rag_core.core.errors import Unavailable
from rag_core.core.ports import LLM, Prompt
from rag_core.providers.openai import OpenAIChatModel
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from rag_core.retrieval.expansion import generate_expansion
from tests import hosted

PASSAGES = ["Signing keys are rotated every 90 days by the platform team.", "Bananas are yellow.", ""]
QUESTION = "how often are the signing keys rotated?"
GRADED = {f"p{number}": passage for number, passage in enumerate(PASSAGES, start=1)}

ASKED = [
    prompts.build_query_expansion_prompt(QUESTION, PASSAGES, count=2, with_hyde=True),
    prompts.build_grading_prompt(QUESTION, GRADED),
    prompts.build_summary_prompt("Keys", PASSAGES),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with hosted.running() as url:
        yield url


@pytest.fixture(params=["local", "openai", "azure"])
async def llm(request: pytest.FixtureRequest, url: str) -> AsyncIterator[LLM]:
    """The hosted ones are asked over the loopback model service."""
    if request.param == "local":
        yield hosted.text()
        return
    client = OpenAIChatModel(hosted.at(PROVIDER_PROFILES[request.param], url), key="key")
    yield client
    await client.close()


async def test_expansion_gives_as_many_new_wordings_as_asked_for(llm: LLM) -> None:
    """S1-11: at least two wordings besides the original."""
    reply = await llm.complete(prompts.build_query_expansion_prompt(QUESTION, PASSAGES, count=2, with_hyde=True))
    wordings = json.loads(reply.text)["queries"]
    assert len({QUESTION, *wordings}) == 3


@pytest.mark.parametrize("name", ["openai", "azure"])
async def test_a_models_imagined_answer_is_text_to_be_embedded(name: str) -> None:
    """S1-12."""
    imagined = "Signing keys are rotated every quarter."
    with hosted.running(json.dumps({"hyde": imagined})) as url:
        client = OpenAIChatModel(hosted.at(PROVIDER_PROFILES[name], url), key="key")
        found = await generate_expansion(QUESTION, PASSAGES, client, count=0, with_hyde=True)
        await client.close()
    assert found.hyde_answer == imagined


async def test_a_technique_imagines_no_answer(llm: LLM) -> None:
    """Behind a service, too: nothing that stood in for one was worth its while."""
    reply = await llm.complete(prompts.build_query_expansion_prompt(QUESTION, PASSAGES, count=2, with_hyde=True))
    assert json.loads(reply.text)["hyde"] == ""


async def test_grades_are_one_a_passage_by_its_id_from_0_to_10(llm: LLM) -> None:
    """S1-14, S1-15: the passage that answers the question is graded highest."""
    graded = json.loads((await llm.complete(prompts.build_grading_prompt(QUESTION, GRADED))).text)["grades"]
    scores = {item["id"]: item["score"] for item in graded}
    assert scores.keys() == GRADED.keys()
    assert all(0 <= score <= 10 for score in scores.values())
    assert max(scores.values()) == scores["p1"]


async def test_a_summary_is_text(llm: LLM) -> None:
    assert (await llm.complete(prompts.build_summary_prompt("Keys", PASSAGES))).text.strip()


@pytest.mark.parametrize("prompt", ASKED, ids=lambda prompt: prompt.task)
async def test_every_reply_names_who_really_made_it(llm: LLM, prompt: Prompt) -> None:
    """A technique behind a service is still no chat model, and its reply says so."""
    reply = await llm.complete(prompt)
    assert reply.model
    assert reply.local == reply.model.startswith("local: ")


async def test_a_task_it_has_no_way_to_do_is_refused(llm: LLM) -> None:
    with pytest.raises(Unavailable) as refused:
        await llm.complete(Prompt("write me a poem", "You are a poet.", "{}"))
    assert refused.value.code == "llm_unavailable"
