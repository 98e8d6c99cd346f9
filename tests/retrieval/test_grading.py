import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.errors import Unavailable
from rag_core.core.model import Hit
from rag_core.core.ports import Completion, Prompt
from rag_core.retrieval.cross_encoding import prepend_title
from rag_core.retrieval.grading import grade_hits
from tests.fakes import Down, ScriptedLLM, grades, hit

FOUND = [hit(name, 1 - at / 10) for at, name in enumerate("abcde")]


def order(hits: list[Hit]) -> str:
    return "".join(h.chunk.id for h in hits)


async def test_the_head_is_ordered_by_grade_and_the_tail_follows_as_found() -> None:
    """S1-05, S1-14, C09: the tail has no grade."""
    best = await grade_hits("why?", FOUND, ScriptedLLM(rerank=grades(2, 9, 5)), count=3)
    assert order(best) == "bcade"
    assert [h.signals.get("grade") for h in best] == [9, 5, 2, None, None]


async def test_equal_grades_keep_the_order_in_which_they_were_found() -> None:
    best = await grade_hits("why?", FOUND, ScriptedLLM(rerank=grades(5, 5, 8, 5, 5)), count=5)
    assert order(best) == "cabde"


async def test_a_grade_leaves_the_fused_score_as_it_was() -> None:
    """C08: the three scores are kept apart."""
    best = await grade_hits("why?", FOUND, ScriptedLLM(rerank=grades(0, 10)), count=2)
    assert [h.score for h in best] == [0.9, 1.0, 0.8, 0.7, 0.6]


async def test_those_left_ungraded_follow_the_graded_as_found() -> None:
    """C45 (RELIABILITY): a short list, numbers out of range and things that are no numbers."""
    said = grades(1, "8", 11, None, True)
    assert order(await grade_hits("why?", FOUND, ScriptedLLM(rerank=said), count=5)) == "bacde"
    assert order(await grade_hits("why?", FOUND, ScriptedLLM(rerank=grades(1, 2)), count=5)) == "bacde"
    assert order(await grade_hits("why?", FOUND, ScriptedLLM(rerank=grades(1, 2, 3, 4, 5, 6, 7)), count=5)) == "edcba"


async def test_grades_are_read_by_id_and_never_by_position() -> None:
    """C45 (RELIABILITY): in any order; unknown ids are ignored, and one that occurs twice grades nothing."""

    async def graded(*given: tuple[object, object]) -> str:
        said = json.dumps({"grades": [{"id": id, "score": score} for id, score in given]})
        return order(await grade_hits("why?", FOUND, ScriptedLLM(rerank=said), count=5))

    assert await graded(("p5", 9), ("p3", 8), ("p1", 7), ("p2", 6), ("p4", 5)) == "ecabd"
    assert await graded(("p4", 0)) == "dabce"
    assert await graded(("p0", 9), ("e2", 9), (2, 9), ("p3", 1)) == "cabde"
    assert await graded(("p2", 9), ("p2", 9), ("p3", 1)) == "cabde"


async def test_a_model_is_sent_what_bears_on_the_question_and_a_technique_reads_it_all() -> None:
    """Twenty passages of 800 tokens were 16,000 tokens for each question."""
    filler = "The cabin has four seats and a lamp of its own. " * 70
    long = [
        replace(h, chunk=replace(h.chunk, content=f"{filler}Valve {n} opens. {filler}")) for n, h in enumerate(FOUND)
    ]
    llm = ScriptedLLM(rerank=grades(1, 2, 3, 4, 5))
    await grade_hits("Which valve opens?", long, llm, count=5)
    (prompt,) = llm.prompts
    assert all(f"Valve {n} opens." in prompt.user for n in range(5))
    assert len(prompt.user) < 5 * 1300
    assert [part["text"] for part in prompt.inputs["passages"]] == [prepend_title(h.chunk) for h in long]  # type: ignore[attr-defined]


ODD = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.none())
ENTRIES = st.fixed_dictionaries({"id": st.sampled_from(["p1", "p2", "p3", "p4", "p5", ""]) | ODD, "score": ODD})


@given(st.lists(ENTRIES | ODD, max_size=9))
async def test_no_hit_is_lost_or_doubled_whatever_the_grades(said: list[object]) -> None:
    """C44, C45."""
    try:
        best = await grade_hits("why?", FOUND, ScriptedLLM(rerank=json.dumps({"grades": said})), count=4)
    except Unavailable:  # not one usable grade
        return
    assert sorted(order(best)) == list("abcde")
    assert order(best).endswith("e")
    assert all(0 <= h.signals.get("grade", 0) <= 10 for h in best)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "8, 9",
        '{"grades": {}}',
        '{"scores": [9, 8, 7, 6, 5]}',
        '{"grades": [9, 8, 7, 6, 5]}',
        grades(),
        grades(None, 99),
        "{" * 50_000,
        "[" + "{" * 99,
    ],
)
async def test_garbage_is_unavailable(said: str) -> None:
    """C44: so that the pipeline falls back and says so; a list of bare numbers is garbage, of whatever length."""
    with pytest.raises(Unavailable) as failure:
        await grade_hits("why?", FOUND, ScriptedLLM(rerank=said), count=5)
    assert failure.value.code == "llm_output_invalid"


async def test_nothing_to_grade_asks_nobody() -> None:
    """S1-47."""
    assert await grade_hits("why?", FOUND, Down(), count=0) == FOUND
    assert await grade_hits("why?", [], Down(), count=20) == []


class Technique:
    """Grades without a chat model, and says so."""

    name = "technique"

    async def complete(self, _: Prompt) -> Completion:
        return Completion(grades(1, 2), "local: technique", local=True)


async def test_the_grades_of_a_technique_are_joined_with_the_search_and_those_of_a_model_are_not() -> None:
    found = [hit("a", words=9, meaning=0.9), hit("b", words=1, meaning=0.1)]
    assert order(await grade_hits("why?", found, Technique(), count=2, prior=2)) == "ab"
    assert order(await grade_hits("why?", found, Technique(), count=2)) == "ba"
    assert order(await grade_hits("why?", found, ScriptedLLM(rerank=grades(1, 2)), count=2, prior=2)) == "ba"
