"""Comments within the CREATE TABLE of a SQLite file, which keeps the text that somebody wrote: what names mean there.

SQLite has no comments of its own. A comment is about the column before it on its line, else about the one after it.
"""

import re
from dataclasses import dataclass, field

TABLE = ""  # the place of what is said of the table itself
# a comment, a quoted name or text, a word, a mark of structure, or the end of a line; the rest is skipped. What is not
# closed goes on to the end, as SQLite reads it: a second try at each of its signs would take the square
_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))"
    r"|(?P<name>\"(?:[^\"]|\"\")*+(?:\"|\Z)|`[^`]*+(?:`|\Z)|\[[^\]]*+(?:\]|\Z)|\w+)"
    r"|(?P<text>'(?:[^']|'')*+(?:'|\Z))|(?P<mark>[(),\n])"
)
_ENDS = {'"': '"', "`": "`", "[": "]"}


def read_sqlite_comments(statement: str) -> dict[str, str]:
    """Return what the comments of a CREATE TABLE say, by column; `TABLE` has those before the columns."""
    reading = _Reading()
    for token in _TOKEN.finditer(statement):
        reading.take(token.lastgroup or "", token[0])
    return {name: " ".join(said) for name, said in reading.said.items()}


@dataclass(slots=True)
class _Reading:
    """Where a reading of a statement is: how deep in parentheses, at which column, and on whose line."""

    said: dict[str, list[str]] = field(default_factory=dict)
    depth: int = 0
    column: str = ""  # whose definition is being read; "" before its name
    of_line: str = ""  # the last column that was named on this line
    waiting: list[str] = field(default_factory=list)  # comments about the next column

    def take(self, kind: str, text: str) -> None:
        if kind == "comment":
            self._take_comment(" ".join(text.removeprefix("--").removeprefix("/*").removesuffix("*/").split()))
        elif kind == "name" and self.depth == 1 and not self.column:
            self._begin_column(_unquote(text))
        elif kind == "mark":
            self._take_mark(text)

    def _take_comment(self, text: str) -> None:
        if not self.depth:
            self._add(TABLE, text)
        elif self.of_line or self.column:
            self._add(self.of_line or self.column, text)
        else:
            self.waiting.append(text)

    def _begin_column(self, name: str) -> None:
        self.column = self.of_line = name
        for text in self.waiting:
            self._add(name, text)
        self.waiting.clear()

    def _take_mark(self, mark: str) -> None:
        if mark == "\n":
            self.of_line = ""
        elif mark == "," and self.depth == 1:
            self.column = ""
        else:
            self.depth += {"(": 1, ")": -1}.get(mark, 0)

    def _add(self, name: str, text: str) -> None:
        if text and not text.endswith(","):  # which is a definition that was taken out
            self.said.setdefault(name, []).append(text)


def _unquote(name: str) -> str:
    end = _ENDS.get(name[0])
    return name[1:-1].replace(end * 2, end) if end else name
