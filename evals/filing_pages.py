"""Pages of tables as annual reports set them, drawn with known cells: a stand-in for filings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from pdfminer.fontmetrics import FONT_METRICS

SPANNED = "<"  # in a row of heads: a column below the head to its left
_WIDTHS = FONT_METRICS["Helvetica"][1]
_PAGE_WIDTH, _PAGE_HEIGHT, _MARGIN, _TOP = 612, 792, 54, 730
_HANGING_SIGNS = ")%"  # right of the digits' edge

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilingTable:
    """A table: rows of heads from top to bottom, then rows of a label and values; "$ 5" has its sign at the left edge.

    A label begins with two spaces for each level of indentation, and has a line break where it is set in two lines. A
    row without values is a title of those below. `column_width` and `gap` are points; a head is centred over its
    columns, or set at their right edge. `marks` are set small and raised behind the labels.
    """

    caption: str
    heads: Sequence[Row]
    rows: Sequence[Row]
    size: float = 9
    column_width: float = 62
    gap: float = 14
    label_width: float = 250
    heads_at_right: bool = False
    marks: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """The name of each value column: its heads from top to bottom."""
        spread = [_spread_heads(row) for row in self.heads]
        return [" ".join(filter(None, column)) for column in list(zip(*spread, strict=True))[1:]]

    def list_cells(self) -> Iterator[tuple[str, str, str]]:
        """Yield label, column and value of each cell that has one."""
        for row in self.rows:
            for name, value in zip(self.names, row[1:], strict=True):
                if value:
                    yield " ".join(row[0].split()), name, value


@dataclass(frozen=True, slots=True)
class TextLines:
    """Texts below one another, each broken into lines of the page's width; with `heading` the first is in bold."""

    texts: Sequence[str]
    size: float = 9
    bold: bool = False
    heading: bool = False


@dataclass(frozen=True, slots=True)
class TextTable:
    """A heading and, right below it, rows whose texts begin `lefts` points from the margin; the first is in bold."""

    heading: str
    rows: Sequence[Row]
    lefts: Sequence[float]
    size: float = 9


PageItem = FilingTable | TextLines | TextTable


def draw_pages(pages: Sequence[Sequence[PageItem]]) -> bytes:
    """Return a PDF with these tables and texts one below the other on each page."""
    contents = []
    for items in pages:
        y: float = _TOP
        parts = []
        for item in items:
            drawn, y = _draw_item(item, y)
            parts.append(drawn)
        contents.append("".join(parts).encode("cp1252"))
    return _assemble_pdf(contents)


def _draw_item(item: PageItem, y: float) -> tuple[str, float]:
    if isinstance(item, TextLines):
        return _draw_texts(item, y - 8)
    return _draw_text_table(item, y - 20) if isinstance(item, TextTable) else _draw_table(item, y - 20)


def draw_filing(pages: Sequence[Sequence[FilingTable]], *, title: str = "", prose: str = "") -> bytes:
    """Return a PDF with these tables one below the other on each page, below the title and a sentence of prose."""
    contents = []
    for tables in pages:
        y: float = _TOP
        parts = [_draw_text(title, _MARGIN, y, 14, "B")] if title else []
        parts += [_draw_text(prose, _MARGIN, y - 22, 9)] if prose else []
        for table in tables:
            drawn, y = _draw_table(table, y - 46)
            parts.append(drawn)
        contents.append("".join(parts).encode("cp1252"))
    return _assemble_pdf(contents)


def make_filings(seed: int, count: int) -> list[FilingTable]:
    """Return tables in the ways in which filings set them, with values by this seed."""
    random = Random(seed)
    return [_make_filing(random, number) for number in range(count)]


def _make_filing(random: Random, number: int) -> FilingTable:
    design = number % 8
    years = [str(2025 - n) for n in range(4)]
    ended, months = "Three Months Ended\nJune 30,", "Six Months Ended\nJune 30,"
    heads: dict[int, list[Row]] = {
        0: [("", *years[:2])],
        1: [("", "Year Ended December 31,", SPANNED, SPANNED), ("", *years[:3])],
        2: [*_split_heads(("", ended, SPANNED, months, SPANNED)), ("(in millions)", *years[:2], *years[:2])],
        3: [("", "As of", "As of"), ("", "June 30,", "December 31,"), ("", "2025", "2024")],
        4: [("", "", "Prior", "", ""), ("", "Balance", "period", "Net", "%"), ("", "2025", "change", "2024", "Change")],
        5: [("", "Americas", "Europe", "Asia", "Other", "Total")],
        6: [("", "Shares", "Amount", "Income", "Loss", "Equity", "Total")],
        7: [("(unaudited)", "2025", "2024", "Change")],
    }
    rows = [_make_row(random, label, len(heads[design][0]) - 1, design) for label in _LABELS[number % 3]]
    narrow = design in (5, 6)
    return FilingTable(
        f"Note {number + 1}. Schedule of balances",
        heads[design],
        rows,
        size=8 if narrow else 9,
        column_width=42 if narrow else 54,
        gap=random.choice((5, 7)) if narrow else random.choice((9, 16, 24)),
        label_width=190 if narrow or design in (2, 4) else 260,
        heads_at_right=number % 2 == 1,
        marks=("(1)", "(a)", "*") if number % 3 == 0 else (),
    )


_LABELS = (
    (
        "Assets:",
        "  Cash and cash equivalents",
        "  Accounts receivable, net",
        "  Prepaid expenses and other",
        "Total assets",
    ),
    (
        "Revenue",
        "Cost of revenue",
        "Gross profit",
        "Common stock, $0.001 par value: 50,400 shares\nauthorized and issued",
        "Other income (expense), net",
        "Diluted",
    ),
    (
        "Operating activities",
        "  Depreciation",
        "    Of which buildings",
        "  Impairment of long-lived assets and of\n  goodwill",
        "Financing activities",
        "  Dividends paid (Note 4)",
    ),
)


def _make_row(random: Random, label: str, width: int, design: int) -> Row:
    if label.endswith(":") or (label in ("Operating activities", "Financing activities")):
        return (label, *([""] * width))
    limit = 9_999 if design in (5, 6) else random.choice((99, 9_999, 9_999_999))
    values = [_make_value(random, limit, is_share=design in (4, 7) and n == width - 1) for n in range(width)]
    sign = "$ " if random.random() < 0.3 else ""
    return (label, *(f"{sign}{v}" if sign and "%" not in v and v not in ("—", "-", "") else v for v in values))


def _make_value(random: Random, limit: int, *, is_share: bool) -> str:
    if random.random() < 0.1:
        return random.choice(("—", "—", "-", ""))
    value = random.randint(1, limit)
    if is_share:
        return f"({value % 90}.{value % 10})%" if value % 4 == 0 else f"{value % 90}.{value % 10}%"
    return f"({value:,})" if random.random() < 0.3 else f"{value:,}"


def _split_heads(row: Row) -> list[Row]:
    """Return a row of heads of two lines as two rows."""
    lines = [head.split("\n") if "\n" in head else [head, head if head == SPANNED else ""] for head in row]
    return [tuple(line[n] for line in lines) for n in range(2)]


def _spread_heads(row: Row) -> list[str]:
    spread = [row[0]]
    for head in row[1:]:
        spread.append(spread[-1] if head == SPANNED else head)
    return spread


def _draw_texts(item: TextLines, y: float) -> tuple[str, float]:
    """Return what draws texts, and the height below them."""
    parts = []
    for number, text in enumerate(item.texts):
        font = "B" if item.bold or (item.heading and not number) else "R"
        for line in _break_lines(text, item.size):
            parts.append(_draw_text(line, _MARGIN, y, item.size, font))
            y -= 1.25 * item.size
        y -= 0.6 * item.size
    return "".join(parts), y


def _break_lines(text: str, size: float) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _measure(longer, size) > _PAGE_WIDTH - 2 * _MARGIN:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _draw_text_table(table: TextTable, y: float) -> tuple[str, float]:
    """Return what draws a heading and its rows, and the height below them."""
    step = table.size * 1.35
    parts = [_draw_text(table.heading, _MARGIN, y, table.size + 1, "B")]
    for number, row in enumerate(table.rows):
        y -= step
        parts += [
            _draw_text(text, _MARGIN + left, y, table.size, "R" if number else "B")
            for text, left in zip(row, table.lefts, strict=True)
        ]
    return "".join(parts), y - step


def _draw_table(table: FilingTable, y: float) -> tuple[str, float]:
    """Return what draws a table, and the height below it."""
    size, step = table.size, table.size * 1.35
    parts = [_draw_text(table.caption, _MARGIN, y, size + 1, "B")]
    y -= 1.6 * step
    count = len(table.heads[0]) - 1
    rights = [_MARGIN + table.label_width + (n + 1) * (table.column_width + table.gap) for n in range(count)]
    for row in table.heads:
        parts.append(_draw_text(row[0], _MARGIN, y, size))
        parts += [_draw_text(text, x, y, size, "B") for text, x in _place_heads(table, row, rights)]
        y -= step
    for number, row in enumerate(table.rows):
        lines = row[0].split("\n")
        for n, line in enumerate(lines):
            left: float = _MARGIN + 5 * (len(line) - len(line.lstrip())) + (8 if n else 0)
            parts.append(_draw_text(line.strip(), left, y - n * step, size))
        y -= step * (len(lines) - 1)
        if table.marks and any(row[1:]):
            indent = 5 * (len(lines[-1]) - len(lines[-1].lstrip())) + (8 if len(lines) > 1 else 0)
            left = _MARGIN + indent + _measure(lines[-1].strip(), size) + 1
            parts.append(_draw_text(table.marks[number % len(table.marks)], left, y + size / 3, size * 0.6))
        for value, right in zip(row[1:], rights, strict=True):
            parts.append(_draw_value(value, right, y, table))
        y -= step
    return "".join(parts), y


def _place_heads(table: FilingTable, row: Row, rights: Sequence[float]) -> Iterator[tuple[str, float]]:
    starts = [n for n, head in enumerate(row) if n and head != SPANNED]
    for first, after in pairwise([*starts, len(row)]):
        text = row[first]
        left, right = rights[first - 1] - table.column_width, rights[after - 2]
        wide = _measure(text, table.size, "Helvetica-Bold")
        is_centred = after - first > 1 or not table.heads_at_right
        yield text, (left + right - wide) / 2 if is_centred else right - wide


def _draw_value(value: str, right: float, y: float, table: FilingTable) -> str:
    sign, _, number = value.rpartition(" ")
    hanging = len(number) - len(number.rstrip(_HANGING_SIGNS))
    x = right - _measure(number[: len(number) - hanging], table.size)
    drawn = _draw_text(sign, right - table.column_width, y, table.size) if sign else ""
    return drawn + _draw_text(number, x, y, table.size)


def _draw_text(text: str, x: float, y: float, size: float, font: str = "R") -> str:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /{font} {size:g} Tf {x:.2f} {y:.2f} Td ({escaped}) Tj ET\n" if text else ""


def _measure(text: str, size: float, font: str = "Helvetica") -> float:
    widths = FONT_METRICS[font][1]
    return sum(widths.get(letter, 556) for letter in text) * size / 1000


def _assemble_pdf(contents: Sequence[bytes]) -> bytes:
    kids = b" ".join(b"%d 0 R" % (5 + 2 * n) for n in range(len(contents)))
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica%s/Encoding/WinAnsiEncoding>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(contents)),
        font % b"",
        font % b"-Bold",
    ]
    for number, content in enumerate(contents):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Resources<</Font<</R 3 0 R/B 4 0 R>>>>/Contents %d 0 R>>"
            % (_PAGE_WIDTH, _PAGE_HEIGHT, 6 + 2 * number)
        )
        objects.append(b"<</Length %d>>\nstream\n%s\nendstream" % (len(content), content))
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    at = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, rows)
    return bytes(out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, at))
