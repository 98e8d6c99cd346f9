"""The record of one request: its steps and their times, degradations, warnings, model usage, and the time left."""

import asyncio
import math
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rag_core.core.errors import DeadlineExceeded, NotChosen, Unavailable
from rag_core.core.telemetry import trace_span
from rag_core.text.request_memory import RequestMemory, keep_results

T = TypeVar("T")

_step_ends_at: ContextVar[float] = ContextVar("ends", default=math.inf)  # monotonic time; tasks inherit it
_current_run: ContextVar["Run | None"] = ContextVar("run", default=None)  # the run of the current step


def get_remaining_s() -> float:
    """Return the seconds that the current step has left, at least 0; inf outside of a request."""
    return max(0.0, _step_ends_at.get() - time.monotonic())


def get_pair_scores() -> dict[tuple[str, str], float]:
    """Return the current run's scores by query text and passage, to add to; outside of a request, an empty dict."""
    run = _current_run.get()
    return {} if run is None else run.pair_scores


def book_model_usage(*, input_tokens: int, output_tokens: int, cost_usd: float | None) -> None:
    """Add the usage of one model call, also of a useless one, to the current run; `cost_usd` None is unknown."""
    if run := _current_run.get():
        run.input_tokens += input_tokens
        run.output_tokens += output_tokens
        run.cost_usd = None if run.cost_usd is None or cost_usd is None else run.cost_usd + cost_usd


def book_layout_pages(pages: int, cost_usd: float) -> None:
    """Add pages that a layout service was paid for to the current run, and their cost."""
    if run := _current_run.get():
        run.layout_pages += pages
    book_model_usage(input_tokens=0, output_tokens=0, cost_usd=cost_usd)


def warn_current_run(code: str, message: str, *, once: bool = False) -> None:
    """Add a warning to the current run, if it has not got it; with `once`, if it has none of this code.

    Outside of a request there is nobody to be warned.
    """
    run = _current_run.get()
    if run and not any(warning.code == code and (once or warning.message == message) for warning in run.warnings):
        run.warn(code, message)


def degrade_current_run(step: str, code: str, reason: str, fallback: str) -> None:
    """Record a degradation of the current run that an adapter has already made good; outside of a request, nothing."""
    if run := _current_run.get():
        run.degrade(step, code, reason, fallback)


@dataclass(frozen=True, slots=True)
class Degradation:
    """A step that failed: `code` and `reason` say why, `fallback` says in words what was used instead."""

    step: str
    code: str
    reason: str
    fallback: str


@dataclass(frozen=True, slots=True)
class RunWarning:
    """A warning about the request: an option without effect, or a limit that was applied."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Notes:
    """What a trial would tell the caller, see `Run.try_out`."""

    warnings: list[RunWarning] = field(default_factory=list)
    techniques: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Run:
    """The record of one request; `within_s` is the time limit of the whole request."""

    within_s: float = 200.0  # the Functions front end ends an HTTP request at 230 s
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    timings: dict[str, float] = field(default_factory=dict)  # milliseconds by step
    degraded: list[Degradation] = field(default_factory=list)
    warnings: list[RunWarning] = field(default_factory=list)
    techniques: dict[str, str] = field(default_factory=dict)  # by step: a model's name or a local technique
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0  # None once a model's price is unknown
    layout_pages: int = 0  # sent to a layout service, which is paid by the page
    planned_layout_pages: int = 0  # that a plan would have sent
    failure_code: str | None = None  # of what ended the reply after its first event, when the status had been sent
    pair_scores: dict[tuple[str, str], float] = field(default_factory=dict)  # see `get_pair_scores`
    results: RequestMemory = field(default_factory=dict, repr=False)  # see `remember_in_request`
    listener: Callable[[str, Any], None] | None = None  # told what happens while somebody waits for it, see `tell`
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.within_s

    @property
    def remaining_s(self) -> float:
        """The seconds that the request has left, at least 0."""
        return max(0.0, self._deadline - time.monotonic())

    def add_up_usage(self, earlier: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the hosted models of this run used, and `earlier` ones: {}, or what this returned of them."""
        costs = (earlier.get("cost_usd", 0.0), self.cost_usd)
        return {
            "input_tokens": earlier.get("input_tokens", 0) + self.input_tokens,
            "output_tokens": earlier.get("output_tokens", 0) + self.output_tokens,
            "layout_pages": earlier.get("layout_pages", 0) + self.layout_pages,
            "cost_usd": None if None in costs else round(sum(costs), 9),
        }

    async def step(self, name: str, awaitable: Awaitable[T], *, within_s: float | None = None) -> T:
        """Await `awaitable` and record the time that it took, also when it fails.

        Raises:
            DeadlineExceeded: the step or the request ran out of time.
        """
        timeout_s = self.remaining_s if within_s is None else min(within_s, self.remaining_s)
        started_at = time.perf_counter()
        self.tell("step", {"step": name, "state": "started"})
        try:
            with self._enter_step(timeout_s), trace_span(name, {"rag.run.id": self.id}):
                # not wait_for: in Python 3.11 it loses a cancellation that arrives together with the result
                async with asyncio.timeout(timeout_s):
                    return await asyncio.ensure_future(awaitable)
        except TimeoutError as error:
            raise DeadlineExceeded(f"{name} did not finish within {timeout_s:.1f} s") from error
        finally:
            elapsed_ms = (time.perf_counter() - started_at) * 1000
            self.timings[name] = round(self.timings.get(name, 0.0) + elapsed_ms, 3)
            self.tell("step", {"step": name, "state": "done", "ms": round(elapsed_ms, 3)})

    @contextmanager
    def _enter_step(self, within_s: float) -> Iterator[None]:
        """Make this run and the deadline of its step the current ones within the block."""
        ends_token = _step_ends_at.set(min(_step_ends_at.get(), time.monotonic() + within_s))
        run_token = _current_run.set(self)
        try:
            with keep_results(self.results):
                yield
        finally:
            _current_run.reset(run_token)
            _step_ends_at.reset(ends_token)

    async def attempt(
        self, name: str, awaitable: Awaitable[T], *, otherwise: T, fallback: str, within_s: float | None = None
    ) -> T:
        """Return the result of `awaitable`, or record that it was `Unavailable` and return `otherwise`.

        `fallback` says in words what `otherwise` is. For a part that was not chosen it is the step's technique.
        """
        try:
            return await self.step(name, awaitable, within_s=within_s)
        except NotChosen:
            self.techniques[name] = fallback
            return otherwise
        except Unavailable as error:
            self.degrade(name, error.code, error.message, fallback)
            return otherwise

    async def try_out(self, awaitable: Awaitable[T]) -> tuple[T, Notes]:
        """Return the result of `awaitable`, and its warnings and techniques, which are the run's once they are kept.

        Its times, usage and degradations are the run's in any case, and all of it where it fails.
        """
        before, notes = (self.warnings, self.techniques), Notes()
        self.warnings, self.techniques = notes.warnings, notes.techniques
        with ExitStack() as on_failure:
            on_failure.callback(self.keep_notes, notes)
            try:
                result = await awaitable
            finally:
                self.warnings, self.techniques = before
            on_failure.pop_all()
        return result, notes

    def keep_notes(self, notes: Notes) -> None:
        """Add the warnings and techniques of a trial to the run's, a warning that it has once."""
        self.warnings += [warning for warning in notes.warnings if warning not in self.warnings]
        self.techniques |= notes.techniques

    def add_part(self, part: "Run") -> None:
        """Add what a part of the work that had a run of its own took, used and noted."""
        for name, elapsed_ms in part.timings.items():
            self.timings[name] = round(self.timings.get(name, 0.0) + elapsed_ms, 3)
        self.degraded += [degradation for degradation in part.degraded if degradation not in self.degraded]
        self.warnings += part.warnings
        self.techniques |= part.techniques
        used = part.add_up_usage(self.add_up_usage({}))
        self.input_tokens, self.output_tokens = used["input_tokens"], used["output_tokens"]
        self.layout_pages, self.cost_usd = used["layout_pages"], used["cost_usd"]
        self.planned_layout_pages += part.planned_layout_pages

    def tell(self, event: str, value: Any) -> None:
        """Tell the listener, if there is one, of a step or of the claims that are checked so far."""
        if self.listener:
            self.listener(event, value)

    def shorten_deadline(self, within_s: float) -> None:
        """Limit the rest of the request to `within_s` seconds from now."""
        self._deadline = min(self._deadline, time.monotonic() + within_s)

    def degrade(self, step: str, code: str, reason: str, fallback: str) -> None:
        """Record a degradation; a step that failed twice in the same way is recorded once."""
        degradation = Degradation(step, code, reason, fallback)
        if degradation not in self.degraded:
            self.degraded.append(degradation)

    def warn(self, code: str, message: str) -> None:
        """Record a warning to the caller."""
        self.warnings.append(RunWarning(code, message))
