"""How output is laid out on the terminal: tables, progress bars, counts, places and wrapped text."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from rag_core.answering.citation_styles import to_printable_line
from rag_core.text.layout import is_key_value_list
from rag_core.text.sentences import shorten_at_word

_LONG_MARKS = re.compile(r"(\[\d+\])(?: ?\[\d+\]){4,} ?(\[\d+\])")  # of six and more citations


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows below their headings; columns of numbers are right-aligned."""
    rich_table = Table(box=None, pad_edge=False, header_style="bold")
    for column, heading in enumerate(heads):
        is_numeric = all(isinstance(row[column], int | float) for row in rows)
        rich_table.add_column(heading, justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        rich_table.add_row(*(str(cell) for cell in row))
    Console(markup=False, highlight=False).print(rich_table)


def create_progress_bar(stream: TextIO) -> Progress:
    """Create a progress bar, which shows nothing when the stream is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(file=stream), transient=True, disable=not stream.isatty())


def create_progress_callback(bar: Progress) -> Callable[[str, int, int], None]:
    """Create a callback that reports progress by name, done and total, with one bar per name."""
    task_ids: dict[str, TaskID] = {}

    def report(name: str, done: int, total: int) -> None:
        if name not in task_ids:
            task_ids[name] = bar.add_task(name)
        bar.update(task_ids[name], completed=done, total=total)

    return report


def format_count(count: int, noun: str) -> str:
    """Format a count with its noun, as in "1 passage" and "2 passages"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def join_source_parts(title: str, location: str, source: str) -> str:
    """Join a title, a place and a source that have one; a file below the working folder is named from there."""
    path = Path(source)
    displayed_source = str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else source
    return " · ".join(filter(None, (to_printable_line(title), location, to_printable_line(displayed_source))))


def shorten_for_terminal(text: str) -> str:
    """Return a text as one line of at most 280 characters, cut at a space; the cells of a row are kept apart."""
    joined = " · ".join(text.splitlines()) if is_key_value_list(text) else text
    return shorten_at_word(to_printable_line(joined), 280)


def fold_citation_marks(text: str) -> str:
    """Return a text with a long run of marks such as "[1] [2] [3] …" as its first and last: "[1]–[100]"."""
    return _LONG_MARKS.sub(lambda run: f"{run[1]}–{run[2]}", text)


def wrap_for_terminal(text: str) -> str:
    """Wrap each line of a text to the width of the terminal."""
    return "\n".join(indent_for_terminal(to_printable_line(line), "") for line in text.splitlines())


def indent_for_terminal(text: str, indent: str = "     ", *, first: str | None = None) -> str:
    """Wrap and indent a text to the terminal's width, at most 100 columns; file names stay whole for copying."""
    width = min(100, get_terminal_size().columns)
    initial_indent = indent if first is None else first
    return fill(
        text,
        width,
        initial_indent=initial_indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
