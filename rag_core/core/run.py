"""The diary of one request: what was done, how long it took, what was stood in for, and how much time is left."""

import asyncio
import math
import time
import uuid
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from rag_core.core.errors import DeadlineExceeded, Unavailable
from rag_core.core.telemetry import span

T = TypeVar("T")

_ends: ContextVar[float] = ContextVar("ends", default=math.inf)  # when the step at work here must; tasks inherit it
_run: ContextVar["Run | None"] = ContextVar("run", default=None)  # whose step it is


def remaining_s() -> float:
    """Seconds the step at work here has left: `min(own, remaining_s())` bounds a call. inf outside of a request."""
    return max(0.0, _ends.get() - time.monotonic())


def spend(*, input_tokens: int, output_tokens: int, cost_usd: float | None) -> None:
    """Book a model's call, also one whose reply was of no use, to the run at work here; `cost_usd` None is unknown."""
    if run := _run.get():
        run.input_tokens += input_tokens
        run.output_tokens += output_tokens
        run.cost_usd = None if run.cost_usd is None or cost_usd is None else run.cost_usd + cost_usd


@dataclass(frozen=True, slots=True)
class Degradation:
    """A step that gave a lesser answer: `code` and `reason` say why, `fallback` what stands in its place."""

    step: str
    code: str
    reason: str
    fallback: str


@dataclass(frozen=True, slots=True)
class Warning_:
    """Advice on the request: something asked for that has no effect, or a limit that was applied."""

    code: str
    message: str


@dataclass(slots=True)
class Run:
    """One request from beginning to end. `within_s` is the whole request's time."""

    within_s: float = 200.0  # the Functions front end ends an HTTP request at 230 s
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    timings: dict[str, float] = field(default_factory=dict)  # milliseconds by step
    degraded: list[Degradation] = field(default_factory=list)
    warnings: list[Warning_] = field(default_factory=list)
    techniques: dict[str, str] = field(default_factory=dict)  # who did a step: a model's name or a local technique
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0  # None once a model's price is not known
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.within_s

    @property
    def remaining_s(self) -> float:
        return max(0.0, self._deadline - time.monotonic())

    async def step(self, name: str, work: Awaitable[T], *, within_s: float | None = None) -> T:
        """Do `work` and note how long it took, also when it fails.

        Raises:
            DeadlineExceeded: the step's or the request's time ran out.
        """
        allowed = self.remaining_s if within_s is None else min(within_s, self.remaining_s)
        began = time.perf_counter()
        try:
            with self._at_work(allowed), span(name, {"rag.run.id": self.id}):
                return await asyncio.wait_for(work, allowed)
        except TimeoutError as late:
            raise DeadlineExceeded(f"{name} did not finish within {allowed:.1f} s") from late
        finally:
            spent = (time.perf_counter() - began) * 1000
            self.timings[name] = round(self.timings.get(name, 0.0) + spent, 3)

    @contextmanager
    def _at_work(self, within_s: float) -> Iterator[None]:
        ends = _ends.set(min(_ends.get(), time.monotonic() + within_s))
        run = _run.set(self)
        try:
            yield
        finally:
            _run.reset(run)
            _ends.reset(ends)

    async def attempt(
        self, name: str, work: Awaitable[T], *, otherwise: T, fallback: str, within_s: float | None = None
    ) -> T:
        """Do `work`, or note that it was `Unavailable` and give `otherwise`; `fallback` says in words what that is."""
        try:
            return await self.step(name, work, within_s=within_s)
        except Unavailable as failure:
            self.degrade(name, failure.code, failure.message, fallback)
            return otherwise

    def end_within(self, within_s: float) -> None:
        """Leave the request so many seconds from now, or what it has left when that is less."""
        self._deadline = min(self._deadline, time.monotonic() + within_s)

    def degrade(self, step: str, code: str, reason: str, fallback: str) -> None:
        """Note a lesser answer; a step that failed twice in the same way is named once."""
        noted = Degradation(step, code, reason, fallback)
        if noted not in self.degraded:
            self.degraded.append(noted)

    def warn(self, code: str, message: str) -> None:
        self.warnings.append(Warning_(code, message))
