"""Parse the full Lucene query syntax: fields, AND OR NOT, wildcards, fuzzy words, proximity, boosts and patterns."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .query_tree import Boosted, Clauses, Fuzzy, InField, Near, Pattern, Phrase, Prefix, Query, Term
from .refusals import ServiceRefusal, make_refusal, make_unimplemented_refusal
from .schema import VECTOR, Field

DEEPEST = 100
MOST_EDITS = 2

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<phrase>"(?:[^"\\]|\\.)*")
    |(?P<regex>/(?:[^/\\]|\\.)*/)
    |(?P<operator>&&|\|\||[+\-!])
    |(?P<bracket>[()])
    |(?P<range>[\[{])
    |(?P<boost>\^\d+(?:\.\d+)?)
    |(?P<tilde>~\d*(?:\.\d+)?)
    |(?P<field>(?:[A-Za-z_][\w/]*):)
    |(?P<word>(?:[^\s"()\[\]{}^~:\\+\-!/&|]|\\.|[+\-!/](?<=\w.)|[&|](?![&|]))+)
    |(?P<stray>.)""",
    re.VERBOSE | re.DOTALL,
)
_OPERATORS: Mapping[str, str] = {"AND": "AND", "&&": "AND", "OR": "OR", "||": "OR", "NOT": "NOT", "!": "NOT"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int


def parse_lucene_query(text: str, fields: Mapping[str, Field], *, every: bool) -> Query | None:
    """Parse a query; return None when nothing is asked. `every` joins words side by side with AND, else with OR."""
    return _LuceneParser(text, fields, every=every).parse_whole()


def _tokenize(text: str) -> list[_Token]:
    found = [_Token(str(match.lastgroup), match[0], match.start()) for match in _TOKEN.finditer(text)]
    named = [
        _Token("operator", one.text, one.start) if one.kind == "word" and one.text in _OPERATORS else one
        for one in found
        if one.kind != "space"
    ]
    return [*named, _Token("end", "", len(text))]


class _LuceneParser:
    """The parser reads clauses as Lucene's classic parser does: AND makes its neighbours required."""

    def __init__(self, text: str, fields: Mapping[str, Field], *, every: bool) -> None:
        self._text, self._fields, self._every = text, fields, every
        self._tokens, self._next, self._depth = _tokenize(text), 0, 0

    def parse_whole(self) -> Query | None:
        query = self._parse_clauses()
        if self._current.kind != "end":
            raise self._make_refusal()
        return query

    @property
    def _current(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._current
        self._next += 1
        return token

    def _make_refusal(self) -> ServiceRefusal:
        return make_refusal(
            f"Failed to parse query string at line 1, column {self._find_column()}. See "
            "https://aka.ms/azure-search-full-query for supported syntax.",
            code="InvalidRequestParameter",
            detail="InvalidSearchSyntax",
        )

    def _find_column(self) -> int:
        """Find the column as the service counts it: what is never closed is found out behind the end."""
        open_ended = self._current.kind == "stray" and self._current.text in '"/'
        return len(self._text) + 1 if open_ended else self._current.start

    def _parse_clauses(self) -> Query | None:
        """Parse clauses up to a closing bracket or the end."""
        marked: list[tuple[str, Query]] = []
        while self._current.kind != "end" and self._current.text != ")":
            joined = self._parse_join() if marked else ""
            sign = self._parse_sign()
            clause = self._parse_clause()
            if clause is not None:
                marked = _add_clause(marked, joined, sign, clause, every=self._every)
        return _join_clauses(marked)

    def _parse_join(self) -> str:
        if self._current.kind == "operator" and _OPERATORS.get(self._current.text) in ("AND", "OR"):
            return _OPERATORS[self._take().text]
        return ""

    def _parse_sign(self) -> str:
        if self._current.kind != "operator":
            return ""
        text = self._take().text
        if text == "+":
            return "must"
        if text == "-" or _OPERATORS.get(text) == "NOT":
            return "must_not"
        self._next -= 1
        raise self._make_refusal()

    def _parse_clause(self) -> Query | None:
        if self._current.kind != "field":
            return self._parse_boost(self._parse_part())
        path = self._take().text[:-1]
        field = self._fields.get(path)
        if field is None or not field.searchable or field.type == VECTOR:
            raise make_refusal(f"The field '{path}' in the search expression is not searchable.", parameter="search")
        inner = self._parse_boost(self._parse_part())
        return None if inner is None else InField(path, inner)

    def _parse_part(self) -> Query | None:
        token = self._take()
        if token.text == "(":
            return self._parse_group()
        if token.kind == "phrase":
            return self._parse_phrase(_unescape(token.text[1:-1]))
        if token.kind == "regex":
            return Pattern(_check_pattern(token.text[1:-1]))
        if token.kind == "range":
            raise make_unimplemented_refusal("ranges in a search text; use a filter")
        if token.kind == "word":
            return self._parse_word(token.text)
        self._next -= 1
        raise self._make_refusal()

    def _parse_group(self) -> Query | None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._make_refusal()
        inner = self._parse_clauses()
        if self._current.text != ")":
            raise self._make_refusal()
        self._next += 1
        self._depth -= 1
        return inner

    def _parse_phrase(self, text: str) -> Query | None:
        slop = self._take().text[1:] if self._current.kind == "tilde" else ""
        if not text.strip():
            return None
        return Near(text, int(float(slop))) if slop and float(slop) >= 1 else Phrase(text)

    def _parse_word(self, text: str) -> Query | None:
        wild = re.search(r"(?<!\\)[*?]", text)
        if self._current.kind == "tilde":
            edits = self._take().text[1:] or str(MOST_EDITS)
            return Fuzzy(_unescape(text), min(MOST_EDITS, int(float(edits))))
        if not wild:
            return Term(_unescape(text))
        if text == "*":
            return Pattern(".*")
        if re.fullmatch(r"(?:[^*?\\]|\\.)+\*", text):
            return Prefix(_unescape(text[:-1]))
        return Pattern(_translate_wildcards(text))

    def _parse_boost(self, inner: Query | None) -> Query | None:
        if self._current.kind != "boost":
            return inner
        factor = float(self._take().text[1:])
        return None if inner is None else Boosted(inner, factor)


def _add_clause(
    marked: list[tuple[str, Query]], joined: str, sign: str, clause: Query, *, every: bool
) -> list[tuple[str, Query]]:
    """Add a clause; AND requires the one before it too; OR makes that one optional where AND joins the others."""
    if marked and marked[-1][0] != "must_not":
        query = marked[-1][1]
        if joined == "AND":
            marked = [*marked[:-1], ("must", query)]
        elif joined == "OR" and every:
            marked = [*marked[:-1], ("may", query)]
    required = joined == "AND" or (every and joined != "OR")
    return [*marked, (sign or ("must" if required else "may"), clause)]


def _join_clauses(marked: list[tuple[str, Query]]) -> Query | None:
    if not marked:
        return None
    if len(marked) == 1 and marked[0][0] != "must_not":
        return marked[0][1]
    must, may, must_not = (tuple(query for mark, query in marked if mark == m) for m in ("must", "may", "must_not"))
    return Clauses(must, may, must_not)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _translate_wildcards(text: str) -> str:
    """Translate `*` and `?` into a regular expression of the lower-cased term."""
    parts = re.findall(r"\\.|.", text, re.DOTALL)
    marks = {"*": ".*", "?": "."}
    return "".join(marks.get(part) or re.escape(_unescape(part).lower()) for part in parts)


def _check_pattern(regex: str) -> str:
    try:
        re.compile(regex)
    except re.error as failure:
        raise make_refusal(f"The regular expression '{regex}' cannot be read.", parameter="search") from failure
    return regex
