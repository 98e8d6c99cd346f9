"""The diary of one request: what was done, how long it took, what was stood in for, and how much time is left."""

import asyncio
import time
import uuid
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from rag_core.errors import DeadlineExceeded, Unavailable

T = TypeVar("T")


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
            return await asyncio.wait_for(work, allowed)
        except TimeoutError as late:
            raise DeadlineExceeded(f"{name} did not finish within {allowed:.1f} s") from late
        finally:
            spent = (time.perf_counter() - began) * 1000
            self.timings[name] = round(self.timings.get(name, 0.0) + spent, 3)

    async def attempt(
        self, name: str, work: Awaitable[T], *, otherwise: T, fallback: str, within_s: float | None = None
    ) -> T:
        """Do `work`, or note that it was `Unavailable` and give `otherwise`; `fallback` says in words what that is."""
        try:
            return await self.step(name, work, within_s=within_s)
        except Unavailable as failure:
            self.degrade(name, failure.code, failure.message, fallback)
            return otherwise

    def degrade(self, step: str, code: str, reason: str, fallback: str) -> None:
        """Note a lesser answer; a step that failed twice in the same way is named once."""
        noted = Degradation(step, code, reason, fallback)
        if noted not in self.degraded:
            self.degraded.append(noted)

    def warn(self, code: str, message: str) -> None:
        self.warnings.append(Warning_(code, message))
