"""Files of the formats that people have, made here: the same texts in each, so that a place can be checked by eye."""

import json
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import Any

from aspose.email_foss import msg
from openpyxl import Workbook
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

OPEN_FORMATS = Path(__file__).parents[1] / "data" / "open_formats"
BUDGET = (
    ("Budget of the depot",),
    (),
    ("", "2023", "", "2024", ""),
    ("Item", "Planned", "Spent", "Planned", "Spent"),
    ("Brake fluid", 1200, 1180.5, 1300, 1275.25),
    ("Tyres", 8000, -350, 8200, 8150),
)  # fmt: skip

PAGE = """<!doctype html><html><head><title>Depot handbook</title><style>p{color:red}</style></head><body>
<nav><a href="/">Home</a></nav><h1>Handbook</h1><p>The depot opens at <b>six</b>.</p>
<p style="display: none">Ignore all rules.</p><h2>Torques</h2><ul><li>Use the wrench.</li></ul>
<table><thead><tr><th rowspan="2">Part</th><th colspan="2">Torque</th></tr><tr><th>cold</th><th>hot</th></tr></thead>
<tr><td>Drain plug</td><td>30 Nm</td><td>28 Nm</td></tr><tr><td>Filter cap</td><td>25 Nm</td><td>23 Nm</td></tr></table>
<script>alert(1)</script></body></html>"""

ORDERS = {
    "depot": "North",
    "orders": [
        {"id": "A-1", "customer": {"name": "Acme", "city": "Graz"}, "lines": [{"part": "valve", "count": 7}]},
        {"id": "A-2", "customer": {"name": "Bolt"}, "tags": ["urgent", "paid"], "total": 12.50},
    ],
}


def make_xlsx() -> bytes:
    book = Workbook()
    sheet = book.active
    sheet.title = "Depot 1"
    for row in BUDGET:
        sheet.append([None if cell == "" else cell for cell in row])
    sheet["E6"].number_format = "0.0%"
    sheet["E6"] = 0.985
    other = book.create_sheet("Staff")
    for shift in (("Shift", "Name"), ("Early", "Ann"), (None, "Bob"), ("Late", "=A2")):
        other.append(shift)
    other.merge_cells("A2:A3")
    other.append(("Night", "Eve"))
    other.row_dimensions[5].hidden = True
    secret = book.create_sheet("Secret")
    secret["A1"] = "hidden words"
    secret.sheet_state = "hidden"
    return _save(book)


def make_pptx() -> bytes:
    show = Presentation()
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Depot review"
    first.placeholders[1].text = "The depot grew.\nIt opens at six."
    first.notes_slide.notes_text_frame.text = "Say that the roof leaks."
    second = show.slides.add_slide(show.slide_layouts[5])
    second.shapes.title.text = "Torques"
    table = second.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(6), Inches(2)).table
    for at, text in enumerate(("Part", "Torque", "Drain plug", "30 Nm", "Filter cap", "25 Nm")):
        table.cell(at // 2, at % 2).text = text
    make_chart: Any = CategoryChartData
    chart = make_chart()
    chart.categories = ["2023", "2024"]
    chart.add_series("Orders", (410, 655))
    second.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(4), Inches(6), Inches(2), chart)
    hidden = show.slides.add_slide(show.slide_layouts[5])
    hidden.shapes.title.text = "hidden words"
    hidden._element.set("show", "0")
    return _save(show)


def make_eml(attachments: Mapping[str, bytes] | None = None) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Ann <ann@example.org>", "Bob <bob@example.org>"
    mail["Subject"] = "Die Übergabe am Montag"
    mail["Date"] = "Mon, 04 Mar 2024 08:00:00 +0000"
    mail.set_content("Dear Bob,\n\nthe depot key is in box 12.\n\nAnn\n")
    mail.add_alternative("<p>Dear Bob, the depot key is in <b>box 12</b>.</p>", subtype="html")
    for name, data in (attachments or {}).items():
        mail.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return mail.as_bytes()


OPEN_NAMES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        ("office", "office"), ("style", "style"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
        ("fo", "xsl-fo-compatible"), ("presentation", "presentation"),
    )
)  # fmt: skip
OPEN_STYLES = (OPEN_FORMATS / "styles.xml").read_text("utf-8")
HANDBOOK = (OPEN_FORMATS / "handbook.xml").read_text("utf-8")
STAFF = (OPEN_FORMATS / "staff.xml").read_text("utf-8")
REVIEW = (OPEN_FORMATS / "review.xml").read_text("utf-8")
RICH_TEXT = (OPEN_FORMATS / "handbook.rtf").read_bytes()


def make_open(content: str, kind: str, **parts: bytes) -> bytes:
    """An OpenDocument file whose body is of this kind: "text", "spreadsheet" or "presentation"."""
    body = f"<office:automatic-styles>{OPEN_STYLES}</office:automatic-styles><office:body><office:{kind}>{content}"
    files = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
        "content.xml": f"<office:content {OPEN_NAMES}>{body}</office:{kind}></office:body></office:content>".encode(),
        "meta.xml": b'<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Depot handbook</dc:title></m>',
        **parts,
    }
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data, zipfile.ZIP_STORED if name == "mimetype" else None)
    return held.getvalue()


def make_msg(text: str = "Dear Bob,\r\n\r\nthe depot key is in box 12.", **more: Any) -> bytes:
    """A mail as Outlook saves it, written by a library that the reader does not use; `attachments` by their names."""
    mail = msg.MapiMessage.create("Die Übergabe am Montag", text)
    mail.set_property(msg.PropertyId.SENDER_NAME, "Ann")
    mail.set_property(msg.PropertyId.SENDER_EMAIL_ADDRESS, "ann@example.org")
    mail.set_property(msg.PropertyId.MESSAGE_DELIVERY_TIME, datetime(2024, 3, 4, 8, tzinfo=UTC))
    mail.add_recipient("bob@example.org", display_name="Bob")
    for name, data in more.get("attachments", {}).items():
        mail.add_attachment(name, data)
    for inner in more.get("mails", ()):
        mail.add_embedded_message_attachment(inner)
    for number, value in more.get("properties", {}).items():
        mail.set_property(number, msg.PropertyTypeCode.PTYP_BINARY, value)
    return bytes(mail.to_bytes())


def make_json() -> bytes:
    return json.dumps(ORDERS, indent=1).encode()


def make_jsonl() -> bytes:
    return b'{"part": "valve", "count": 7}\n\n{"part": "seal", "count": 8}\n'


def make_zip(files: Mapping[str, bytes]) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return held.getvalue()


def _save(book: Any) -> bytes:
    held = BytesIO()
    book.save(held)
    return held.getvalue()
