"""Four documents with tables as people have them: a price list, an inventory, a league and a parish's accounts.

They have heads of two lines, merged cells, units in heads, totals, blank cells, dates and times. Documents and
questions (`evals/data/everyday_tables/questions.jsonl`) were written before the code that answers them was read.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from evals.filing_pages import FilingTable, TextLines, TextTable, draw_pages
from evals.table_documents import make_workbook, save_workbook, set_paragraph
from rag_core.ingestion.upload import Upload
from tests.ingestion.documents import docx

FOLDER = Path(__file__).parent / "data" / "everyday_tables"

ABOVE = "^"  # a cell merged with the one above it
LEFT = "<"  # a cell merged with the one to its left

HIRE = (
    ("Room", "Floor area (m²)", "Seats", "Hire per hour (£)", LEFT, "Deposit (£)"),
    (ABOVE, ABOVE, ABOVE, "Members", "Public", ABOVE),
    ("Main Hall", "240", "180", "32.00", "45.00", "150"),
    ("Garden Room", "65", "40", "14.50", "20.00", "50"),
    ("Studio", "80", "30", "16.00", "22.50", "50"),
    ("Meeting Room 1", "28", "12", "8.00", "11.00", ""),
    ("Meeting Room 2", "24", "10", "8.00", "11.00", ""),
    ("Kitchen", "36", "–", "12.00", "18.00", "100"),
)
BOOKINGS = (
    ("Date", "Group", "Room", "Start", "End", "People expected"),
    ("3 March 2025", "Tiny Tumblers", "Main Hall", "09:30", "11:00", "45"),
    ("4 March 2025", "Chess Club", "Meeting Room 1", "19:00", "22:00", "9"),
    ("7 March 2025", "Yoga for Backs", "Studio", "18:00", "19:15", "18"),
    ("8 March 2025", "Ceilidh Band", "Main Hall", "19:30", "23:30", "160"),
    ("12 March 2025", "Gardening Society", "Garden Room", "14:00", "16:00", "33"),
    ("15 March 2025", "Blood Donors", "Main Hall", "10:00", "16:00", "120"),
    ("18 March 2025", "Chess Club", "Meeting Room 1", "19:00", "22:00", "11"),
    ("22 March 2025", "Repair Café", "Garden Room", "11:00", "15:00", ""),
    ("29 March 2025", "Book Swap", "Garden Room", "13:00", "16:00", "25"),
)
STORE = (
    ("Item", "Cupboard", "In stock", "Minimum", "Last bought", "Price each (€)"),
    ("Beaker 250 ml", "A1", 64, 40, date(2023, 9, 4), 3.2),
    ("Bunsen burner", "B2", 18, 20, date(2019, 6, 11), 41.5),
    ("Safety goggles", "A3", 75, 60, date(2024, 2, 20), 5.75),
    ("Microscope", "C1", 14, 15, date(2017, 10, 2), 289),
    ("Stopwatch", "B1", 22, 15, date(2022, 3, 30), 12.9),
    ("Digital balance", "C1", 6, 6, date(2021, 11, 15), 134),
    ("pH meter", "C2", 5, 8, date(2024, 9, 9), 78.4),
    ("Tripod stand", "B2", 31, 20, None, 9.6),
    ("Total", None, 235, None, None, None),
)
TRIPS = (
    ("Trip", "Class", "Pupils", "Coach (€)", "Entry fees (€)", "Lunch (€)"),
    ("Aquarium", "5A", 27, 310, 243, 0),
    ("Castle", "5B", 29, 285, 188.5, 87),
    ("Planetarium", "6A", 25, 340, 200, None),
    ("Farm", "4A", 30, 190, 165, 75),
    ("Harbour museum", "6B", 26, 365, 143, 78),
    ("Total", None, 137, 1490, 939.5, 240),
)
ACCOUNTS = FilingTable(
    "Income and spending (£)",
    (("", "Budget", "Actual", "Budget"), ("", "2024/25", "2024/25", "2025/26")),
    (
        ("Precept", "84,000", "84,000", "88,200"),
        ("Allotment rents", "3,150", "2,985", "3,300"),
        ("Hall lettings", "12,600", "14,210", "13,500"),
        ("Grants", "—", "6,000", "—"),
        ("Total income", "99,750", "107,195", "105,000"),
        ("Clerk's salary", "31,400", "31,912", "33,000"),
        ("Grass cutting", "14,500", "16,340", "17,000"),
        ("Street lighting", "9,800", "8,655", "9,500"),
        ("Playground repairs", "6,000", "11,270", "5,000"),
        ("Insurance", "2,900", "3,040", "3,200"),
        ("Total spending", "64,600", "71,217", "67,700"),
    ),
)
PLOTS = TextTable(
    "Allotment plots",
    (
        ("Plot", "Size (sq m)", "Holder", "Since", "Rent a year"),
        ("1", "125", "J. Marsh", "2011", "£45"),
        ("2", "250", "P. Okafor", "2018", "£85"),
        ("3", "125", "vacant", "", "£45"),
        ("4", "200", "S. Lindqvist", "2003", "£70"),
        ("5", "125", "R. Doyle", "2021", "£45"),
        ("6", "250", "vacant", "", "£85"),
        ("7", "90", "M. Abbas", "2024", "£35"),
    ),
    lefts=(0, 50, 130, 260, 320),
)


def build_uploads() -> list[Upload]:
    """Return the documents, each under its file's name."""
    files = {
        "hall_hire.docx": _make_docx(),
        "school.xlsx": _make_xlsx(),
        "league.html": (FOLDER / "league.html").read_bytes(),
        "parish.pdf": _make_pdf(),
    }
    return [Upload(data=data, filename=name) for name, data in files.items()]


def _make_docx() -> bytes:
    parts = [
        set_paragraph("Heading1", "Millbrook Community Centre"),
        set_paragraph("Normal", "Rooms are let by the hour. Members are those who pay the yearly subscription."),
        set_paragraph("Heading2", "What our rooms cost"),
        _set_table(HIRE),
        set_paragraph("Heading2", "Bookings in March"),
        _set_table(BOOKINGS),
    ]
    return docx("".join(parts))


def _set_table(rows: Sequence[Sequence[str]]) -> str:
    merged = {row[n] for row in rows for n in range(len(row))} & {ABOVE, LEFT}
    below = rows[1] if merged else ()
    lines = (f"<w:tr>{''.join(_set_cells(row, below if row is rows[0] else ()))}</w:tr>" for row in rows)
    return f"<w:tbl>{''.join(lines)}</w:tbl>"


def _set_cells(row: Sequence[str], below: Sequence[str]) -> Iterator[str]:
    for number, text in enumerate(row):
        if text == LEFT:
            continue
        spans = '<w:gridSpan w:val="2"/>' if row[number + 1 : number + 2] == (LEFT,) else ""
        spans += '<w:vMerge w:val="restart"/>' if below and below[number] == ABOVE else ""
        spans += "<w:vMerge/>" if text == ABOVE else ""
        words = "" if text == ABOVE else text
        yield f"<w:tc><w:tcPr>{spans}</w:tcPr>{set_paragraph('Normal', words)}</w:tc>"


def _make_xlsx() -> bytes:
    title = "Science store, stock check of 12 January 2025"
    book = make_workbook({"Science store": [[title], [], *STORE], "School trips": TRIPS})
    book["Science store"].merge_cells(start_row=1, start_column=1, end_row=1, end_column=len(STORE[0]))
    return save_workbook(book)


def _make_pdf() -> bytes:
    title = TextLines(("Upwell Parish Council: accounts and allotments",), size=14, bold=True)
    prose = TextLines(("The accounts run from April to March. The allotments lie behind the church.",))
    return draw_pages([[title, prose, ACCOUNTS, PLOTS]])
