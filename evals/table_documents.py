"""The documents of `evals.table_questions`: tables and lists in six formats, hard to compute with.

There are totals, missing cells, words where a number should be, two currencies, and two tables with the same columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import escape

from openpyxl import Workbook

from evals.filing_pages import SPANNED, FilingTable, draw_filing
from rag_core.ingestion.upload import Upload
from tests.ingestion.documents import docx

FOLDER = Path(__file__).parent / "data" / "table_questions"

PRODUCTS = (
    ("Product", "Supplier", "Weight (kg)", "Unit price"),
    ("Cordless drill", "Northgate Tools", "1.6", "$89.00"),
    ("Belt sander", "Northgate Tools", "2.9", "€112.50"),
    ("Spirit level", "Helm & Sons", "0.7", "$9.80"),
    ("Claw hammer", "Northgate Tools", "0.6", "$14.25"),
    ("Tape measure", "Helm & Sons", "0.3", "$7.40"),
    ("Work lamp", "Brightway", "1.1", "€39.90"),
)
BUDGET = (
    ("Department", "2023", "2024"),
    ("Marketing", 410_000, 385_500),
    ("Legal", 128_400, 391_000),
    ("Engineering", 2_150_000, 2_480_000),
    ("Facilities", 96_250, 101_000),
    ("Refunds", -54_000, -61_300),
    ("Total", 2_730_650, 3_296_200),
)
HEADCOUNT = (("Department", "2023", "2024"), ("Marketing", 11, 9), ("Legal", 3, 7), ("Engineering", 38, 44))
YEARS = (("", "Year ended December 31,", SPANNED), ("", "2024", "2023"))
INCOME = FilingTable(
    "Consolidated statements of operations (in thousands)",
    YEARS,
    (
        ("Net sales", "$ 48,200", "$ 44,630"),
        ("Cost of sales", "29,115", "27,940"),
        ("Gross margin", "19,085", "16,690"),
        ("Operating expenses:", "", ""),
        ("  Research and development", "6,310", "5,475"),
        ("  Selling, general and administrative", "5,020", "5,188"),
        ("Other income (expense), net", "(1,204)", "318"),
        ("Restructuring charges", "—", "(740)"),
        ("Net income", "$ 6,551", "$ 5,605"),
    ),
)
SALES = FilingTable(
    "Sales of the segments (in thousands)",
    YEARS,
    (
        ("Garden", "$ 21,400", "$ 20,110"),
        ("Toys", "15,900", "14,020"),
        ("Marine", "10,900", "10,500"),
        ("Total", "$ 48,200", "$ 44,630"),
    ),
)
PROFIT = FilingTable(
    "Operating profit or loss of the segments (in thousands)",
    YEARS,
    (
        ("Garden", "$ 9,870", "$ 8,215"),
        ("Toys", "(1,730)", "(905)"),
        ("Marine", "(385)", "(1,283)"),
        ("Total", "$ 7,755", "$ 6,027"),
    ),
)


def build_uploads() -> list[Upload]:
    """Return the documents, each under its file's name."""
    files = {
        path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in (".csv", ".md", ".html")
    }
    files |= {"products.docx": _make_docx(), "budget.xlsx": _make_budget(), "annual_report.pdf": _make_pdf()}
    return [Upload(data=data, filename=name) for name, data in files.items()]


def set_paragraph(style: str, text: str) -> str:
    """Return a paragraph of a Word document."""
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{escape(text)}</w:t></w:r></w:p>'


def make_workbook(sheets: Mapping[str, Iterable[Sequence[object]]]) -> Workbook:
    """Return a workbook with the rows of each sheet, by name."""
    book = Workbook()
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.remove(book["Sheet"])
    return book


def save_workbook(book: Workbook) -> bytes:
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def _make_docx() -> bytes:
    cells = [[f"<w:tc>{set_paragraph('Normal', words)}</w:tc>" for words in row] for row in PRODUCTS]
    table = "".join(f"<w:tr>{''.join(row)}</w:tr>" for row in cells)
    heading = set_paragraph("Heading1", "Price list of Corley Hardware")
    prose = set_paragraph("Normal", "Prices are for one piece, as agreed with each supplier.")
    return docx(f"{heading}{prose}<w:tbl>{table}</w:tbl>")


def _make_budget() -> bytes:
    return save_workbook(make_workbook({"Budget": BUDGET, "Headcount": HEADCOUNT}))


def _make_pdf() -> bytes:
    return draw_filing([[INCOME], [SALES, PROFIT]], title="Annual report of Larkspur Holdings")
