"""An answer on the terminal while it is made: each sentence appears once it is checked."""

from collections.abc import Sequence
from typing import Any

from rag_core.answering.citation_styles import CitationStyle, choose_default_style, insert_citation_marks
from rag_core.answering.drafting import join_claims
from rag_core.cli.terminal_layout import wrap_for_terminal
from rag_core.core.model import Answer, Claim, Confidence
from rag_core.core.presets import choose_preset

NO_CONFIDENCE = Confidence(0.0, {}, "")


class AnswerStream:
    """What is on the terminal of an answer so far."""

    def __init__(self, style: CitationStyle | None, preset: str | None) -> None:
        self._style = style or choose_default_style(choose_preset(preset=preset)[0].pipeline)
        self._shown = ""

    def show_event(self, name: str, value: Any) -> None:
        """Show the sentences that an event of the run tells of, as far as they are new."""
        if name == "claims" and value:
            self._show(_make_partial_answer(value))

    def finish(self, answer: Answer) -> None:
        """Show the rest of the answer; one that became another, as a refusal, is shown whole."""
        self._show(answer)
        print()

    def _show(self, answer: Answer) -> None:
        text = wrap_for_terminal(insert_citation_marks(answer, self._style))
        if not text.startswith(self._shown):
            print("\n\nAfter all sentences were checked:\n")
            self._shown = ""
        print(text.removeprefix(self._shown), end="", flush=True)
        self._shown = text


def _make_partial_answer(claims: Sequence[Claim]) -> Answer:
    return Answer(join_claims(claims), "answered", "model", tuple(claims), NO_CONFIDENCE, ())
