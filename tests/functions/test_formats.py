"""Files of each format over HTTP: indexed, cited, and the citation names the place in the words of the format."""

import base64
from collections.abc import Iterator
from dataclasses import replace

import pytest
from werkzeug.test import Client

import function_app
from local_emulator.host import Host
from rag_core.core.settings import Settings
from rag_core.ingestion.extract.tesseract import find_tesseract
from tests.ingestion import office_files as made
from tests.ingestion.pictures import SIZE, make_picture

ZIPPED = {"d/b.pptx": made.make_pptx(), "n.txt": b"Hello.\n\nThe gate code is 4711."}
PLACES = [
    ("a.xlsx", made.make_xlsx(), "Item: Brake fluid. 2024 Spent: 1275.25.", "'Depot 1'!A5:E5", 1),
    ("a.pptx", made.make_pptx(), "The depot grew.", "slide 1", 1),
    ("b.pptx", made.make_pptx(), "Filter cap 25 Nm", "slide 2, table 1, row 3", 2),
    ("a.html", made.PAGE.encode(), "The depot opens at six.", "paragraph 2", None),
    ("a.eml", made.make_eml(), "The depot key is in box 12.", "text, paragraph 2", 1),
    ("b.eml", made.make_eml({"n.txt": b"The roof leaks."}), "The roof leaks.", "n.txt, line 1", 2),
    ("a.json", made.make_json(), "id: A-2. total: 12.5.", "#/orders/1", None),
    ("a.jsonl", made.make_jsonl(), "part: seal. count: 8.", "", None),
    ("a.odt", made.make_open(made.HANDBOOK, "text"), "Drain plug 30 Nm", "table 1, row 2", None),
    ("a.ods", made.make_open(made.STAFF, "spreadsheet"), "Shift: Early. Share: 98.5%.", "'Depot 1'!A20002:C20002", 1),
    ("a.odp", made.make_open(made.REVIEW, "presentation"), "It opens at six.", "slide 1", 1),
    ("a.rtf", made.RICH_TEXT, "Use the wrench.", "paragraph 6", None),
    ("a.msg", made.make_msg(), "The depot key is in box 12.", "text, paragraph 2", 1),
    ("a.zip", made.make_zip(ZIPPED), "The gate code is 4711.", "n.txt, line 3", 4),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    settings = replace(Settings(data_dir=None), models_dir=tmp_path_factory.mktemp("no-models"))
    host = Host(function_app.build_app(lambda: settings))
    yield Client(host)
    host.close()


@pytest.mark.parametrize(("name", "data", "claim", "locator", "page"), PLACES, ids=[entry[0] for entry in PLACES])
def test_a_citation_names_the_place(
    client: Client, name: str, data: bytes, claim: str, locator: str, page: int | None
) -> None:
    workflow = name.replace(".", "-")
    upload = {"content_base64": base64.b64encode(data).decode(), "filename": name, "workflow_id": workflow}
    assert client.post("/api/index_document", json=upload).status_code == 200
    reply = client.post("/api/extract_citations", json={"text": claim, "workflow_id": workflow}).get_json()
    found = [cited for said in reply["claims"] for cited in said["citations"]]
    assert (locator, page) in [(cited["locator"], cited["page"]) for cited in found], reply["claims"]
    if not locator:
        assert found[0]["lines"] == [3, 3]


@pytest.mark.skipif(find_tesseract() is None, reason="needs tesseract: apt install tesseract-ocr")
def test_a_citation_of_a_picture_has_a_box_on_the_page_that_is_drawn(client: Client) -> None:
    """Recognised on this machine, said to be so, and shown where it stands."""
    data = base64.b64encode(make_picture("Drain plug torque 30 Nm", "Filter cap torque 25 Nm")).decode()
    upload = {"content_base64": data, "filename": "a.png", "workflow_id": "pictures", "document_id": "plate"}
    indexed = client.post("/api/index_document", json=upload).get_json()
    assert "recognised in a picture by tesseract" in indexed["warnings"][0]["message"]
    assert indexed["usage"]["layout_pages"] == 0
    reply = client.post(
        "/api/extract_citations", json={"text": "Filter cap torque 25 Nm", "workflow_id": "pictures"}
    ).get_json()
    [cited] = reply["claims"][0]["citations"]
    x0, y0, x1, y1 = cited["boxes"][0]
    assert (cited["page"], 110 < x0 < 130, 270 < y0 < 295, 440 < x1 < 510, 300 < y1 < 340) == (1, *[True] * 4)
    asked = {"document_id": "plate", "page": 1, "workflow_id": "pictures"}
    drawn = client.post("/api/document_page", json=asked).get_json()
    assert (drawn["width"], drawn["height"], drawn["pages"]) == (*SIZE, 1)
