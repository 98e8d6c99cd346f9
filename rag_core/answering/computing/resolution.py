"""Which table, rows and columns a computation is about; a reason in words where the question does not settle that."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_core.answering.computing.asked_columns import AskedColumns
from rag_core.answering.computing.named_cells import (
    GENERIC_TERMS,
    counts_kind,
    find_equal_cells,
    find_named_rows,
    has_any,
    has_term,
    holds_flags,
    is_list_of_counted,
    is_total,
    is_written_out,
    state_cells,
    states_count,
)
from rag_core.answering.computing.operations import (
    CitedCell,
    OperationKind,
    Resolved,
    Unresolved,
    compute,
    find_mixed_units,
    find_obstacle,
    find_unit,
)
from rag_core.answering.computing.questions import COST_TERM, PAIRED, AskedOperation
from rag_core.answering.computing.stored_tables import CitedRow, StoredTable
from rag_core.text.terms import extract_terms

MAX_EMPTY_SHARE = 1 / 3  # of the cells among which the highest is looked for: with more, it tells little
ACROSS = ("sum", "average", "extreme")  # operations on a column of several rows
_PEOPLE_TERMS, _NAME_TERMS = extract_terms("people person persons staff"), extract_terms("name names")
_TOTAL_TERMS = extract_terms("total totals grand")
_AVERAGE_TERM, _YEAR_TERM = "averag", "year"


def resolve(asked: AskedOperation, tables: Sequence[StoredTable]) -> Resolved | Unresolved | None:
    """Return the computation that a question asks for; None where no table is about it.

    Every term of the question has to be in the table: in its columns, its rows, or what is said above it.
    """
    views = [view for table in tables if (view := TableView.from_table(asked, table)).covers_all]
    if not views:
        return None
    best = max(view.own_count for view in views)
    fitting = [view for view in views if view.own_count == best]
    outcomes = [outcome for view in fitting if (outcome := view.resolve()) is not None]
    if any(isinstance(outcome, Resolved) for outcome in outcomes):
        outcomes = [outcome for outcome in outcomes if isinstance(outcome, Resolved) or not outcome.lacks_column]
    if len(outcomes) > 1 and not _agree(outcomes):
        names = " and ".join(f"“{_describe(view.table)}”" for view in fitting[:3])
        return Unresolved(f"more than one table fits the question: {names}")
    return outcomes[0] if outcomes else None


def _agree(outcomes: Sequence[Resolved | Unresolved]) -> bool:
    """Return whether tables that repeat the same figures give the same result."""
    results = [
        (outcome.computation.result, sorted(cell.text for cell in outcome.computation.cells))
        for outcome in outcomes
        if isinstance(outcome, Resolved)
    ]
    return len(results) == len(outcomes) and all(result == results[0] for result in results)


def _describe(table: StoredTable) -> str:
    return " ".join((table.about or table.title).split())[-80:]


@dataclass(frozen=True, slots=True)
class TableView:
    """A table as a question sees it: the rows and columns that it names, and whether all of its terms are found."""

    asked: AskedOperation
    table: StoredTable
    named_rows: tuple[CitedRow, ...]
    equal_cells: tuple[tuple[int, str], ...]  # column and cell, which the rows have to have
    covers_all: bool
    own_count: int
    columns: AskedColumns

    @classmethod
    def from_table(cls, asked: AskedOperation, table: StoredTable) -> "TableView":
        named = find_named_rows(asked, table)
        equal = find_equal_cells(asked, table, named)
        groups = " ".join({row.group for row in named or table.rows})
        words = [*table.columns, table.about, groups, *(row.label for row in named), *(cell for _, cell in equal)]
        own = extract_terms(" ".join(words))
        codes = {term for _, cell in equal for term in extract_terms(cell)}
        known = own | extract_terms(table.title)
        columns = AskedColumns(asked, table)
        named_terms = asked.terms - GENERIC_TERMS
        named_terms -= _PEOPLE_TERMS if extract_terms(table.columns[table.name_at]) & _NAME_TERMS else frozenset()
        wanted = named_terms - {term for term in named_terms if is_written_out(term, asked.text, codes)}
        said = asked.implied & known  # "cost" is said by a column "Price"
        found = [term for term in wanted if has_term(term, own)]
        missing = {term for term in wanted if not has_term(term, known) and not (said and term == COST_TERM)}
        if missing:
            missing -= columns.find_said_by_units() | columns.list_counted_by_conditions()
        covers = bool(wanted) and not missing
        return cls(asked, table, named, equal, covers, len(found), columns)

    @property
    def denies_cells(self) -> bool:
        """Return whether rows are not to have the cells that the question names; those of flags say so themselves."""
        return self._is_denied and not self._flags

    @property
    def _is_denied(self) -> bool:
        return self.asked.is_negated and self.columns.find_lacked() is None

    @property
    def _flags(self) -> set[int]:
        return {column for column, _ in self.equal_cells if holds_flags(self.table, column)}

    def resolve(self) -> Resolved | Unresolved | None:
        kind = self.asked.kind
        if not self.table.is_whole:
            return Unresolved("a row of the table is stored in parts, so it may be incomplete")
        if kind == "share":
            return self._resolve_share()
        if kind in PAIRED:
            return self._resolve_pair()
        if kind == "lookup":
            return self._resolve_lookup()
        if self.table.is_list:
            items = [CitedCell(row, self.table.columns[0], row.label) for row in self.table.rows]
            is_counted = kind == "count" and not self.equal_cells and is_list_of_counted(self.asked, self.table)
            return Resolved(self.table, compute("count", items)) if is_counted else None
        if kind in ACROSS and len(self.list_named()) == 1:
            return None  # of one row there is nothing to add or to choose from
        if kind == "average" and _AVERAGE_TERM in extract_terms(" ".join((*self.table.columns, self.table.about))):
            return None  # the table states averages
        if (self.asked.compares_each_row and not self.columns.find_compared()) or (
            self.asked.change and self.columns.find_of_change() is None
        ):
            return None  # no column says what is compared, or what rose and what fell
        rows, condition, reason = self._select_rows()
        if reason:
            return Unresolved(reason, any(self.columns.find_of_condition(c) is None for c in self.asked.conditions))
        if kind in ("count", "filter") and not self._adds_up_figures():
            return self._resolve_count(rows, condition)
        column = self._choose_column()
        if isinstance(column, Unresolved):
            return column
        return None if column is None else self._resolve_over(rows, column, condition)

    def _adds_up_figures(self) -> bool:
        """Return whether what is counted is a column of figures, to be added: "How many places are there in all"."""
        heads = [self.table.columns[n] for n in self.columns.of_figures]
        is_of_several = not self.named_rows or len(self.list_named()) > 1
        return self.asked.adds_up and is_of_several and has_any(self.asked.counted, extract_terms(" ".join(heads)))

    def _resolve_lookup(self) -> Resolved | None:
        """Take the cell of the one row that the question names in the column that it names, or else the whole row."""
        if len(self.named_rows) != 1 or self.table.is_list:
            return None
        row, label = self.named_rows[0], extract_terms(self.named_rows[0].label)
        asked = self.asked.terms - label
        shares = {
            n: sum(has_term(term, asked) for term in terms) / len(terms)
            for n, name in enumerate(self.table.columns)
            if n != row.name_at and (terms := extract_terms(name)) and (row.cells[n].strip() or terms & asked)
        }
        best = max(shares.values(), default=0.0)
        is_measured = not best and bool(self.asked.implied or self.asked.asks_time)
        columns = [n for n, share in shares.items() if share == best]
        columns = self.columns.list_implied(self.columns.of_figures) if is_measured else columns
        if (
            not columns
            or ((best or is_measured) and len(columns) > 1)
            or not all(row.cells[n].strip() for n in columns)
        ):
            return None
        return Resolved(self.table, compute("lookup", [self._get_cell(row, n) for n in columns]))

    def _resolve_pair(self) -> Resolved | Unresolved | None:
        """Resolve an operation on two cells: of two rows in a column, or of a row in two columns, as they are named."""
        if self.asked.is_against_plan:
            columns = list(self.columns.find_planned_and_real() or ())
        else:
            columns = self.columns.keep_phrases(self.columns.rank(), count=2 if len(self.named_rows) == 1 else 1)
        if len(self.named_rows) == 2 and columns:
            if len(columns) > 1:
                return Unresolved(f"it is not said which column is meant: {self.columns.quote(columns)}")
            cells = [self._get_cell(row, columns[0]) for row in self.named_rows]
        elif len(self.named_rows) == 1 and len(columns) == 2:
            row = self.named_rows[0]
            if not self.asked.is_against_plan:
                columns = self.columns.order_by_mention(columns)
            elif self.asked.kind == "compare":
                columns.reverse()  # it is asked whether more was spent than planned
            cells = [self._get_cell(row, column) for column in columns]
        elif len(self.named_rows) == 1 and len(columns) > 2:
            return Unresolved(f"it is not said which columns are meant: {self.columns.quote(columns)}")
        else:
            same = [row for row in self.named_rows if row.label == self.named_rows[0].label]
            return Unresolved(f"{len(same)} rows are named “{same[0].label}”") if len(same) > 1 else None
        if reason := find_obstacle(cells):
            return Unresolved(reason)
        if self.asked.kind == "ratio" and not cells[0].value:
            return Unresolved(f"“{cells[0].row.label}” is 0 in {cells[0].column}, of which there is no percentage")
        is_highest = self._points_up(columns[0], cells)
        if isinstance(is_highest, Unresolved):
            return is_highest
        return Resolved(self.table, compute(self.asked.kind, cells, is_highest=is_highest))

    def _resolve_share(self) -> Resolved | Unresolved | None:
        """Resolve the share of the row that the question names in the total that it names, or the only one."""
        column, parts = self._choose_column(), self.list_named()
        if isinstance(column, Unresolved):
            return column
        totals = [row for row in self.table.rows if is_total(row, self.table)]
        if len(totals) > 1:
            totals = [row for row in totals if extract_terms(row.label) - _TOTAL_TERMS <= self.asked.terms]
        if column is None or len(parts) != 1 or len(totals) != 1:
            return None
        cells = [self._get_cell(row, column) for row in (*parts, *totals)]
        if (reason := find_obstacle(cells)) or not 0 <= cells[0].value <= cells[1].value or not cells[1].value:
            return Unresolved(reason or f"“{cells[0].row.label}” is no part of “{cells[1].row.label}”")
        return Resolved(self.table, compute("share", cells))

    def _resolve_count(self, rows: Sequence[CitedRow], condition: str) -> Resolved | None:
        """Count or list the rows, if what is counted names them, or the different cells of the column that it names.

        A column of figures is added up and not counted. A column that the question names without saying what its cells
        have to be is a condition that is not understood.
        """
        limited = {self.columns.find_of_condition(condition) for condition in self.asked.conditions}
        figures = [self.table.columns[column] for column in self.columns.of_figures if column not in limited]
        counted = self.asked.counted - self.columns.list_counted_by_conditions()
        limited |= set(self.columns.list_compared())
        counted -= extract_terms(" ".join(self.table.columns[n] for n in limited if n is not None))
        subject = self.table.subject
        distinct = self.columns.find_counted(dict(self.equal_cells)) if self.asked.kind == "count" else None
        is_limited = bool(self.equal_cells or self.asked.conditions or self.columns.list_compared())
        if self.asked.kind == "count" or not self.asked.conditions:
            is_subject = distinct is not None or has_any(counted, subject) or bool(counted & GENERIC_TERMS)
            is_subject |= counts_kind(self.asked, self.equal_cells) or (
                bool(counted & _PEOPLE_TERMS) and "name" in subject
            )
            is_subject |= self.asked.asks_how_often and bool(self.equal_cells) and len(rows) > 1
            if has_any(counted, extract_terms(" ".join(figures))):
                return self._resolve_lookup()
            if self.named_rows or not is_subject:
                return None
        if (self.asked.kind == "filter" and not is_limited) or self._find_open_conditions(subject, distinct):
            return None
        if not is_limited and states_count(self.table.about, self.asked):
            return None
        if distinct is not None:
            first: dict[str, CitedRow] = {}
            for row in rows:
                first.setdefault(row.cells[distinct], row)
            cells = [CitedCell(row, self.table.columns[distinct], text) for text, row in first.items() if text]
        else:
            shown = self._find_shown_columns()[0]
            cells = [CitedCell(row, self.table.columns[shown], row.cells[shown]) for row in rows]
        return (
            Resolved(self.table, compute(self.asked.kind, cells), condition, is_distinct=distinct is not None)
            if cells
            else None
        )

    def _find_open_conditions(self, subject: frozenset[str], distinct: int | None) -> list[str]:
        """Return the terms of the question that no condition and not the subject of the table accounts for."""
        columns = {
            *dict(self.equal_cells),
            *(self.columns.find_of_condition(c) for c in self.asked.conditions),
            *self.columns.list_compared(),
            distinct,
        }
        words = [self.table.columns[n] for n in columns if n is not None] + [cell for _, cell in self.equal_cells]
        known = subject | extract_terms(" ".join((*words, *(row.group for row in self.table.rows))))
        said = self.columns.find_said_by_units() | self.columns.list_counted_by_conditions()
        said |= self.columns.list_of_all_rows() if self.asked.kind == "count" else frozenset()
        said |= {_YEAR_TERM} if self.asked.change else frozenset()
        codes = {term for _, cell in self.equal_cells for term in extract_terms(cell)}
        return [
            term
            for term in self.asked.terms - said - GENERIC_TERMS - (_PEOPLE_TERMS if "name" in subject else frozenset())
            if not has_term(term, known) and term != COST_TERM and not is_written_out(term, self.asked.text, codes)
        ]

    def _find_shown_columns(self) -> list[int]:
        """Return the columns whose cells decide: those of the conditions, else the first."""
        named = [column for column, _ in self.equal_cells]
        named += [column for c in self.asked.conditions if (column := self.columns.find_of_condition(c)) is not None]
        return named or [*self.columns.list_compared(), self.table.name_at]

    def _choose_column(self) -> int | Unresolved | None:
        if self.asked.change:
            return self.columns.find_of_change()
        columns = self.columns.keep_phrases(self.columns.rank(), count=1)
        if len(columns) > 1:
            return Unresolved(f"it is not said which column is meant: {self.columns.quote(columns)}")
        return columns[0] if columns else None

    def _resolve_over(self, rows: Sequence[CitedRow], column: int, condition: str) -> Resolved | Unresolved | None:
        kind: OperationKind = "sum" if self.asked.kind == "count" else self.asked.kind
        cells = [self._get_cell(row, column) for row in rows]
        filled = [cell for cell in cells if cell.figure]
        missing = tuple(cell.row.label for cell in cells if not cell.figure)
        if not filled:
            return None
        if reason := find_mixed_units(filled):
            return Unresolved(reason)
        if kind == "extreme" and len(missing) > MAX_EMPTY_SHARE * len(cells):
            return Unresolved(f"{len(missing)} of {len(cells)} rows have no figure in {self.table.columns[column]}")
        if kind in ("sum", "average") and missing:
            return Unresolved(f"{', '.join(missing[:5])} has no figure in {self.table.columns[column]}")
        if kind == "average" and (self.columns.holds_years(column) or find_unit(filled) == "%"):
            return Unresolved(f"an average of {self.table.columns[column]} tells nothing")
        if kind in ("sum", "average") and any(row.group for row in rows):
            return Unresolved("the rows of the table stand below titles, and some may be totals of others")
        is_highest = self.asked.change > 0 if self.asked.change else self._points_up(column, filled)
        if isinstance(is_highest, Unresolved):
            return is_highest
        if self.asked.change and not self._has_change(filled):
            return None
        if kind == "extreme":  # the cells that are the answer come first
            filled.sort(key=lambda cell: -cell.value if is_highest else cell.value)
        return Resolved(self.table, compute(kind, filled, is_highest=is_highest), condition, missing)

    def _has_change(self, cells: Sequence[CitedCell]) -> bool:
        """Return whether the biggest change of the sign asked for is asked for, and there is one."""
        return self.asked.is_highest and any(cell.value * self.asked.change > 0 for cell in cells)

    def _points_up(self, column: int, cells: Sequence[CitedCell]) -> bool | Unresolved:
        """Return whether the greater value is the answer: of losses the lower one, which has to be below zero."""
        is_highest = self.asked.points_up(self.table.columns[column], is_of_years=self.columns.holds_years(column))
        if self.asked.kind not in ("compare", "extreme") or not any(cell.value < 0 for cell in cells):
            return is_highest if not self.asked.loses else Unresolved("no figure is a loss")
        if self.asked.is_of_losses:
            is_found = all(cell.value < 0 for cell in cells) or (self.asked.kind == "extreme" and is_highest)
            return not is_highest if is_found else Unresolved("not all of the figures are losses")
        if all(cell.value < 0 for cell in cells):
            return Unresolved("all figures are negative: it is not said whether the amount or the value counts")
        return is_highest

    def list_named(self) -> list[CitedRow]:
        """Return the rows that the question names, but no totals: "total" says what is to be done."""
        return [row for row in self.named_rows if not is_total(row, self.table)]

    def _name_as_asked(self, rows: Sequence[CitedRow]) -> list[CitedRow]:
        """Let the rows be named by the column of words that the question asks for: "which supplier", "which plots"."""
        figures = {*self.columns.of_figures, *dict(self.equal_cells)}
        asked_for = [
            n
            for n, name in enumerate(self.table.columns)
            if n not in figures and (terms := extract_terms(name)) and terms <= self.asked.counted
        ]
        is_told = len(asked_for) == 1 and (self.asked.kind != "count" or asked_for == [0])
        at = asked_for[0] if is_told else self.table.name_at
        return [replace(row, name_at=at) for row in rows]

    def _select_rows(self) -> tuple[list[CitedRow], str, str]:
        """Return the rows that meet the conditions, these in words, and a reason where they cannot be checked."""
        rows = [row for row in self.table.rows if not is_total(row, self.table)]
        if self.asked.kind in ACROSS or self._adds_up_figures():
            rows = self.list_named() or rows
        rows = self._name_as_asked(rows)
        said = []
        by_column: dict[int, set[str]] = {}
        for column, cell in self.equal_cells:
            by_column.setdefault(column, set()).add(cell)
        if self._is_denied and len(self._flags or by_column) != 1:
            return [], "", "it is not said which of its conditions is not to hold"
        denies_cells = self.denies_cells  # it reads whole columns
        for column, wanted in by_column.items():
            rows = [row for row in rows if (row.cells[column] in wanted) != denies_cells]
            values = state_cells(wanted)
            said.append(f"{self.table.columns[column] or 'the column'} {'not ' if denies_cells else ''}{values}")
        for condition in self.asked.conditions:
            column_of = self.columns.find_of_condition(condition)
            if column_of is None:
                return [], "", f"no column of figures is named for “{condition.text}”"
            cells = [self._get_cell(row, column_of) for row in rows]
            filled = [cell for cell in cells if cell.figure]
            if reason := find_mixed_units(filled):
                return [], "", reason
            rows = [cell.row for cell in filled if condition.holds(cell.value)]
            without = [cell.row.label for cell in cells if not cell.figure]
            note = f" ({', '.join(without[:5])} has no figure)" if without else ""
            said.append(f"{self.table.columns[column_of]} {condition.text}{note}")
        if self.columns.list_compared():
            rows = [row for row in rows if self.columns.meets_comparison(row)]
            said.append(self.columns.describe_comparison())
        return rows, " and ".join(said), ""

    def _get_cell(self, row: CitedRow, column: int) -> CitedCell:
        return CitedCell(row, self.table.columns[column], row.cells[column])
