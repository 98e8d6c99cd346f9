"""A fact of a claim that a passage does not have."""

from dataclasses import dataclass
from typing import Literal

FactKind = Literal["number", "unit", "date", "name", "negation", "direction", "order", "quantity", "modality"]


@dataclass(frozen=True, slots=True)
class FactConflict:
    """A fact of a claim that a passage does not have; `stated` is what the passage has instead, "" for nothing."""

    kind: FactKind
    word: str
    stated: str = ""

    @property
    def reason(self) -> str:
        """The conflict as "kind: word", with what the passage states in its place."""
        return f"{self.kind}: {self.word}" + (f" (the passage: {self.stated})" if self.stated else "")
