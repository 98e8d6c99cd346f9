import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.errors import Unavailable
from rag_core.core.ports import LLM, Completion, Prompt
from rag_core.retrieval.expansion import (
    MAX_EXPANDED_QUERY_CHARS,
    MAX_HYDE_ANSWER_CHARS,
    QueryExpansion,
    expansion_from_fields,
    generate_expansion,
)
from tests.fakes import ScriptedLLM

ASKED = "TCU temperature error"


def wordings(*said: object) -> str:
    return json.dumps({"queries": said})


class Local:
    """A local technique with nothing to work from."""

    name = "local"

    async def complete(self, prompt: Prompt) -> Completion:
        return Completion('{"queries": [], "hyde": ""}', "local: feedback", local=True)


async def reworded(llm: LLM, *, count: int) -> list[str]:
    return list((await generate_expansion(ASKED, ["a passage"], llm, count=count, with_hyde=False)).expanded_queries)


async def test_expansion_adds_two_paraphrases() -> None:
    """S1-01, S1-11."""
    llm = ScriptedLLM(query_expansion=wordings("transmission control unit thermal fault", "TCU overheating issue"))
    assert await reworded(llm, count=2) == ["transmission control unit thermal fault", "TCU overheating issue"]
    assert llm.prompts[0].inputs == {"query": ASKED, "passages": ["a passage"], "count": 2, "imagine": False}


async def test_the_original_and_repetitions_are_no_new_wordings() -> None:
    """C46: deduplicated."""
    llm = ScriptedLLM(query_expansion=wordings("tcu  temperature ERROR", "one", "One", "two"))
    assert await reworded(llm, count=5) == ["one", "two"]


async def test_wordings_that_are_too_long_empty_or_no_text_are_left_out() -> None:
    """C46: capped in length."""
    llm = ScriptedLLM(query_expansion=wordings("x" * (MAX_EXPANDED_QUERY_CHARS + 1), " ", 7, None, "one"))
    assert await reworded(llm, count=5) == ["one"]


@given(st.lists(st.text() | st.integers() | st.none(), max_size=500), st.integers(1, 5))
async def test_whatever_the_model_says_the_count_holds(said: list[object], count: int) -> None:
    """C46: never more than asked for."""
    try:
        found = await reworded(ScriptedLLM(query_expansion=wordings(*said)), count=count)
    except Unavailable:  # not one usable wording
        return
    assert len(found) <= count
    assert len({" ".join(wording.casefold().split()) for wording in [ASKED, *found]}) == 1 + len(found)


@pytest.mark.parametrize("said", ["", "no JSON", "[]", '{"queries": "one"}', '{"queries": [NaN]}', '{"queries": []}'])
async def test_a_model_that_gives_no_wording_is_unavailable(said: str) -> None:
    """C44."""
    with pytest.raises(Unavailable) as failure:
        await reworded(ScriptedLLM(query_expansion=said), count=2)
    assert failure.value.code == "llm_output_invalid"


@pytest.mark.parametrize(
    "said",
    [
        '```json\n{"queries": ["one", "two"]}\n```',
        'Here you are: {"queries": ["one", "two"]} I hope it helps.',
        '{"queries": ["one", "two",],}',
    ],
)
async def test_json_is_repaired_where_it_can_mean_one_thing(said: str) -> None:
    """C44: fences, prose and trailing commas."""
    assert await reworded(ScriptedLLM(query_expansion=said), count=2) == ["one", "two"]


async def imagined(said: str) -> QueryExpansion:
    llm = ScriptedLLM(query_expansion=json.dumps({"hyde": said}))
    return await generate_expansion(ASKED, [], llm, count=0, with_hyde=True)


async def test_an_imagined_answer_is_text_of_a_bounded_length() -> None:
    """S1-02, S1-12."""
    assert (await imagined(" P0700 indicates … ")).hyde_answer == "P0700 indicates …"
    assert len((await imagined("x" * 9999)).hyde_answer) == MAX_HYDE_ANSWER_CHARS


async def test_nothing_of_what_was_asked_for_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="has no HyDE answer"):
        await imagined(" \n")


async def test_a_reply_that_has_a_part_is_used_for_that_part() -> None:
    """S0-71: and what it lacks is named."""
    llm = ScriptedLLM(query_expansion='{"queries": ["one"], "intent": "mechanism", "entities": ["TCU", "TCU", 7]}')
    found = await generate_expansion(ASKED, [], llm, count=2, with_hyde=True)
    assert found == QueryExpansion(("one",), "", "MECHANISM", ("TCU",), ("HyDE answer",))


async def test_no_link_of_a_model_gets_into_an_expansion() -> None:
    """C47: wordings, imagined answer, intent and entities are all shown in the workbench."""
    link = "http://evil.example/x"
    said = {"queries": [f"see {link}"], "hyde": f"at {link}", "intent": link, "entities": [link]}
    found = await generate_expansion(ASKED, [], ScriptedLLM(query_expansion=json.dumps(said)), count=2, with_hyde=True)
    assert "evil" not in repr(found)


async def test_a_local_technique_with_nothing_to_work_from_adds_nothing_and_has_not_failed() -> None:
    assert await generate_expansion(ASKED, [], Local(), count=2, with_hyde=True) == QueryExpansion()


def test_a_hyde_answer_that_was_not_asked_for_is_left_out() -> None:
    fields = {"queries": ["oil of the gearbox"], "hyde": "It is cool."}
    found = [expansion_from_fields(fields, "oil", count=1, with_hyde=with_hyde) for with_hyde in (False, True)]
    assert [one.hyde_answer for one in found] == ["", "It is cool."]
