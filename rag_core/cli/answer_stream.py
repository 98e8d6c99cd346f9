"""An answer on the terminal while it is made: what is being done, then each sentence once it is checked."""

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console

from rag_core.answering.citation_styles import CitationStyle, choose_default_style, insert_citation_marks
from rag_core.answering.drafting import join_claims
from rag_core.cli.terminal_layout import fold_citation_marks, wrap_for_terminal
from rag_core.core.model import Answer, Claim, Confidence
from rag_core.core.preset_choice import choose_preset

NO_CONFIDENCE = Confidence(0.0, {}, "")
WORK_BY_STEP = {  # what a reader is told of; the other steps take no time that is felt
    **dict.fromkeys(("embed", "search", "words", "meaning"), "searching"),
    **dict.fromkeys(("query_expansion", "hyde"), "rewording the question"),
    **dict.fromkeys(("semantic", "rerank"), "reading passages"),
    **dict.fromkeys(("relevance", "gather"), "judging passages"),
    "answer": "writing the answer",
    "verify": "checking the answer",
}


class AnswerStream:
    """What is on the terminal of an answer so far.

    Used with `with`. What is being done stands on `stream` where that is a terminal, and is taken away again.
    """

    def __init__(self, style: CitationStyle | None, preset: str | None, stream: TextIO | None = None) -> None:
        self._style = style or choose_default_style(choose_preset(preset=preset)[0].pipeline)
        self._shown = ""
        console = Console(file=stream or sys.stderr)
        self._status = console.status("searching") if console.is_terminal else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear_status()

    def show_event(self, name: str, value: Any) -> None:
        """Show the step that an event of the run tells of, or its sentences, as far as they are new."""
        if name == "claims" and value:
            self._show(_make_partial_answer(value))
        elif name == "step" and self._status and not self._shown and value["step"] in WORK_BY_STEP:
            self._status.update(WORK_BY_STEP[value["step"]])
            self._status.start()

    def _clear_status(self) -> None:
        if self._status:
            self._status.stop()

    def finish(self, answer: Answer) -> None:
        """Show the rest of the answer; one that became another, as a refusal, is shown whole."""
        self._show(answer)
        print()

    def _show(self, answer: Answer) -> None:
        self._clear_status()
        text = wrap_for_terminal(fold_citation_marks(insert_citation_marks(answer, self._style)))
        if not text.startswith(self._shown):
            print("\n\nAfter all sentences were checked:\n")
            self._shown = ""
        print(text.removeprefix(self._shown), end="", flush=True)
        self._shown = text


def _make_partial_answer(claims: Sequence[Claim]) -> Answer:
    return Answer(join_claims(claims), "answered", "model", tuple(claims), NO_CONFIDENCE, ())
