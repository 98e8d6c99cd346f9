"""Switches for the tests of clients: the service fails, is slow or accepts a part of a batch, as often as it is told.

A switch is set at the start (`--fault search:503:0.1`) or later, by PUT /emulator/faults.
"""

import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .refusals import ServiceRefusal, make_refusal

Json = dict[str, Any]

OPERATIONS = ("search", "index", "lookup", "suggest", "definition", "semantic", "any")
MESSAGES: Mapping[int, str] = {
    402: "The free quota of the semantic ranker has been used up for this month.",
    403: "The quota of this service has been exceeded.",
    429: "Too many requests. Retry later.",
    503: "The service is under heavy load. Retry later.",
}


@dataclass(slots=True)
class Fault:
    """A fault strikes this share of an operation's requests, or its next `times` ones.

    Status 207 fails each action of a batch with that share; status 0 only delays, by `delay_s`.
    """

    operation: str
    status: int
    share: float = 1.0
    times: int | None = None
    delay_s: float = 0.0
    retry_after_s: int | None = None
    code: str = ""
    message: str = ""


@dataclass
class Faults:
    """The faults that are switched on. `seed` makes the same requests fail each time."""

    faults: Sequence[Fault] = ()
    seed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311

    def set_faults(self, faults: Sequence[Fault]) -> None:
        with self._lock:
            self.faults = list(faults)
            self._random = random.Random(self.seed)  # noqa: S311

    def strike(self, operation: str) -> None:
        """Wait, or raise a ServiceRefusal, where a fault of this operation is due."""
        for fault in self._list_due(operation):
            time.sleep(fault.delay_s)
            if fault.status:
                raise ServiceRefusal(
                    fault.status,
                    fault.message or MESSAGES.get(fault.status, "A fault that the emulator was told to make."),
                    code=fault.code,
                    retry_after_s=fault.retry_after_s,
                )

    def fails_action(self) -> bool:
        """Tell whether the next action of a batch is to be refused with 503."""
        with self._lock:
            return any(self._is_due(fault) for fault in self.faults if fault.status == 207)

    def _list_due(self, operation: str) -> list[Fault]:
        wanted = {operation} if operation == "semantic" else {operation, "any"}
        with self._lock:
            return [one for one in self.faults if one.operation in wanted and one.status != 207 and self._is_due(one)]

    def _is_due(self, fault: Fault) -> bool:
        if fault.times == 0 or self._random.random() >= fault.share:
            return False
        if fault.times is not None:
            fault.times -= 1
        return True


def read_faults(body: Any) -> list[Fault]:
    """Read `{"faults": [{"operation", "status", ...}]}`. Raises a ServiceRefusal for what is not a fault."""
    given = body.get("faults") if isinstance(body, dict) else None
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise make_refusal("'faults' must be a list of objects.", parameter="faults")
    return [_read_fault(one) for one in given]


def _read_fault(given: Json) -> Fault:
    try:
        fault = Fault(**given)
    except TypeError as failure:
        raise make_refusal(f"A fault has an 'operation' and a 'status': {failure}.", parameter="faults") from failure
    if fault.operation not in OPERATIONS:
        raise make_refusal(f"The operation must be one of {', '.join(OPERATIONS)}.", parameter="faults")
    return fault


def parse_fault(text: str) -> Fault:
    """Parse `operation:status[:share]`, as the command line takes it. Raises ValueError."""
    operation, status, *rest = text.split(":")
    if operation not in OPERATIONS or len(rest) > 1:
        raise ValueError(f"a fault is OPERATION:STATUS[:SHARE], with one of {', '.join(OPERATIONS)}; not {text!r}")
    return Fault(operation, int(status), float(rest[0]) if rest else 1.0)
