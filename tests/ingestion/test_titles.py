"""A title tells a document from others of its kind, by its cover where its heading is the same for all of them."""

import pytest

from rag_core.core.model import Block, Extraction
from rag_core.ingestion.titles import choose_title
from rag_core.ingestion.upload import Upload


def read(*blocks: tuple[str, str], title: str = "") -> Extraction:
    placed = [Block(text, kind, n, n, 1) for n, (kind, text) in enumerate(blocks, start=1)]
    return Extraction(tuple(placed), 1, "pdf", (), title)


FORM = read(
    ("heading", "MINISTRY OF COMMERCE AND TRADE"),
    ("paragraph", "For the fiscal year ended January 28, 2023"),
    ("heading", "ACME WIDGETS, INC."),
    ("paragraph", "(Exact name of registrant)"),
    title="MINISTRY OF COMMERCE AND TRADE FORM 20-B",
)


def test_the_title_of_a_form_names_the_organization_and_the_period_of_its_cover() -> None:
    assert choose_title(Upload(), FORM, "x.pdf") == "ACME WIDGETS, INC.: FORM 20-B, fiscal year ended January 28, 2023"


def test_the_name_with_a_caption_comes_before_that_of_the_exchange() -> None:
    cover = read(
        ("paragraph", "Listed on The Oak Exchange LLC, audited by Quill Ltd"),
        ("heading", "elmStreet & Co."),
        ("paragraph", "(Exact name of registrant as specified in its charter)"),
        ("paragraph", "Year ended May 31, 2021"),
        title="MINISTRY OF COMMERCE AND TRADE FORM 20-B",
    )
    assert choose_title(Upload(), cover, "x.pdf") == "elmStreet & Co.: FORM 20-B, Year ended May 31, 2021"


def test_a_period_has_the_name_that_the_document_gives_it() -> None:
    named = read(*((b.kind, b.text) for b in FORM.blocks), ("paragraph", "Fiscal 2022 ended January 28, 2023."))
    assert choose_title(Upload(), named, "x.pdf").endswith(", fiscal 2022 (fiscal year ended January 28, 2023)")


def test_a_period_has_the_name_that_the_document_uses_most() -> None:
    used = read(*((b.kind, b.text) for b in FORM.blocks), ("paragraph", "In fiscal 2022 we grew. " * 5))
    assert choose_title(Upload(), used, "x.pdf").endswith(", fiscal 2022 (fiscal year ended January 28, 2023)")


@pytest.mark.parametrize(
    ("stated", "period"),
    [
        ("For the fiscal year ended: | January 28,\n2023", "fiscal year ended January 28, 2023"),
        ("Date of report (first event):\n4 May 2023", "4 May 2023"),
    ],
)
def test_a_form_without_a_plain_period_has_what_its_cover_says(stated: str, period: str) -> None:
    cover = (("paragraph", stated), ("paragraph", "Acme Widgets, Inc. (Exact name of registrant)"))
    assert choose_title(Upload(), read(*cover, title="FORM 9-Z"), "x.pdf") == f"Acme Widgets, Inc.: FORM 9-Z, {period}"


def test_a_notice_is_passed_over_for_the_next_heading() -> None:
    release = read(
        ("heading", "FOR IMMEDIATE RELEASE"),
        ("heading", "Results of the second half"),
        ("paragraph", "LYON -- Étoile Optique S.A. today reported results for the six months ended June 30, 2023."),
    )
    expected = "Étoile Optique S.A.: Results of the second half, six months ended June 30, 2023"
    assert choose_title(Upload(), release, "release.docx") == expected


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Gearbox manual", "Drain the oil before you remove the cover.", "Gearbox manual"),
        ("Acme Widgets policy 2023", "Acme Widgets, Inc. Year ended May 31, 2021", "Acme Widgets policy 2023"),
        ("Form 20-B of Acme Widgets filed 04/25/2023", "Acme Widgets, Inc.\nYear ended May 31, 2021",
         "Form 20-B of Acme Widgets filed 04/25/2023, Year ended May 31, 2021"),
        ("", "A note without a heading.", "note"),
    ],
)  # fmt: skip
def test_a_title_that_says_these_itself_is_left_as_it_is(title: str, text: str, expected: str) -> None:
    assert choose_title(Upload(), read(("paragraph", text), title=title), "folder/note.pdf") == expected


def test_a_given_title_is_kept() -> None:
    assert choose_title(Upload(title=" My title "), FORM, "x.pdf") == "My title"


def test_what_stands_behind_the_first_page_is_no_cover() -> None:
    blocks = (Block("Annual review", "heading", 1, 1, 1), Block("Acme Widgets, Inc.", "paragraph", 2, 2, 2))
    assert choose_title(Upload(), Extraction(blocks, 2, "pdf"), "x.pdf") == "Annual review"


def test_an_archive_has_the_name_of_its_file() -> None:
    """A citation of one of its files must not be shown under the heading of another."""
    files = read(("heading", "# Visit to Acme"), ("heading", "Trade fair"))
    archive = Extraction(files.blocks, 2, "zip")
    assert choose_title(Upload(), archive, "/home/me/archive-2024.zip") == "archive-2024"


def test_a_company_in_a_table_of_markdown_does_not_come_into_the_title() -> None:
    rows = read(
        ("heading", "# Examples"), ("table", "| file | licence |\n| --- | --- |\n| a.pdf | © Acme Corporation |")
    )
    assert choose_title(Upload(), rows, "README.md") == "Examples"
