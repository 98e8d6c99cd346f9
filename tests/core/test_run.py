import asyncio

import pytest

from rag_core.core.errors import Conflict, DeadlineExceeded, NotChosen, Unavailable
from rag_core.core.run import Degradation, Run, book_model_usage


async def give(value: str) -> str:
    return value


async def fail(error: Exception) -> str:
    raise error


async def never() -> str:
    await asyncio.Event().wait()
    return "never"


async def test_a_step_gives_its_value_and_its_time() -> None:
    run = Run()
    assert await run.step("search", give("found")) == "found"
    assert list(run.timings) == ["search"]


async def test_a_failed_step_is_timed_too() -> None:
    run = Run()
    with pytest.raises(Conflict):
        await run.step("search", fail(Conflict("other space")))
    assert "search" in run.timings


async def test_a_step_of_two_parts_has_one_sum() -> None:
    run = Run()
    await run.step("search", give("one"))
    before = run.timings["search"]
    await run.step("search", give("two"))
    assert list(run.timings) == ["search"]
    assert run.timings["search"] >= before


async def test_a_step_ends_when_its_time_is_over() -> None:
    """C22: a stage has its own time or what is left of the request's, whichever is less."""
    with pytest.raises(DeadlineExceeded, match="search did not finish"):
        await Run().step("search", never(), within_s=0)
    with pytest.raises(DeadlineExceeded):
        await Run(within_s=0).step("search", never(), within_s=60)


async def test_what_has_no_time_left_is_not_begun() -> None:
    begun: list[str] = []

    async def begin() -> None:
        begun.append("a call that costs")

    with pytest.raises(DeadlineExceeded):
        await Run(within_s=0).step("embed", begin())
    assert not begun


async def test_a_cancellation_that_arrives_with_the_result_ends_the_step() -> None:
    """A worker or a request that is cancelled in this moment would go on for ever otherwise."""
    result = asyncio.get_running_loop().create_future()
    step = asyncio.create_task(Run().step("search", result))
    await asyncio.sleep(0)
    result.set_result("found")
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step


async def test_an_attempt_gives_the_lesser_answer_and_says_so() -> None:
    run = Run()
    down = fail(Unavailable("no answer in three tries", code="llm_unavailable"))
    assert await run.attempt("rerank", down, otherwise="as found", fallback="the order of the search") == "as found"
    assert run.degraded == [
        Degradation("rerank", "llm_unavailable", "no answer in three tries", "the order of the search")
    ]


async def test_a_part_that_was_not_chosen_is_replaced_and_nothing_is_degraded() -> None:
    run = Run()
    absent = fail(NotChosen("this deployment has no cross-encoder"))
    assert (
        await run.attempt("relevance", absent, otherwise="as found", fallback="the order of the search") == "as found"
    )
    assert (run.degraded, run.techniques) == ([], {"relevance": "the order of the search"})


async def test_an_attempt_out_of_time_is_a_lesser_answer_too() -> None:
    """C22: when the request's time is over, what was found so far is given."""
    run = Run(within_s=0)
    assert await run.attempt("rerank", never(), otherwise="as found", fallback="as found") == "as found"
    assert [d.code for d in run.degraded] == ["deadline_exceeded"]


async def test_an_attempt_hides_no_other_error() -> None:
    with pytest.raises(Conflict):
        await Run().attempt("embed", fail(Conflict("other space")), otherwise="", fallback="")


def test_the_same_failure_of_a_step_is_named_once() -> None:
    run = Run()
    for reason in ("down", "down", "slow"):
        run.degrade("embed", "embedding_unavailable", reason, "words only")
    assert [d.reason for d in run.degraded] == ["down", "slow"]


def test_each_run_has_its_own_id() -> None:
    assert Run().id != Run().id


def test_a_request_may_be_told_to_end_sooner_but_never_later() -> None:
    """S2-45, C22."""
    run = Run(within_s=100)
    run.shorten_deadline(30)
    assert 29 < run.remaining_s <= 30
    run.shorten_deadline(60)
    assert run.remaining_s <= 30


async def warn(run: Run, *, fails: bool = False) -> str:
    run.warn("tried", "…")
    run.techniques["answer"] = "tried"
    run.degrade("answer", "slow", "…", "…")
    if fails:
        raise Conflict("other space")
    return "done"


async def test_the_notes_of_a_trial_are_the_runs_only_once_they_are_kept() -> None:
    run = Run(techniques={"answer": "first"})
    run.warn("before", "…")
    result, notes = await run.try_out(warn(run))
    assert (result, [warning.code for warning in run.warnings]) == ("done", ["before"])
    assert run.techniques == {"answer": "first"}
    assert run.degraded  # what fell back has done so, whatever comes of it
    run.keep_notes(notes)
    assert [warning.code for warning in run.warnings] == ["before", "tried"]
    assert run.techniques == {"answer": "tried"}


async def test_a_warning_of_two_trials_is_told_once() -> None:
    """Both search with the same question, and the model warns of its language each time."""
    run = Run()

    async def warn() -> None:
        run.warn("language_unread", "the question looks German")

    for _ in range(2):
        _, notes = await run.try_out(warn())
        run.keep_notes(notes)
    assert [warning.code for warning in run.warnings] == ["language_unread"]


async def test_a_trial_that_fails_leaves_its_notes() -> None:
    run = Run()
    with pytest.raises(Conflict):
        await run.try_out(warn(run, fails=True))
    assert [warning.code for warning in run.warnings] == ["tried"]
    assert run.techniques == {"answer": "tried"}


async def test_the_cost_of_a_run_is_unknown_once_that_of_a_call_is() -> None:
    async def call(*prices: float | None) -> None:
        for price in prices:
            book_model_usage(input_tokens=2, output_tokens=1, cost_usd=price)

    known, unknown = Run(), Run()
    await known.step("answer", call(0.25, 0.5))
    await unknown.step("answer", call(0.25, None, 0.5))
    assert (known.cost_usd, unknown.cost_usd) == (0.75, None)
    assert (unknown.input_tokens, unknown.output_tokens) == (6, 3)


async def test_a_run_adds_up_what_its_parts_took_used_and_noted() -> None:
    whole, parts = Run(), [Run(), Run()]
    for number, part in enumerate(parts, 1):
        await part.step("index", give("done"))
        part.input_tokens, part.output_tokens, part.cost_usd, part.layout_pages = 10 * number, number, 0.1, number
        part.planned_layout_pages = 2
        part.degrade("keep", "original_not_kept", "the disk is full", "no page is shown")
        part.warn("extraction", f"page {number} is blank")
        part.techniques["embed"] = "local"
        whole.add_part(part)
    assert whole.timings["index"] == pytest.approx(sum(part.timings["index"] for part in parts))
    assert (whole.input_tokens, whole.output_tokens, whole.cost_usd) == (30, 3, pytest.approx(0.2))
    assert (whole.layout_pages, whole.planned_layout_pages) == (3, 4)
    assert len(whole.degraded) == 1
    assert [warning.message for warning in whole.warnings] == ["page 1 is blank", "page 2 is blank"]
    assert whole.techniques == {"embed": "local"}
    part.cost_usd = None
    whole.add_part(part)
    assert whole.cost_usd is None
