"""Parse the simple query syntax, `+ | - "phrase" prefix* ( )`, as Lucene's SimpleQueryParser does: never an error."""

from collections.abc import Callable

from .query_tree import AllOf, AnyOf, Phrase, Prefix, Query, Term, Without

_ENDS = set('"|+()')
Join = Callable[[tuple[Query, ...]], Query]


def parse_simple_query(text: str, *, every: bool) -> Query | None:
    """Parse a query; return None when nothing is asked. `every` joins words side by side with "and", else "or"."""
    return _SimpleQueryParser(text, AllOf if every else AnyOf).parse_group(0)


class _SimpleQueryParser:
    def __init__(self, text: str, default: Join) -> None:
        self._text, self._at, self._default = text, 0, default

    def parse_group(self, depth: int) -> Query | None:
        """Parse up to the closing bracket or the end. An operator joins what is to its left with what follows it."""
        left: Query | None = None
        join, negate = self._default, False
        while self._at < len(self._text):
            character = self._text[self._at]
            if character.isspace():
                self._at += 1
            elif character in "+|":
                join = AllOf if character == "+" else AnyOf
                self._at += 1
            elif character == "-":
                negate = not negate
                self._at += 1
            elif character == ")":
                self._at += 1
                if depth:
                    return left
            else:
                part = self._parse_part(character, depth)
                if part:
                    left = _join_queries(left, Without(part) if negate else part, join)
                join, negate = self._default, False
        return left

    def _parse_part(self, character: str, depth: int) -> Query | None:
        if character == "(":
            self._at += 1
            return self.parse_group(depth + 1)
        if character == '"':
            return self._parse_phrase()
        return self._parse_word()

    def _parse_phrase(self) -> Query | None:
        end = self._text.find('"', self._at + 1)
        if end < 0:  # a quote that is never closed is skipped
            self._at += 1
            return None
        text, self._at = self._text[self._at + 1 : end], end + 1
        return Phrase(text) if text.strip() else None

    def _parse_word(self) -> Query | None:
        letters: list[str] = []
        starred = False
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in _ENDS or character.isspace():
                break
            escaped = character == "\\" and self._at + 1 < len(self._text)
            letters.append(self._text[self._at + 1] if escaped else character)
            starred = character == "*" and not escaped
            self._at += 2 if escaped else 1
        word = "".join(letters)
        if starred and len(word) > 1:
            return Prefix(word[:-1])
        return Term(word) if word else None


def _join_queries(left: Query | None, right: Query, join: Join) -> Query:
    if left is None:
        return right
    if isinstance(left, AllOf | AnyOf) and type(left) is join:
        return join((*left.parts, right))
    return join((left, right))
