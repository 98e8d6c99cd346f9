"""What every chat model, or stand-in for one, promises for the tasks of the pipelines."""

import json
from collections.abc import Callable, Mapping

import pytest

from rag_core.errors import Unavailable
from rag_core.ports import LLM, Prompt, Reply
from rag_core.providers.local_text import LocalText
from tests import local

PASSAGES = ["Signing keys are rotated every 90 days by the platform team.", "Bananas are yellow.", ""]
QUESTION = "how often are the signing keys rotated?"


def _local() -> LLM:
    return LocalText(local.reranker(), lambda text, count: text.split("\n\n")[:count])


LLMS: dict[str, Callable[[], LLM]] = {"local": _local}


@pytest.fixture(params=LLMS)
def llm(request: pytest.FixtureRequest) -> LLM:
    return LLMS[request.param]()


async def _ask(llm: LLM, task: str, **inputs: object) -> Reply:
    return await llm.complete(Prompt(task, system="", user=json.dumps(inputs), inputs=inputs))


async def test_expansion_gives_as_many_new_wordings_as_asked_for(llm: LLM) -> None:
    """S1-11: at least two wordings besides the original."""
    reply = await _ask(llm, "query_expansion", query=QUESTION, passages=PASSAGES, count=2)
    wordings = json.loads(reply.text)["queries"]
    assert len({QUESTION, *wordings}) == 3


async def test_an_answer_is_imagined_as_text(llm: LLM) -> None:
    """S1-12: the text is there to be embedded."""
    assert (await _ask(llm, "hyde", query=QUESTION, passages=PASSAGES)).text.strip()


async def test_grades_are_one_a_passage_in_order_from_0_to_10(llm: LLM) -> None:
    """S1-14, S1-15: the passage that answers the question is graded highest."""
    scores = json.loads((await _ask(llm, "rerank", query=QUESTION, passages=PASSAGES)).text)["scores"]
    assert len(scores) == len(PASSAGES)
    assert all(0 <= score <= 10 for score in scores)
    assert max(scores) == scores[0]


async def test_a_summary_is_text(llm: LLM) -> None:
    assert (await _ask(llm, "summary", title="Keys", passages=PASSAGES)).text.strip()


@pytest.mark.parametrize("task", ["query_expansion", "hyde", "rerank", "summary"])
async def test_every_reply_names_who_really_made_it(llm: LLM, task: str) -> None:
    inputs: Mapping[str, object] = {"query": QUESTION, "title": "Keys", "passages": PASSAGES, "count": 2}
    reply = await _ask(llm, task, **inputs)
    assert reply.model
    assert reply.local == reply.model.startswith("local: ")


async def test_a_task_it_has_no_way_to_do_is_refused(llm: LLM) -> None:
    with pytest.raises(Unavailable) as refused:
        await _ask(llm, "write me a poem", query=QUESTION)
    assert refused.value.code == "llm_unavailable"
