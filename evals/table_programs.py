"""Candidate programs over a table: their parts in plain words, and what a program gives.

A program is a skeleton (an operation and its columns) with conditions. The parts are few, so that a model scores each
of them, and then only the programs that the best of them make: `evals/train_programs.py`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations
from typing import Any

from rag_core.text.figures import parse_figure
from rag_core.text.months import MONTH_PATTERN, number_month

MAX_CONDITION_PARTS = 90
MAX_SKELETONS = 90
MAX_DISTINCT_CELLS = 40  # of a column whose cells are conditions
COMPARISONS = {">": "is more than", ">=": "is at least", "<": "is less than", "<=": "is at most"}
_RELATIONS = {"=": "is", "!=": "is not", "contains": "contains", **COMPARISONS}
_OF = {"sum": "Total of", "average": "Average of", "min": "Lowest", "max": "Highest"}
_PAIRED = {"difference": "Difference of", "ratio": "Ratio of"}
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?: ?h)?")
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T]\d\d:\d\d.*)?")
_DOTTED_DATE = re.compile(r"(\d{1,2})[./](\d{1,2})[./](\d{4}|\d\d)?")
_WORD_DATE = re.compile(
    rf"(?:[A-Z][a-z]{{2,8}},? )?(\d{{1,2}}) ({MONTH_PATTERN})[a-z]*\.?,?(?: (\d{{4}}))?", re.IGNORECASE
)
_MONTH_DATE = re.compile(
    rf"({MONTH_PATTERN})[a-z]*\.?(?: (\d{{1,2}})(?:st|nd|rd|th)?)?,?(?: (\d{{4}}))?", re.IGNORECASE
)
_SAID = re.compile(
    rf"\d{{4}}-\d\d-\d\d|\d{{1,2}}:\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:{MONTH_PATTERN})\b(?: \d{{4}})?"
    rf"|\b(?:{MONTH_PATTERN})\b(?: \d{{1,2}}\b)?(?: \d{{4}})?|\d[\d,]*(?:\.\d+)?",
    re.IGNORECASE,
)
_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred"]
_NUMBERS = {word: n for n, word in enumerate(_WORDS, 1)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_HOUR = re.compile(r"\d{1,2}")
_YEAR = 2026  # of dates without one
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The heads and the cells of a table, and what it is about."""

    title: str
    heads: Row
    rows: tuple[Row, ...]
    name_at: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    column: int
    relation: str
    value: str

    def write(self, table: Table) -> str:
        """Return the condition in words."""
        value = self.value if self.value.strip() else "empty"
        return f"{table.heads[self.column]} {_RELATIONS[self.relation]} {value}"


@dataclass(frozen=True, slots=True)
class Program:
    """An operation on column `of` of the rows that meet all of `where`; `give` names them, `other` is compared with."""

    operation: str
    of: int = -1
    give: int = -1
    where: frozenset[Condition] = frozenset()
    other: frozenset[Condition] = frozenset()

    @property
    def skeleton(self) -> "Program":
        return replace(self, where=frozenset(), other=frozenset())

    @property
    def conditions(self) -> frozenset[Condition]:
        return self.where | self.other

    def write(self, table: Table) -> str:
        """Return the program in words."""
        if self.operation == "none":
            return "Not in this table"
        of, give = table.heads[self.of], table.heads[self.give]
        if self.operation in _PAIRED:
            sides = " and ".join(filter(None, (_write_all(side, table) for side in (self.where, self.other))))
            return f"{_PAIRED[self.operation]} {of}" + (f" between {sides}" if sides else "")
        said = {
            "count": "Number of rows",
            "share": "Share of rows",
            "lookup": give,
            "argmax": f"{give} with the most {of}",
            "argmin": f"{give} with the least {of}",
        }.get(self.operation) or f"{_OF[self.operation]} {of}"
        return said + (f" where {_write_all(self.where, table)}" if self.where else "")


NONE = Program("none")


def _write_all(conditions: frozenset[Condition], table: Table) -> str:
    return " and ".join(sorted(condition.write(table) for condition in conditions))


def write_question(question: str, table: Table) -> str:
    """Return what a question is scored with: its words, and the heads of the table."""
    return f"{question.strip().rstrip('?')} | {table.title[-60:]} | {', '.join(head[:40] for head in table.heads)}"


def parse_value(text: str) -> tuple[str, float] | None:
    """Return the kind of a figure, date or time of day ("n", "d", "t") and its place on a line; None for words."""
    text = " ".join(text.split())
    if len(text) > 40:
        return None
    if not any(map(str.isdigit, text)) and not _MONTH_DATE.fullmatch(text):
        return None
    if found := _TIME.fullmatch(text):
        return "t", int(found[1]) * 60 + int(found[2])
    parts: tuple[str | int | None, ...] | None = None
    if found := _ISO_DATE.fullmatch(text):
        parts = found.groups()
    elif found := _DOTTED_DATE.fullmatch(text):
        parts = (found[3] and "20"[: 4 - len(found[3])] + found[3], found[2], found[1])
    elif found := _WORD_DATE.fullmatch(
        text.replace("st ", " ").replace("th ", " ").replace("nd ", " ").replace("rd ", " ")
    ):
        parts = (found[3], number_month(found[2]), found[1])
    elif found := _MONTH_DATE.fullmatch(text):
        parts = (found[3], number_month(found[1]), found[2] or 1)
    if parts:
        try:
            return "d", float(date(int(parts[0] or _YEAR), int(parts[1] or 1), int(parts[2] or 1)).toordinal())
        except ValueError:
            return None
    figure = parse_figure(re.sub(r"^(?:CHF|Rs\.?|kr|NOK|SEK|PLN|₹) ?", "", text))
    return ("n", float(figure.value)) if figure else None


def find_measured(table: Table) -> dict[int, str]:
    """Return the columns whose cells are figures, dates or times, each with its kind."""
    measured = {}
    for column in range(len(table.heads)):
        cells = [parse_value(row[column]) for row in table.rows if row[column].strip()]
        kinds = [cell[0] for cell in cells if cell]
        if kinds and len(kinds) >= 0.6 * len(cells):
            measured[column] = max(set(kinds), key=kinds.count)
    return measured


def list_skeletons(table: Table) -> list[Program]:
    """Return the operations on the columns that fit, without conditions."""
    measured, columns = find_measured(table), range(len(table.heads))
    named = [column for column in columns if column not in measured or column == table.name_at]
    found = [Program("count"), Program("share"), *(Program("lookup", give=column) for column in columns)]
    for column, kind in measured.items():
        found += [Program(name, of=column) for name in ("difference", "min", "max")]
        found += [Program(name, of=column) for name in ("sum", "average", "ratio") if kind == "n"]
        gives = [table.name_at, *(give for give in (*named, *measured) if give not in (table.name_at, column))]
        found += [
            Program(name, of=column, give=give)
            for give in gives[: 6 if len(measured) < 4 else 3]
            for name in ("argmax", "argmin")
        ]
    return found[:MAX_SKELETONS] if len(found) > MAX_SKELETONS else found


def list_conditions(question: str, table: Table) -> list[Condition]:
    """Return the conditions that a question may mean: each cell, parts of cells, and what it says of figures."""
    measured = find_measured(table)
    said = list(dict.fromkeys(_find_said(question)))[:3]
    if "t" in measured.values():
        said += [
            f"{hour}:00" for hour in map(int, filter(_HOUR.fullmatch, said)) for hour in (hour, hour + 12) if hour < 24
        ]
    compared = [
        Condition(column, relation, value)
        for value in said
        for column, kind in measured.items()
        if (parsed := parse_value(value)) and parsed[0] == kind
        for relation in COMPARISONS
    ]
    zeros = [
        Condition(column, sign, "0")
        for column, kind in measured.items()
        for sign in "<>"
        if kind == "n" and any((value := parse_value(row[column])) and value[1] <= 0 for row in table.rows)
    ]
    words = set(re.findall(r"\w{3,}", question.casefold()))
    equal, contained = [], []
    for column in range(len(table.heads)):
        cells = list(dict.fromkeys(row[column] for row in table.rows))
        if column in measured and len(cells) > 4:  # only what is said
            every = [row[column] for row in table.rows]
            wanted = [parse_value(value) for value in (*said, "0", "1")]
            cells = [cell for cell in cells if every.count(cell) > 1 or not cell.strip() or parse_value(cell) in wanted]
        equal += [Condition(column, "=", cell) for cell in _prefer(cells, words)[:MAX_DISTINCT_CELLS]]
        if column not in measured:
            contained += [Condition(column, "contains", part) for part in _find_parts(cells, words)]
    return [*compared[:36], *zeros, *contained[:16], *equal][:MAX_CONDITION_PARTS]


def _find_said(question: str) -> Iterator[str]:
    for found in _SAID.finditer(question):
        yield re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", found[0])
    for word in question.casefold().split():
        if word in _NUMBERS:
            yield str(_NUMBERS[word])


def _prefer(cells: Sequence[str], words: set[str]) -> list[str]:
    return sorted(cells, key=lambda cell: words.isdisjoint(re.findall(r"\w{3,}", cell.casefold())))


def _find_parts(cells: Sequence[str], words: set[str]) -> list[str]:
    """Return words in several cells of different text, and those that the question says of a longer cell."""
    holders: dict[str, set[str]] = {}
    for cell in cells:
        for word in re.findall(r"\w{3,}", cell):
            if word.casefold() != cell.casefold():
                holders.setdefault(word, set()).add(cell)
    stems = {word.rstrip("s") for word in words}
    said = [word for word in holders if word.casefold().rstrip("s") in stems]
    repeated = [word for word, of in holders.items() if len(of) > 1 and len(word) > 2]
    return list(dict.fromkeys((*said, *repeated)))[:8]


def combine_parts(skeletons: Sequence[Program], conditions: Sequence[Condition], sets: int = 10) -> list[Program]:
    """Return the programs of some skeletons with none, one or two of some conditions, all best first."""
    singles = [frozenset([condition]) for condition in conditions]
    pairs = [
        frozenset(pair)
        for pair in combinations(conditions[:5], 2)
        if pair[0].column != pair[1].column or (pair[0].relation[0] + pair[1].relation[0]) in ("<>", "><")
    ]
    wheres = [frozenset(), *singles[:sets], *pairs]
    programs = [NONE]
    for skeleton in skeletons:
        if skeleton.operation in _PAIRED:
            twos = [(a, b) for a, b in combinations(conditions[:6], 2) if a.column == b.column]
            programs += [replace(skeleton, where=frozenset([a]), other=frozenset([b])) for a, b in twos]
        else:
            needs = skeleton.operation in ("lookup", "share")
            programs += [replace(skeleton, where=where) for where in wheres if where or not needs]
    return programs


def holds(condition: Condition, row: Row) -> bool:
    """Return whether a row meets a condition."""
    cell, value = row[condition.column], condition.value
    if condition.relation == "contains":
        return value.casefold() in cell.casefold()
    if condition.relation in ("=", "!="):
        return (cell.strip() == value.strip()) is (condition.relation == "=")
    first, second = parse_value(cell), parse_value(value)
    if not first or not second or first[0] != second[0]:
        return False
    a, b = first[1], second[1]
    return {">": a > b, ">=": a >= b, "<": a < b, "<=": a <= b}[condition.relation]


def select_rows(conditions: frozenset[Condition], table: Table) -> list[int]:
    """Return the numbers of the rows that meet all conditions."""
    return [n for n, row in enumerate(table.rows) if all(holds(condition, row) for condition in conditions)]


def execute(program: Program, table: Table) -> str | None:
    """Return what a program gives, as a text by which results are told apart; None where it cannot be computed."""
    if program.operation == "none":
        return "none"
    rows = select_rows(program.where, table)
    if program.operation == "count":
        return f"{len(rows)}"
    if not rows:
        return None
    if program.operation == "share":
        return f"{100 * len(rows) / len(table.rows):.1f}%"
    if program.operation == "lookup":
        cells = [table.rows[n][program.give] for n in rows]
        return "; ".join(cells) if any(cells) else None
    values = [(value, n) for n in rows if (value := parse_value(table.rows[n][program.of]))]
    if not values or len({value[0] for value, _ in values}) > 1:
        return None
    numbers = [value[1] for value, _ in values]
    if program.operation in ("argmax", "argmin"):
        best = max(numbers) if program.operation == "argmax" else min(numbers)
        return "; ".join(table.rows[n][program.give] for value, n in values if value[1] == best)
    if program.operation in _PAIRED:
        others = [v for n in select_rows(program.other, table) if (v := parse_value(table.rows[n][program.of]))]
        if not others or {v[0] for v in others} != {values[0][0][0]}:
            return None
        first, second = sum(numbers), sum(v[1] for v in others)
        if program.operation == "difference":
            return f"{abs(first - second):.4f}"
        return f"{first / second:.4f}" if second else None
    result = {"sum": sum(numbers), "average": sum(numbers) / len(numbers), "min": min(numbers), "max": max(numbers)}
    return f"{result[program.operation]:.4f}"


def read_program(given: Mapping[str, Any], table: Table) -> Program:
    """Return a program as the rows for training write it.

    Raises:
        ValueError: a head is not in the table.
    """

    def read_all(conditions: Sequence[Mapping[str, str]]) -> frozenset[Condition]:
        return frozenset(Condition(table.heads.index(c["head"]), c["is"], str(c["value"])) for c in conditions)

    of = given.get("of") or given.get("by")
    return Program(
        given["op"],
        table.heads.index(of) if of else -1,
        table.heads.index(given["give"]) if given.get("give") else -1,
        read_all(given.get("where") or given.get("a") or ()),
        read_all(given.get("b") or ()),
    )
