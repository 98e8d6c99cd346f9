"""A fact of a claim that a passage does not have, and its form as a reason."""

from dataclasses import dataclass
from typing import Literal

FactKind = Literal["number", "unit", "date", "name", "negation", "direction", "order", "quantity", "modality"]
_STATED_MARK = " (the passage: "


@dataclass(frozen=True, slots=True)
class FactConflict:
    """A fact of a claim that a passage does not have; `stated` is what the passage has instead, "" for nothing."""

    kind: FactKind
    word: str
    stated: str = ""

    @property
    def reason(self) -> str:
        """The conflict as "kind: word", with what the passage states in its place."""
        return f"{self.kind}: {self.word}" + (f"{_STATED_MARK}{self.stated})" if self.stated else "")


def split_reason(reason: str) -> tuple[str, str, str]:
    """Return the kind of a reason, its word, and what the passage states in its place; "" for what it does not have."""
    kind, _, rest = reason.partition(": ")
    word, _, stated = rest.partition(_STATED_MARK)
    return kind, word, stated.removesuffix(")")
