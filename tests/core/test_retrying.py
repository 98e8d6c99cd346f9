"""Time in these tests is virtual: what waits an hour ends at once."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.core.errors import InvalidRequest, RagError, Unavailable
from rag_core.core.retrying import (
    RETRIED_STATUS_CODES,
    CircuitBreaker,
    Dependency,
    RetryBudget,
    TransientFailure,
    parse_retry_after_s,
)
from rag_core.core.run import Run, get_remaining_s
from tests import virtual

BUSY = TransientFailure("503")
REFUSED = InvalidRequest("prompt", "is refused")
HANG = "hang"


class Script:
    """Work that does what the script says, one line a try, and its last line ever after; notes when it was asked."""

    def __init__(self, *lines: object) -> None:
        self.lines = lines
        self.asked: list[float] = []

    async def __call__(self, within_s: float) -> str:
        line = self.lines[min(len(self.asked), len(self.lines) - 1)]
        self.asked.append(now())
        if isinstance(line, Exception):
            raise line
        return "done" if line != HANG else str(await asyncio.Event().wait())


def now() -> float:
    return asyncio.get_running_loop().time()


def dependency(try_s: float = 5) -> Dependency:
    return Dependency("the search service", code="search_unavailable", try_s=try_s)


async def failure(work: Awaitable[object]) -> Unavailable:
    with pytest.raises(Unavailable) as refused:
        await work
    return refused.value


def test_what_passes_is_tried_again_and_given() -> None:
    work = Script(BUSY, BUSY, "done")
    assert virtual.run(dependency().call(work)) == "done"
    assert len(work.asked) == 3


def test_three_tries_are_all_and_the_error_counts_them() -> None:
    work = Script(BUSY)
    given_up = virtual.run(failure(dependency().call(work)))
    assert len(work.asked) == 3
    assert given_up.code == "search_unavailable"
    assert given_up.details["attempts"] == 3
    assert given_up.details["elapsed_s"] == pytest.approx(work.asked[-1] - work.asked[0], abs=0.001)


def test_what_would_not_pass_is_asked_once() -> None:
    work = Script(REFUSED)
    with pytest.raises(InvalidRequest):
        virtual.run(dependency().call(work))
    assert len(work.asked) == 1
    assert RETRIED_STATUS_CODES.isdisjoint({200, 207, 400, 401, 403, 404, 409, 422})


def test_a_try_that_hangs_is_cut_off_and_tried_again() -> None:
    work = Script(HANG, "done")
    assert virtual.run(dependency(try_s=2).call(work)) == "done"
    assert work.asked[1] >= 2


@given(st.integers(0, 2**32))
def test_waits_are_jittered_within_a_doubling_bound(seed: int) -> None:
    """RELIABILITY 3.3: uniform from 0 to 0.25 s, then to 0.5 s."""
    random.seed(seed)
    work = Script(BUSY)
    virtual.run(failure(dependency().call(work)))
    first, second, third = work.asked
    assert 0 <= second - first <= 0.251
    assert 0 <= third - second <= 0.501


def test_a_wait_asked_for_is_kept_to_when_it_fits() -> None:
    work = Script(TransientFailure("429", retry_after_s=7), "done")
    assert virtual.run(dependency().call(work, within_s=30)) == "done"
    assert work.asked == [0, 7]


@pytest.mark.parametrize("asked_s", [9.1, 3600.0])
def test_a_wait_that_does_not_fit_is_not_begun(asked_s: float) -> None:
    """F3: an hour asked for is not an hour slept; a second must be left for the try itself."""

    async def told() -> tuple[Unavailable, float]:
        return await failure(
            dependency().call(Script(TransientFailure("429", retry_after_s=asked_s)), within_s=10)
        ), now()

    given_up, elapsed = virtual.run(told())
    assert elapsed == 0
    assert given_up.details["retry_after_s"] == asked_s


def test_a_call_has_no_more_time_than_its_request() -> None:
    """S2-45, C22: the request's deadline reaches every call, and the call ends before it."""
    work = Script(HANG)

    async def request() -> float:
        given_up = await failure(Run(within_s=30).step("search", dependency(try_s=120).call(work)))
        assert given_up.code == "search_unavailable", "the step would have said deadline_exceeded"
        return now()

    assert 29 < virtual.run(request()) < 30


async def test_each_try_is_told_what_it_has() -> None:
    async def told(within_s: float) -> float:
        return within_s

    assert await dependency(try_s=120).call(told) == 120
    assert await Run(within_s=60).step("search", dependency(try_s=120).call(told)) <= 60


async def test_a_step_s_deadline_is_seen_inside_of_it_only() -> None:
    """C22: also in tasks and threads that the step starts."""

    async def look() -> Sequence[float]:
        return [
            get_remaining_s(),
            await asyncio.create_task(_given(get_remaining_s)),
            await asyncio.to_thread(get_remaining_s),
        ]

    assert all(s <= 3 for s in await Run().step("look", look(), within_s=3))
    assert get_remaining_s() == float("inf")


async def _given(ask: Callable[[], float]) -> float:
    return ask()


def test_five_failures_in_a_row_open_the_breaker_until_a_probe_succeeds() -> None:
    work = Script(*[BUSY] * 5, "done")

    async def story() -> None:
        down = dependency()
        await failure(down.call(work))
        await failure(down.call(work))
        assert len(work.asked) == 5, "the breaker opened within the second call and ended it"
        refused = await failure(down.call(work))
        assert (len(work.asked), refused.details["attempts"]) == (5, 0)
        await asyncio.sleep(CircuitBreaker.PAUSE_S)
        assert [await down.call(work), await down.call(work)] == ["done", "done"]

    virtual.run(story())


def test_who_is_refused_by_an_open_breaker_is_told_how_long_the_dependency_asked_to_wait() -> None:
    work = Script(*[TransientFailure("HTTP 429", retry_after_s=60)] * 5, "done")

    async def story() -> None:
        down = dependency()
        given_up = [await failure(down.call(work, within_s=10)) for _ in range(5)]
        assert given_up[0].message.endswith("did not answer: HTTP 429, asking to wait 60 s")
        await asyncio.sleep(4)
        refused = await failure(down.call(work, within_s=10))
        assert (len(work.asked), refused.details["retry_after_s"]) == (5, 56)
        assert refused.message.endswith("failed too often to be called again yet: try again in 56 s")
        await asyncio.sleep(CircuitBreaker.PAUSE_S)
        assert await down.call(work) == "done"

    virtual.run(story())


def test_a_failed_probe_is_not_retried_and_closes_the_door_again() -> None:
    work = Script(BUSY)

    async def story() -> None:
        down = dependency()
        for _ in range(2):
            await failure(down.call(work))
        await asyncio.sleep(CircuitBreaker.PAUSE_S)
        assert (await failure(down.call(work))).details["attempts"] == 1
        assert (await failure(down.call(work))).details["attempts"] == 0

    virtual.run(story())


def test_one_probe_goes_at_a_time_and_one_that_was_left_is_followed_by_another() -> None:
    breaker = CircuitBreaker()
    for _ in range(CircuitBreaker.MAX_CONSECUTIVE_FAILURES):
        breaker.record_failure(0)
    assert [breaker.allow_call(t) for t in (0, 9.9, 10, 10.1, 19.9, 20)] == [False, False, True, False, False, True]


def test_callers_without_time_open_no_breaker() -> None:
    """C22: a neighbour that was not asked has not failed."""
    work = Script("done")

    async def story() -> None:
        fine = dependency()
        for _ in range(2 * CircuitBreaker.MAX_CONSECUTIVE_FAILURES):
            assert (await failure(fine.call(work, within_s=0))).details["attempts"] == 0
        assert await fine.call(work) == "done"

    virtual.run(story())
    assert len(work.asked) == 1


def test_half_of_twenty_failures_open_the_breaker() -> None:
    breaker = CircuitBreaker()
    for turn in range(CircuitBreaker.WINDOW_CALLS):
        assert breaker.is_closed
        breaker.record_failure(turn) if turn % 2 else breaker.record_success()
    assert not breaker.is_closed


def test_a_refusal_is_an_answer_and_opens_no_breaker() -> None:
    async def story() -> None:
        strict = dependency()
        for _ in range(CircuitBreaker.WINDOW_CALLS):
            with pytest.raises(RagError):
                await strict.call(Script(REFUSED))
        assert await strict.call(Script("done")) == "done"

    virtual.run(story())


def test_retries_are_paid_by_successes() -> None:
    """RELIABILITY 3.3, G7: ten at first, then one for every ten successes."""
    budget = RetryBudget()
    assert [budget.spend() for _ in range(11)] == [True] * 10 + [False]
    for _ in range(11):
        budget.earn()
    assert [budget.spend(), budget.spend()] == [True, False]


def test_every_success_of_a_neighbour_earns_a_part_of_a_retry() -> None:
    """Of three calls two succeed at once: what they earn pays for more retries than there were at first."""

    async def retries() -> int:
        flaky, granted = dependency(), 0
        while True:
            for work in (Script("done"), Script("done"), Script(BUSY, "done")):
                try:
                    await flaky.call(work)
                except Unavailable:
                    return granted
            granted += 1

    assert virtual.run(retries()) > RetryBudget.CAPACITY


@given(st.lists(st.sampled_from([BUSY, REFUSED, HANG, "done"]), min_size=1, max_size=8), st.integers(1, 60))
def test_whatever_happens_a_call_ends_in_time_within_three_tries(lines: list[object], within_s: int) -> None:
    """G7: no script of failures makes a call late or multiplies it."""
    work = Script(*lines)

    async def story() -> float:
        with suppress(RagError):
            assert await dependency(try_s=20).call(work, within_s=within_s) == "done"
        return now()

    assert virtual.run(story()) <= within_s
    assert 1 <= len(work.asked) <= 3


def test_an_outage_is_met_with_hardly_more_than_the_usual_load() -> None:
    """G7, F6: 1,000 calls into an outage make at most 1.1 tries each."""
    work = Script(BUSY)

    async def outage() -> None:
        down = dependency()
        for _ in range(1000):
            await failure(down.call(work))
            await asyncio.sleep(0.5)

    virtual.run(outage())
    assert len(work.asked) <= 1100


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_read_in_every_spelling(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after_s(headers) == seconds


def test_a_wait_is_read_from_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert parse_retry_after_s({"retry-after": date}) == pytest.approx(3600, abs=5)


@given(st.text(max_size=30))
def test_no_header_makes_reading_it_fail(garbage: str) -> None:
    assert (parse_retry_after_s({"retry-after": garbage, "retry-after-ms": garbage}) or 0) >= 0
