"""The columns of a table that a question names, by their words, by an adjective that measures them, or by a unit."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from rag_core.answering.computing.degrees import CHANGES, MEASURING_VERBS, PRICE_TERMS, is_measured_by
from rag_core.answering.computing.named_cells import fold_words, has_any, has_term, is_total
from rag_core.answering.computing.questions import PAIRED, UNIT_SIGNS, AskedOperation, Condition
from rag_core.answering.computing.stored_tables import CitedRow, StoredTable
from rag_core.text.figures import has_digit, is_period, parse_figure
from rag_core.text.terms import extract_terms

MIN_FIGURE_SHARE = 0.5  # of the filled cells of a column of figures
YEAR_PATTERN = re.compile(r"\b(?:19|20)\d\d\b")
_WORDLESS = re.compile(r"\W*")
_UNITS_OF_COUNTS = frozenset(["pcs", "pc", "pieces", "units", "qty", "quantity", "level"])
_OUT_TERMS = extract_terms("out")  # of stock
_CODE = re.compile(r"\d{1,4}[A-Z]")
_CURRENCY_OF_HEAD = re.compile(r"[$€£¥]|\b(?:USD|EUR|GBP|CHF|JPY)\b")
_SINCE = re.compile(r"\b(?:since|from|start(?:ed)?|joined|began)\b", re.IGNORECASE)
_PLANNED = extract_terms("budget budgeted plan planned forecast target estimate estimated expected")
_REAL = extract_terms("actual actuals outturn result spent real")


@dataclass(frozen=True)
class AskedColumns:
    """The columns of a table as a question sees them."""

    asked: AskedOperation
    table: StoredTable

    @cached_property
    def of_figures(self) -> Sequence[int]:
        """The columns of figures that have a name; the first, and the one that names the rows, are none."""
        listed = []
        for n, name in enumerate(self.table.columns):
            filled = [row.cells[n] for row in self.table.rows if not _WORDLESS.fullmatch(row.cells[n])]
            figures = [cell for cell in filled if parse_figure(cell)]
            is_named = n not in (0, self.table.name_at) and name and not _are_codes(filled)
            if is_named and filled and len(figures) >= MIN_FIGURE_SHARE * len(filled):
                listed.append(n)
        return listed

    def find_of_condition(self, condition: Condition) -> int | None:
        """Return the column of figures that a condition names, by the words after it, before it, or implied."""
        columns = self.of_figures
        words = condition.words_after, condition.words_before
        named = [
            [n for n in columns if has_any(extract_terms(self.table.columns[n]), extract_terms(text))] for text in words
        ]
        told = [self.keep_phrases(found, count=1) for found in (*named, self.list_implied(columns))]
        return next((found[0] for found in told if len(found) == 1), None)

    def list_implied(self, columns: Sequence[int]) -> list[int]:
        """Return the columns that the adjectives of the question measure: heights, else the years for "newest"."""
        named = [n for n in columns if self._is_measured(n)]
        return named or [n for n in columns if self._puts_in_time(n)]

    def _is_measured(self, column: int) -> bool:
        scales = (*self.asked.scales, *(MEASURING_VERBS[verb] for verb in self.asked.measuring_verbs))
        return any(is_measured_by(self.table.columns[column], scale) for scale in scales)

    def _puts_in_time(self, column: int) -> bool:
        if not self.holds_years(column):
            return False
        return self.asked.asks_time or (self.asked.asks_duration and bool(_SINCE.search(self.table.columns[column])))

    def rank(self) -> list[int]:
        """Return the columns of figures that the question names best; all of them where it names none that tell apart.

        A column is known by the terms that tell it from the others.
        """
        columns = self.of_figures
        terms = {n: extract_terms(self.table.columns[n]) for n in columns}
        shared = frozenset.intersection(*terms.values()) if len(columns) > 1 else frozenset()
        asked = self.asked.terms
        shares = {
            n: sum(has_term(term, asked) for term in terms[n] - shared) / max(1, len(terms[n] - shared))
            for n in columns
        }
        best = max(shares.values(), default=0.0)
        if best == 0 and (
            self.asked.implied or self.asked.measuring_verbs or self.asked.asks_time or self.asked.asks_duration
        ):
            return self.list_implied(columns)
        if best == 0 and self.asked.kind not in PAIRED:
            is_told = has_any(shared, asked) or (len(columns) == 1 and self._names_measure())
            return list(columns) if is_told else []
        return [n for n in columns if shares[n] == best]

    def find_of_change(self) -> int | None:
        """Return the column that states how much each row changed."""
        found = [n for n in self.of_figures if is_measured_by(self.table.columns[n], CHANGES)]
        return found[0] if len(found) == 1 else None

    def find_compared(self) -> tuple[int, int] | None:
        """Return the two columns that are compared in each row, by their full names: "lost more than they won"."""
        each = self.asked.compares_each_row
        names = {tuple(fold_words(self.table.columns[n])): n for n in self.of_figures}
        found = [names.get((word.casefold(),)) for word in (each[0], each[3])] if each else []
        return (found[0], found[1]) if found and found[0] is not None and found[1] is not None else None

    def list_compared(self) -> list[int]:
        """Return the columns that are compared in each row, or the one that states its change."""
        changed = self.find_of_change() if self.asked.change and self.asked.kind != "extreme" else self._find_had()
        if changed is None and self.asked.kind in ("filter", "count", "extreme"):
            changed = self._find_held(self.asked.held[0]) if self.find_lacked() is None else self.find_lacked()
        return [*(self.find_compared() or ()), *([] if changed is None else [changed])]

    def find_lacked(self) -> int | None:
        """Return the column of figures of which rows are asked for that have none: "out of stock"."""
        return self._find_held(self.asked.held[1])

    def _find_held(self, word: str) -> int | None:
        """Return the column of figures whose head is this one word, a unit apart."""
        wanted, columns = extract_terms(word), self.of_figures
        heads = {n: [w for w in fold_words(self.table.columns[n]) if w not in _UNITS_OF_COUNTS] for n in columns}
        found = [n for n in columns if wanted and extract_terms(" ".join(heads[n])) == wanted]
        return found[0] if len(found) == 1 else None

    def _find_had(self) -> int | None:
        """Return the column of which rows are asked for that have any: "which walks have places left"."""
        columns = {n: extract_terms(self.table.columns[n]) for n in self.of_figures}
        found = [n for n, terms in columns.items() if terms and terms <= self.asked.terms]
        is_asked = self.asked.kind == "filter" and self.asked.asks_having and not has_digit([self.asked.text])
        return found[0] if is_asked and len(found) == 1 else None

    def meets_comparison(self, row: CitedRow) -> bool:
        """Return whether a row has more, or less, in the one column than in the other, or than no change."""
        figures = [parse_figure(row.cells[column]) for column in self.list_compared()]
        values = [figure.value for figure in figures if figure]
        if len(values) < len(figures):
            return False
        first, second = (*values, Decimal(0))[:2]
        if self.find_lacked() is not None:
            return first <= 0
        if self.asked.held[0] and len(values) == 1:
            return first > 0
        return first > second if self.asked.seeks_more else first < second

    @property
    def compared_relation(self) -> str:
        """How the figure of the one column that is compared has to be to 0."""
        if self.find_lacked() is not None:
            return "<="
        return ">" if self.asked.seeks_more or self.asked.held[0] else "<"

    def describe_comparison(self) -> str:
        if (lacked := self.find_lacked()) is not None:
            return f"no {self.table.columns[lacked]}"
        names = [*(self.table.columns[n] for n in self.list_compared()), "0"]
        is_more = self.asked.seeks_more or self.asked.held[0]
        return f"{names[0]} {'more' if is_more else 'less'} than {names[1]}"

    def _names_measure(self) -> bool:
        """Return whether the question has more than what the rows are: what the one column of figures is about."""
        others = [name for n, name in enumerate(self.table.columns) if n not in self.of_figures]
        return any(not has_term(term, extract_terms(" ".join(others))) for term in self.asked.terms)

    def find_planned_and_real(self) -> tuple[int, int] | None:
        """Return the columns of what was planned and of what it became, of the period that the question names."""
        digits = {word for word in fold_words(self.asked.text) if word.isdigit()}
        found = []
        for names in (_PLANNED, _REAL):
            columns = [n for n in self.of_figures if has_any(names, extract_terms(self.table.columns[n]))]
            periods = {n: {w for w in fold_words(self.table.columns[n]) if w.isdigit()} for n in columns}
            found.append([n for n in columns if not periods[n] or not digits or periods[n] <= digits])
        planned, real = found
        return (planned[0], real[0]) if len(planned) == len(real) == 1 and planned != real else None

    def find_counted(self, taken: Iterable[int]) -> int | None:
        """Return the column of words, not that of names, whose name is what is counted: different machines in a log."""
        counted, figures = self.asked.counted, self.of_figures
        if has_any(counted, self.table.subject):
            return None
        named = [
            n
            for n, name in enumerate(self.table.columns)
            if n and n not in figures and (terms := extract_terms(name)) and terms <= counted
        ]
        return named[0] if len(named) == 1 and named[0] not in taken else None

    def keep_phrases(self, columns: Sequence[int], *, count: int) -> list[int]:
        """Return, of more columns than `count`, those whose names stand in the question word by word, if any do."""
        if len(columns) <= count:
            return list(columns)
        asked = f" {' '.join(fold_words(self.asked.text))} "
        said = [n for n in columns if f" {' '.join(fold_words(self.table.columns[n]))} " in asked]
        return said or list(columns)

    def order_by_mention(self, columns: Sequence[int]) -> list[int]:
        """Return columns in the order in which the question names them, the earlier period first for a change."""
        years = {n: found[0] for n in columns if (found := YEAR_PATTERN.findall(self.table.columns[n]))}
        if self.asked.kind != "compare" and len(set(years.values())) == len(columns):
            return sorted(columns, key=lambda n: years[n])
        telling = {n: extract_terms(self.table.columns[n]) for n in columns}
        words = fold_words(self.asked.text)
        own = {n: telling[n] - frozenset().union(*(telling[m] for m in columns if m != n)) for n in columns}
        return sorted(columns, key=lambda n: min((words.index(t) for t in own[n] if t in words), default=len(words)))

    def find_said_by_units(self) -> frozenset[str]:
        """Return the terms of the question that the unit of a column says that it names otherwise: the "price" of £."""
        named = self.asked.terms - PRICE_TERMS
        of_money = [n for n in self.of_figures if self._states_money(n)]
        is_said = any(has_any(extract_terms(self.table.columns[n]), named) for n in of_money)
        words = {word for n in self.of_figures for word in fold_words(self.table.columns[n])}
        units = {word for word in fold_words(self.asked.text) if UNIT_SIGNS.get(word) in words}
        verbs = {v for v in self.asked.measuring_verbs if any(map(self._is_measured, self.of_figures))}
        return extract_terms(" ".join(units)) | verbs | (self.asked.terms & PRICE_TERMS if is_said else frozenset())

    def list_counted_by_conditions(self) -> frozenset[str]:
        """Return the nouns that are counted right after a column in full: "won fewer than 5 matches"."""
        said = [(condition.words_before, condition.counted) for condition in self.asked.conditions]
        names = [fold_words(self.table.columns[n]) for n in self.of_figures]
        each = self.asked.compares_each_row
        said += [(each[0], each[2])] if each and self.find_compared() else []
        nouns = [noun for before, noun in (*said, *self.asked.numbered) if fold_words(before)[-1:] in names]
        lacking = _OUT_TERMS if self.find_lacked() is not None else frozenset()
        return extract_terms(" ".join(nouns)) | lacking

    def list_of_all_rows(self) -> frozenset[str]:
        """Return the terms of the columns that have a figure above 0 in every row: each room has a price."""
        rows = [row for row in self.table.rows if not is_total(row, self.table)]
        filled = [n for n in self.of_figures if all((f := parse_figure(row.cells[n])) and f.value > 0 for row in rows)]
        return extract_terms(" ".join(self.table.columns[n] for n in filled))

    def holds_years(self, column: int) -> bool:
        return all(is_period(row.cells[column]) for row in self.table.rows if row.cells[column].strip())

    def quote(self, columns: Sequence[int]) -> str:
        return ", ".join(f"“{self.table.columns[n]}”" for n in columns[:4])

    def _states_money(self, column: int) -> bool:
        figures = (parse_figure(row.cells[column]) for row in self.table.rows)
        return bool(_CURRENCY_OF_HEAD.search(self.table.columns[column])) or any(
            figure and _CURRENCY_OF_HEAD.fullmatch(figure.unit) for figure in figures
        )


def _are_codes(cells: Sequence[str]) -> bool:
    """Return whether all cells are a number and a letter, and not always the same one: "5A", "5B"."""
    return len({cell[-1] for cell in cells if _CODE.fullmatch(cell)}) > 1 and all(map(_CODE.fullmatch, cells))
