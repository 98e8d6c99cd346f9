"""The measures of answers say what a reader would say, on answers made by hand."""

from pathlib import Path

import pypdfium2 as pdfium  # type: ignore[import-untyped]
import pytest

from evals.answers import (
    AnswerOutcome,
    PageQuestion,
    compute_box_share,
    compute_term_recall,
    contains_quote,
    format_report,
)
from rag_core.core.model import Answer, Citation, Claim, Confidence, Span

PAGE = Path(__file__).parents[2] / "examples" / "perks-plus.pdf"


def cited(page: int, boxes: tuple[tuple[float, float, float, float], ...] = ()) -> Citation:
    return Citation("c", "d", "T", "a.pdf", "PerksPlus", 1.0, place=Span(0, 5, page, 1, 1), boxes=boxes)


def asked(number: int, *pages: int, relevant: int | None = 1, bm25: int = 2) -> AnswerOutcome:
    claims = tuple(Claim("Brakes wear.", 0, 12, "verified", (cited(page),)) for page in pages)
    confidence = Confidence(0.9 if pages else 0.0, {}, "")
    answer = Answer("Brakes wear.", "answered" if pages else "unknown", "extractive", claims, confidence, ())
    wanted = frozenset() if relevant is None else frozenset({f"a.pdf#page={relevant}"})
    return AnswerOutcome(
        PageQuestion(f"q{number}", "?", wanted, "brakes rust", ("brakes  WEAR",)), answer, f"a.pdf#page={bm25}", ()
    )


def test_a_report_counts_pages_refusals_and_strings_in_each_half() -> None:
    rows = dict(
        line.strip("| ").split(" | ", 1)
        for line in format_report(
            [asked(0, 1, 2), asked(1, 2, 1), asked(2, relevant=None), asked(4, 3, relevant=None)]
        ).split("\n")
        if line.count(" | ") == 3
    )
    assert rows["first page cited is right"] == "0.500 (n = 2) | 1.000 (n = 1) | 0.000 (n = 1)"
    assert rows["a page cited is right"] == "1.000 (n = 2) | 1.000 (n = 1) | 1.000 (n = 1)"
    assert rows["BM25's first page is right"] == "0.000 (n = 2) | 0.000 (n = 1) | 0.000 (n = 1)"
    assert rows["unanswerable refused"] == "0.500 (n = 2) | 0.500 (n = 2) | -"
    assert rows["a gold string stands in the answer"] == "1.000 (n = 2) | 1.000 (n = 1) | 1.000 (n = 1)"
    assert rows["a page cited is right, minus BM25"].startswith("+1.000 ")
    assert rows["0.85 to 0.95"] == "3 | 0.90 | 0.67"


def test_recall_counts_terms_and_a_string_is_found_whatever_its_spaces() -> None:
    assert compute_term_recall("brakes rust", "Brakes wear.") == pytest.approx(0.5)
    assert contains_quote("500 million", "digitize 500\nMillion pages")
    assert not contains_quote("500 million", "500 thousand million")


def test_a_box_has_the_words_only_where_they_stand() -> None:
    document = pdfium.PdfDocument(PAGE)
    width, height = document[0].get_size()
    assert compute_box_share(cited(1, ((0, 0, width, height),)), document) == 1.0
    assert compute_box_share(cited(1, ((0, height - 2, 2, height),)), document) == 0.0
    document.close()
