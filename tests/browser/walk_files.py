"""The files of the newcomer's walk: what a small ferry company has, one file of each format that people have."""

import json
from collections.abc import Iterator
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

from tests.ingestion.documents import docx
from tests.ingestion.office_files import make_zip
from tests.ingestion.pdf_files import lines, pdf, text
from tests.ingestion.pictures import make_picture

MANUAL = (
    (
        "Larkfield Ferries: Deck Manual",
        "This manual is kept on the bridge of each ferry and read by every new deckhand.",
        "It covers mooring, life jackets, the engine room and what to do in fog.",
    ),
    (
        "1 Mooring",
        "Two lines are put out at the bow and two at the stern before the ramp is lowered.",
        "The ramp is lowered only when the wind is below 17 metres per second.",
        "A line that shows more than three broken strands is taken out of use the same day.",
    ),
    (
        "2 Life jackets",
        "Each ferry carries 420 life jackets for adults and 60 for children.",
        "Life jackets are counted every Monday by the first mate, who signs the list.",
        "3 Fog",
        "In fog the ferry sounds one long blast every two minutes and sails at half speed.",
        "When visibility is below 200 metres the captain may cancel the crossing.",
    ),
)
FARES = (
    ("Ticket", "Adult", "Child", "Car"),
    ("Single", 12.5, 6, 38),
    ("Return", 22, 11, 70),
    ("Ten crossings", 95, 47.5, 310),
)
HANDBOOK = """<!doctype html><html><head><title>Passenger handbook</title></head><body>
<h1>Passenger handbook</h1><h2>Pets</h2><p>Dogs travel free of charge and are kept on a lead on all decks.</p>
<h2>Luggage</h2><p>Each passenger may bring two pieces of luggage of up to 23 kilograms.</p></body></html>"""
POLICY = (
    ("Refund policy", ()),
    ("A ticket is refunded in full when the crossing is cancelled by the company.", ()),
    ("A passenger who cancels at least 48 hours before departure gets 80 percent of the fare back.", ()),
    ("", (("Cancelled", "Refund"), ("48 hours before", "80 percent"), ("Later", "none"))),
)
CHECKS = ("Fire pump", "Bilge alarm", "Winch brake", "Radar", "Life raft", "Anchor chain")
NOTICE = (
    "Notice to passengers",
    "The bakery on the upper deck opens at 6:30 from June on.",
    "The terrace deck is closed when the wind is above 12 metres per second.",
)
ROTA = "Crew rota for May.\nAnna Lindqvist takes over the training of deckhands from Tom Barrow on 18 May.\n"
VESSELS = {
    "fleet": [
        {"name": "Heron", "built": 1998, "cars": 84, "home": "Larkfield"},
        {"name": "Curlew", "built": 2011, "cars": 120, "home": "Portmere"},
    ]
}
EVENTS = (
    "engine temperature normal",
    "ramp sensor E041 reported a fault",
    "bilge pump ran for 3 minutes",
    "radar reset",
)


def write_walk_files(folder: Path) -> list[Path]:
    """Write the ten files, some of them in a folder below, and return their paths."""
    files = {
        "deck-manual.pdf": pdf(*map(_write_page, (*MANUAL, *_list_checks())), title="Deck manual"),
        "office/refund-policy.docx": docx("".join(_write_paragraph(*part) for part in POLICY)),
        "office/fares.xlsx": _make_fares(),
        "office/safety-briefing.pptx": _make_briefing(),
        "web/passenger-handbook.html": HANDBOOK.encode(),
        "mail/dock.eml": _make_mail(),
        "data/engine-log.csv": _make_log().encode(),
        "data/vessels.json": json.dumps(VESSELS, indent=1).encode(),
        "notices/upper-deck.png": make_picture(*NOTICE),
        "archive/leaflets.zip": make_zip(
            {
                "parking.txt": b"The car park at Larkfield has 310 spaces and costs 9 euros a day.",
                "groups.txt": b"Groups of 15 or more get a discount of 20 percent on all tickets.",
            }
        ),
    }
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return [folder / name for name in files]


def _list_checks() -> Iterator[tuple[str, ...]]:
    """Yield a page for each check of each deck, so that the manual has more pages than one reads at once."""
    for deck in ("car deck", "lower deck", "upper deck"):
        for number, name in enumerate(CHECKS, start=1):
            yield (
                f"{name} of the {deck}",
                f"The {name.lower()} of the {deck} is tested every {number + 1} weeks by the engineer on duty.",
                f"A fault of the {name.lower()} is written into the log of the {deck} within {10 * number} minutes.",
            )


def _write_page(said: tuple[str, ...]) -> bytes:
    head, *rest = said
    return text(head, y=770, size=18, font="B") + lines(*rest, y=735, step=20)


def _write_paragraph(said: str, rows: tuple[tuple[str, ...], ...]) -> str:
    if not rows:
        return f"<w:p><w:r><w:t>{said}</w:t></w:r></w:p>"
    cells = ("".join(f"<w:tc>{_write_paragraph(cell, ())}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def _make_fares() -> bytes:
    book = Workbook()
    sheet = book.active
    sheet.title = "Fares 2026"
    for row in FARES:
        sheet.append(row)
    return _save(book)


def _make_briefing() -> bytes:
    show = Presentation()
    for title, said in (
        ("Safety briefing", "Seven short blasts and one long blast mean: go to the muster station."),
        ("Muster stations", "Station A is on the car deck, station B at the cafeteria."),
    ):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = said
        slide.placeholders[1].width = Inches(8)
    return _save(show)


def _make_mail() -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Dock office <dock@example.org>", "Larkfield Ferries <office@example.org>"
    mail["Subject"], mail["Date"] = "Berth for the Heron", "Mon, 04 May 2026 08:00:00 +0000"
    mail.set_content("Dear all,\n\nberth 7 is reserved for the Heron. The deposit is 18,400 euros, due on 1 July.\n")
    mail.add_attachment(ROTA.encode(), maintype="text", subtype="plain", filename="rota.txt")
    return mail.as_bytes()


def _make_log() -> str:
    rows = (
        f"2026-04-{1 + n // 20:02d} {n % 24:02d}:00,{'Heron' if n % 2 else 'Curlew'},{EVENTS[n % len(EVENTS)]}"
        for n in range(400)
    )
    return "\n".join(("time,vessel,event", *rows))


def _save(book: Any) -> bytes:
    held = BytesIO()
    book.save(held)
    return held.getvalue()
