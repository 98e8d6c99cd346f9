"""Six documents as an office has them: absences, orders, tickets, prices, a timetable and an energy report.

They have names, units, empty cells, dates, percentages, codes and totals. Documents and questions were written by who
had read no code that answers; `evals.bureau_questions` computes the values that are expected from these rows.
"""

import csv
from collections.abc import Sequence
from datetime import date
from html import escape
from pathlib import Path

from evals.filing_pages import FilingTable, TextLines, TextTable, draw_pages
from evals.table_documents import make_workbook, save_workbook, set_paragraph
from rag_core.ingestion.upload import Upload
from tests.ingestion.documents import docx

FOLDER = Path(__file__).parent / "data" / "bureau_tables"

ABSENCES = (
    ("Employee", "Team", "Reason", "First day", "Last day", "Working days", "Doctor's note", "Covered by"),
    ("Amara Osei", "Payroll", "Sick leave", date(2025, 1, 13), date(2025, 1, 17), 5, "yes", "Nils Berger"),
    ("Nils Berger", "Payroll", "Annual leave", date(2025, 2, 3), date(2025, 2, 14), 10, None, "Amara Osei"),
    ("Rosa Ferreira", "Front desk", "Sick leave", date(2025, 2, 10), date(2025, 2, 11), 2, "no", None),
    ("Callum Reid", "Archive", "Parental leave", date(2025, 2, 17), date(2025, 4, 11), 40, None, "Mei Lin"),
    ("Mei Lin", "Archive", "Training", date(2025, 3, 4), date(2025, 3, 6), 3, None, None),
    ("Rosa Ferreira", "Front desk", "Annual leave", date(2025, 3, 24), date(2025, 3, 28), 5, None, "Jonas Weidt"),
    ("Jonas Weidt", "Front desk", "Sick leave", date(2025, 4, 2), date(2025, 4, 9), 6, "yes", "Rosa Ferreira"),
    ("Amara Osei", "Payroll", "Annual leave", date(2025, 4, 14), date(2025, 4, 17), 4, None, "Nils Berger"),
    ("Farid Nouri", "Archive", "Sick leave", date(2025, 5, 5), date(2025, 5, 5), 1, "no", None),
    ("Farid Nouri", "Archive", "Jury service", date(2025, 5, 19), date(2025, 5, 23), 5, None, "Callum Reid"),
    ("Mei Lin", "Archive", "Annual leave", date(2025, 6, 2), date(2025, 6, 20), 15, None, "Farid Nouri"),
)
LEAVE = (
    ("Employee", "Contract", "Holiday entitlement (days)", "Taken (days)", "Sickness rate"),
    ("Amara Osei", "full time", 28, 4, 0.041),
    ("Nils Berger", "full time", 28, 10, 0),
    ("Rosa Ferreira", "part time", 21, 5, 0.017),
    ("Callum Reid", "full time", 30, 0, None),
    ("Mei Lin", "part time", 24, 15, 0),
    ("Jonas Weidt", "full time", 26, 0, 0.049),
    ("Farid Nouri", "apprentice", 25, 0, 0.008),
    ("Total", None, 182, 34, None),
)
ORDERS = (
    ("Order", "Placed", "Requested by", "Article", "Supplier", "Quantity", "Unit price (€)", "Status"),
    ("PO-2207", "8 January 2025", "Payroll", "Desk lamp", "Ekholm", "12", "34.50", "delivered"),
    ("PO-2211", "21 January 2025", "Front desk", "Visitor chair", "Sittwell", "6", "129.00", "delivered"),
    ("PO-2215", "11 February 2025", "Archive", "Acid-free box", "Papierhof", "200", "2.85", "delivered"),
    ("PO-2218", "3 March 2025", "Archive", "Steel shelf", "Ekholm", "9", "212.00", "in transit"),
    ("PO-2219", "3 March 2025", "Legal", "Shredder", "Papierhof", "1", "389.90", "cancelled"),
    ("PO-2224", "27 March 2025", "Front desk", "Whiteboard", "Sittwell", "2", "148.75", "in transit"),
    ("PO-2230", "9 April 2025", "Payroll", "Copy paper, box", "Papierhof", "40", "21.40", "ordered"),
    ("PO-2233", "30 April 2025", "Legal", "Standing desk", "Sittwell", "3", "540.00", "ordered"),
    ("PO-2236", "14 May 2025", "Archive", "Dehumidifier", "Brisamar", "2", "", "awaiting quote"),
)
SUPPLIERS = (
    ("Supplier", "Contact", "Delivery time (working days)", "Minimum order (€)", "Discount", "Contract until"),
    ("Ekholm", "Lotta Ekholm", "10", "150", "5%", "31 December 2025"),
    ("Sittwell", "Marcus Boone", "21", "400", "12%", "30 June 2026"),
    ("Papierhof", "Anke Stolz", "3", "50", "2.5%", "31 August 2025"),
    ("Brisamar", "Telmo Pires", "15", "", "", ""),
)
COPIES = (
    ("Code", "Service", "Format", "Unit", "Staff price (€)", "Guest price (€)", "From 100 (€)", "VAT"),
    ("C-10", "Copy, black and white", "A4", "page", "0.04", "0.10", "0.03", "19%"),
    ("C-11", "Copy, black and white", "A3", "page", "0.08", "0.20", "0.06", "19%"),
    ("C-20", "Copy, colour", "A4", "page", "0.18", "0.45", "0.14", "19%"),
    ("C-21", "Copy, colour", "A3", "page", "0.32", "0.80", "0.26", "19%"),
    ("P-05", "Poster, matt paper", "A2", "sheet", "6.50", "11.00", "-", "19%"),
    ("P-06", "Poster, glossy paper", "A1", "sheet", "11.20", "18.50", "-", "19%"),
    ("B-01", "Spiral binding", "A4", "copy", "1.90", "3.20", "1.60", "19%"),
    ("B-02", "Hardcover binding", "A4", "copy", "14.00", "22.00", "-", "7%"),
    ("S-01", "Scan to PDF", "up to A3", "page", "free", "0.05", "free", "19%"),
    ("L-03", "Lamination", "A4", "sheet", "0.70", "1.10", "0.55", "19%"),
)
SHUTTLE = (
    ("Bus", "From", "To", "Departs", "Arrives", "Runs on", "Seats", "Fare (€)"),
    ("S1", "Central Station", "Head Office", "06:50", "07:15", "Mon-Fri", "19", "1.50"),
    ("S2", "Central Station", "Head Office", "07:40", "08:08", "Mon-Fri", "48", "1.50"),
    ("S3", "North Depot", "Head Office", "07:05", "07:50", "Mon-Thu", "19", "2.80"),
    ("S4", "Airport", "Head Office", "08:15", "09:05", "Mon-Sat", "32", "4.20"),
    ("S5", "Head Office", "Central Station", "16:10", "16:36", "Mon-Fri", "48", "1.50"),
    ("S6", "Head Office", "Central Station", "18:05", "18:29", "Mon-Thu", "19", "1.50"),
    ("S7", "Head Office", "North Depot", "16:30", "17:18", "Mon-Thu", "19", "2.80"),
    ("S8", "Head Office", "Airport", "17:45", "18:40", "Mon-Sat", "32", "4.20"),
    ("S9", "Head Office", "Lakeside Campus", "12:20", "12:32", "Wed", "19", ""),
)
ENERGY = FilingTable(
    "Electricity by building (kWh)",
    (("", "2023", "2024"),),
    (
        ("Head Office", "412,300", "386,900"),
        ("North Depot", "268,450", "281,720"),
        ("Archive Tower", "154,080", "149,310"),
        ("Lakeside Campus", "—", "97,640"),
        ("Car park", "38,900", "52,150"),
        ("Total", "873,730", "967,720"),
    ),
)
INVOICE = TextTable(
    "Invoice 25-0481 of Voltara Services, 14 March 2025",
    (
        ("Item", "Work", "Hours", "Rate (€/h)", "Net (€)"),
        ("1", "Meter reading", "6", "48.00", "288.00"),
        ("2", "LED retrofit, stairs", "31", "62.00", "1,922.00"),
        ("3", "Thermal imaging", "4", "95.00", "380.00"),
        ("4", "Charging post repair", "9", "71.50", "643.50"),
        ("5", "Energy audit report", "14", "95.00", "1,330.00"),
        ("", "Total net", "64", "", "4,563.50"),
    ),
    lefts=(0, 40, 190, 250, 330),
)


def read_tickets() -> list[list[str]]:
    """Return the rows of the exported tickets, the head first."""
    return list(csv.reader((FOLDER / "tickets.csv").read_text("utf-8").splitlines()))


def build_uploads() -> list[Upload]:
    """Return the documents, each under its file's name."""
    files = {
        "absences.xlsx": _make_xlsx(),
        "orders.docx": _make_docx(),
        "tickets.csv": (FOLDER / "tickets.csv").read_bytes(),
        "copy_shop.md": _make_markdown().encode(),
        "shuttle.html": _make_html().encode(),
        "energy.pdf": _make_pdf(),
    }
    return [Upload(data=data, filename=name) for name, data in files.items()]


def _make_xlsx() -> bytes:
    book = make_workbook({"Absences 2025": ABSENCES, "Leave account": [["As of 30 June 2025"], [], *LEAVE]})
    for cell in book["Leave account"]["E"][3:]:
        cell.number_format = "0.0%"
    return save_workbook(book)


def _make_docx() -> bytes:
    parts = [
        set_paragraph("Heading1", "Purchasing, first half of 2025"),
        set_paragraph("Heading2", "Orders"),
        _set_table(ORDERS),
        set_paragraph("Heading2", "Our suppliers"),
        set_paragraph("Normal", "The discount is on the list price. Delivery is counted from the order."),
        _set_table(SUPPLIERS),
    ]
    return docx("".join(parts))


def _set_table(rows: Sequence[Sequence[str]]) -> str:
    cells = [[f"<w:tc>{set_paragraph('Normal', words)}</w:tc>" for words in row] for row in rows]
    lines = ["<w:tr>" + "".join(row) + "</w:tr>" for row in cells]
    return "<w:tbl>" + "".join(lines) + "</w:tbl>"


def _make_markdown() -> str:
    head, *rows = [f"| {' | '.join(row)} |" for row in COPIES]
    rule = "|" + " --- |" * len(COPIES[0])
    prose = "# Copy shop, basement\n\nPrices without VAT, valid from 1 February 2025. Guests pay by card only."
    return "\n".join([prose, "", head, rule, *rows, ""])


def _make_html() -> str:
    head, *rows = SHUTTLE
    lines = [_set_row(head, "th"), *(_set_row(row, "td") for row in rows)]
    prose = "<h1>Staff shuttle</h1><p>Timetable from 7 April 2025. No service on public holidays.</p>"
    return f"<html><head><title>Staff shuttle</title></head><body>{prose}<table>{''.join(lines)}</table></body></html>"


def _set_row(row: Sequence[str], tag: str) -> str:
    cells = (f"<{tag}>{escape(words)}</{tag}>" for words in row)
    return f"<tr>{''.join(cells)}</tr>\n"


def _make_pdf() -> bytes:
    title = TextLines(("Energy report 2024 and works of spring 2025",), size=14, bold=True)
    prose = TextLines(("Lakeside Campus was opened in January 2024. Invoices are paid within 30 days.",))
    return draw_pages([[title, prose, ENERGY, INVOICE]])
