"""The rows and cells of a table that a question names, and when a word of a question names something."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rag_core.answering.computing.questions import CONDITIONED, PAIRED, AskedOperation
from rag_core.answering.computing.stored_tables import CitedRow, StoredTable
from rag_core.retrieval.extractive_answers import extract_name_terms
from rag_core.text.figures import is_period, parse_figure
from rag_core.text.terms import WORD_PATTERN, extract_terms

MIN_SHARED_LETTERS = 4  # at the beginning of two terms that mean the same, as of "supply" and "supplier"
MIN_SHARED_SHARE = 0.6  # of the longer one
MAX_SAID_CELLS = 4
_TOTAL = re.compile(r"(?:grand |sub-?)?totals?\b", re.IGNORECASE)
_LAST_TOTAL = re.compile(r"sum\b|overall\b|all\b", re.IGNORECASE)
_SHORT_CODE = re.compile(r"[A-Z]{1,3}")  # a cell that is found only in capitals: "OR" is no "or"
_END_OF_NOUN = re.compile(r"[(\[,:;]|\s\d|\s[-–—]\s|\b(?:for|of|in|on|at|per|with|from)\b")
_CODE_OF_NAME = re.compile(r"(?:^|\s)(?=[^\s\d]{0,20}\d)")  # before a word with a digit
_UNIT_OF_LABEL = re.compile(r"\([^()]{1,12}\)$|, per \w+$")  # "Chlorine (kg)", "Room hire, per hour"
_NUMBERED = re.compile(
    r"\b(?:\d{1,6}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred)"
    r"(?P<what>(?: [^\W\d_]{1,30}){1,3})",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?;:](?:\s|$)")
GENERIC_TERMS = extract_terms("thing things item items line lines row rows entry entries")  # what any list is of
_HAVING_TERMS = extract_terms("contains contain includes include has have is")  # of a head: "Contains nuts"
_YES, _NO = ("yes", "true", "y", "x", "✓", "✔"), ("no", "false", "n", "", "-", "–", "✗")


def find_named_rows(asked: AskedOperation, table: StoredTable) -> tuple[CitedRow, ...]:
    """Return the rows whose label the question has in full, in the order of mention; of nested labels the longest.

    Rows of one label are rather those that meet a condition: how often the label occurs may be asked for.
    """
    words, asked_terms = fold_words(asked.text), extract_terms(asked.text)
    found = []
    for row in () if table.is_list else table.rows:
        for name in {row.label, row.cells[0]}:
            terms = extract_terms(_UNIT_OF_LABEL.sub("", name))
            if is_total(row, table) and name.casefold() not in asked.text.casefold():
                continue
            if terms and not is_period(name) and all(has_word(term, asked_terms) for term in terms):
                first = min((words.index(w) for w in fold_words(name) if w in words), default=len(words))
                found.append((first, terms, row))
    named = [row for _, _, row in found]
    found += _find_rows_by_name(asked, table, named)
    found += _find_rows_by_noun(asked, table, [row for _, _, row in found])
    kept = [f for f in found if not any(f[1] < other[1] for other in found)]
    by_place = [row for _, _, row in sorted(kept, key=lambda f: f[0])]
    rows = _choose_group([row for n, row in enumerate(by_place) if row not in by_place[:n]], asked.terms)
    is_repeated = len({row.label for row in rows}) == 1 < len(rows) and _repeats_labels(table)
    return () if is_repeated and asked.kind in CONDITIONED else rows


def _repeats_labels(table: StoredTable) -> bool:
    labels = [row.label for row in table.rows]
    return len(set(labels)) < len(labels) and not any(row.group for row in table.rows)


def _find_rows_by_noun(
    asked: AskedOperation, table: StoredTable, named: Sequence[CitedRow]
) -> list[tuple[int, frozenset[str], CitedRow]]:
    """Return the rows of which the question has the noun alone, which no other row has: "goggles", "safety goggles".

    They come as place of mention, terms and row, and only where cells of rows that are named are asked for.
    """
    if table.is_list or asked.kind not in (*PAIRED, "lookup"):
        return []
    labels = [(row, extract_terms(row.label)) for row in table.rows if not is_total(row, table)]
    elsewhere = extract_terms(" ".join((*table.columns, table.about)))
    taken = frozenset().union(*(extract_terms(row.label) for row in named))
    found = []
    for place, word in enumerate(fold_words(asked.text)):
        term = extract_terms(word)
        rows = [row for row, terms in labels if term and has_any_word(term, terms)]
        if len(rows) == 1 and not term & (elsewhere | taken) and has_any_word(term, _read_noun(rows[0].label)):
            found.append((place, term, rows[0]))
    return found


def _read_noun(label: str) -> frozenset[str]:
    """Return the term of the last word of a label before a bracket, a comma or a measure: "Beaker 250 ml"."""
    words = WORD_PATTERN.findall(_END_OF_NOUN.split(label)[0])
    return extract_terms(words[-1]) if words else frozenset()


def _find_rows_by_name(
    asked: AskedOperation, table: StoredTable, named: Sequence[CitedRow]
) -> list[tuple[int, frozenset[str], CitedRow]]:
    """Return the rows of which the question has one capitalised word that no other row and no column has: a first name.

    They come as place of mention, terms and row.
    """
    words = WORD_PATTERN.findall(asked.text)
    columns = {word for column in table.columns for word in fold_words(column)}
    found = []
    for place, word in enumerate(words):
        if not place or not word[:1].isupper() or not word[1:].islower() or word.casefold() in columns:
            continue
        rows = [row for row in table.rows if word in WORD_PATTERN.findall(row.label)]
        if len(rows) == 1 and rows[0] not in named and not is_total(rows[0], table):
            found.append((place, extract_terms(word), rows[0]))
    return found


def _choose_group(rows: Sequence[CitedRow], terms: frozenset[str]) -> tuple[CitedRow, ...]:
    """Return the rows below the title that the question names, where labels are repeated below others."""
    labels = {row.label for row in rows}
    below = [row for row in rows if row.group and extract_terms(row.group) <= terms]
    is_chosen = len(labels) < len(rows) and {row.label for row in below} == labels
    return tuple(below if is_chosen else rows)


def find_equal_cells(
    asked: AskedOperation, table: StoredTable, named_rows: Sequence[CitedRow]
) -> tuple[tuple[int, str], ...]:
    """Return the columns of words, and the cells in them, that the question names in full: "TX", "Northgate Tools".

    Where it names no row, the cells that say of what kind a row is are among them.
    """
    if table.is_list or asked.kind in PAIRED:
        return ()
    found: list[tuple[int, str]] = []
    named = {word for column in table.columns for word in fold_words(column)}
    names = () if _repeats_labels(table) else (0, table.name_at)
    for n in (n for n in range(len(table.columns)) if n not in names):
        found += _find_counted_cells(asked, table, n)
        if asked.kind != "lookup" and holds_flags(table, n):
            if (name := extract_terms(table.columns[n]) - _HAVING_TERMS) and name <= asked.terms:
                wanted = _NO if asked.is_negated else _YES
                found += [(n, cell) for cell in _list_cells(table, n) if cell.strip().casefold() in wanted]
            continue
        for cell in _list_cells(table, n):
            terms = extract_terms(cell)
            if parse_figure(cell) or not terms or named.issuperset(fold_words(cell)):
                continue
            if not all(has_word(term, asked.terms) for term in terms):
                continue
            if not _SHORT_CODE.fullmatch(cell) or cell in WORD_PATTERN.findall(asked.text):
                found.append((n, cell))
    kinds = [] if named_rows else _find_cells_of_kind(asked, table)
    return (*found, *(one for one in kinds if one[0] not in dict(found)))


def _find_cells_of_kind(asked: AskedOperation, table: StoredTable) -> list[tuple[int, str]]:
    """Return the cells of one column that begin with what is asked for: "Ball valve VB-15" does with "ball valves".

    What a cell is is said by its words before a code, a measure or a bracket, and the last of these has to be asked
    for; of such cells only those with most of the words of the question.
    """
    if asked.kind == "lookup":
        return []
    known = extract_terms(" ".join((*table.columns, table.about)))
    found: dict[int, dict[str, frozenset[str]]] = {}
    for n in range(len(table.columns)):
        for cell in _list_cells(table, n):
            terms, noun = _read_kind(cell)
            if not noun & known and has_any_word(noun, asked.terms):
                found.setdefault(n, {})[cell] = terms
    if len(found) != 1:
        return []
    [(column, kinds)] = found.items()
    shared = {cell: sum(has_word(term, asked.terms) for term in terms) for cell, terms in kinds.items()}
    return [(column, cell) for cell, count in shared.items() if count == max(shared.values())]


def counts_kind(asked: AskedOperation, equal_cells: Iterable[tuple[int, str]]) -> bool:
    """Return whether what is listed or counted is the noun of named cells: nurses, of the role "Head nurse"."""
    return any(has_any_word(_read_kind(cell)[1], asked.counted) for _, cell in equal_cells)


def state_cells(cells: Iterable[str]) -> str:
    """Return the cells of which a row has to have one, in words."""
    listed = sorted(cells)
    more = f" or {len(listed) - MAX_SAID_CELLS} more" if len(listed) > MAX_SAID_CELLS else ""
    return (" or ".join(listed[:MAX_SAID_CELLS]) or "empty") + more


def _read_kind(cell: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms of what a cell says it is, and that of its noun; none for a figure."""
    words = [] if parse_figure(cell) else _CODE_OF_NAME.split(_END_OF_NOUN.split(cell)[0])[0].split()
    return extract_terms(" ".join(words)), extract_terms(words[-1]) if words else frozenset()


def _find_counted_cells(asked: AskedOperation, table: StoredTable, column: int) -> list[tuple[int, str]]:
    """Return the cells whose figure the question has right before the name of their column: "4 doors"."""
    name = extract_terms(table.columns[column])
    limits = {word for condition in asked.conditions for word in fold_words(condition.text)}
    said = {
        number
        for number, word in pairwise(fold_words(asked.text))
        if number.isdigit() and number not in limits and (terms := extract_terms(word)) and terms <= name
    }
    cells = _list_cells(table, column) if said else []
    return [(column, cell) for cell in cells if (figure := parse_figure(cell)) and str(figure.value) in said]


def _list_cells(table: StoredTable, column: int) -> list[str]:
    """Return the different cells of a column, without those of totals."""
    return list(dict.fromkeys(row.cells[column] for row in table.rows if not is_total(row, table)))


def holds_flags(table: StoredTable, column: int) -> bool:
    """Return whether the cells of a column say yes or no, both of them."""
    cells = {cell.strip().casefold() for cell in _list_cells(table, column)}
    return cells.issubset(_YES + _NO) and not cells.isdisjoint(_YES) and not cells.isdisjoint(_NO)


def fold_words(text: str) -> list[str]:
    """Return the words of a text, case-folded, in order."""
    return [word.casefold() for word in WORD_PATTERN.findall(text)]


def is_written_out(term: str, text: str, codes: Iterable[str]) -> bool:
    """Return whether a word stands before a code in brackets that the table has, as in "Texas (TX)"."""
    words = text.casefold().split()
    return any(
        before.startswith(term) and word.strip("?,.") == f"({code})"
        for before, word in pairwise(words)
        for code in codes
    )


def is_total(row: CitedRow, table: StoredTable) -> bool:
    """Return whether a row is a total of others; "All depots" only as the last row."""
    names = (row.label, row.cells[0])
    is_last = row is table.rows[-1] and any(map(_LAST_TOTAL.match, names))
    return is_last or any(map(_TOTAL.match, names))


def is_list_of_counted(asked: AskedOperation, table: StoredTable) -> bool:
    """Return whether the line above a list has what is counted: neither a name nor a heading further up says it.

    "How many people work at Halden?" does not ask for the items of "Halden will:", below the heading "Our people".
    """
    counted = asked.counted - GENERIC_TERMS - extract_name_terms(asked.text)
    return not counted or has_any(counted, extract_terms(table.columns[0]))


def has_any(terms: Iterable[str], others: frozenset[str]) -> bool:
    """Return whether terms have any of these, or one that begins like it."""
    return any(has_term(term, others) for term in terms)


def has_any_word(terms: Iterable[str], others: frozenset[str]) -> bool:
    return any(has_word(term, others) for term in terms)


def has_word(term: str, terms: frozenset[str]) -> bool:
    """Return whether terms have this one in its singular or plural: `extract_terms` keeps the "s" of short words."""
    return not terms.isdisjoint((term, f"{term}s", term.removesuffix("s")))


def has_term(term: str, terms: frozenset[str]) -> bool:
    """Return whether terms have this one, or one that begins like it."""
    return has_word(term, terms) or any(_begins_alike(term, other) for other in terms)


def _begins_alike(term: str, other: str) -> bool:
    shared = next((n for n, (a, b) in enumerate(zip(term, other, strict=False)) if a != b), min(len(term), len(other)))
    longest = max(len(term), len(other))
    return shared >= MIN_SHARED_LETTERS and shared >= MIN_SHARED_SHARE * longest and not term.isdigit()


def states_count(about: str, asked: AskedOperation) -> bool:
    """Return whether a sentence above a table gives the asked count: "locked by eight hydraulic pins"."""
    for sentence in _SENTENCE_END.split(" ".join(about.split())):
        terms = extract_terms(sentence)
        if asked.terms and all(has_term(term, terms) for term in asked.terms):
            numbered = extract_terms(" ".join(match["what"] for match in _NUMBERED.finditer(sentence)))
            return has_any(asked.counted, numbered)
    return False
