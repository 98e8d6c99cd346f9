"""What `rag doctor` finds: one line each."""

from dataclasses import dataclass
from typing import Literal

FindingState = Literal["ok", "missing", "broken"]
STATE_MARKS = {"ok": "✓", "missing": "–", "broken": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: "missing" is optional, "broken" is required."""

    state: FindingState
    name: str
    note: str
