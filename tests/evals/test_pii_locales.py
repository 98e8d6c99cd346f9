"""The scores of twelve locales are counted as they are said to be, and hold on the half that was held out."""

import pytest

from evals import pii_locales
from evals.pii_locales import LabelledText, Score, count_scores, read_labelled_texts
from rag_core.core.model import PiiSpan
from rag_core.guard.redaction import RuleBasedRedactor


class FixedRedactor:
    name = "fixed"

    def find_pii_spans(self, text: str) -> list[PiiSpan]:
        return [PiiSpan(0, 3, "SSN"), PiiSpan(4, 7, "PHONE"), PiiSpan(8, 9, "PERSON")]


def test_recall_precision_and_f2_are_those_worked_out_by_hand() -> None:
    gold = (PiiSpan(0, 3, "SSN"), PiiSpan(4, 7, "EMAIL"), PiiSpan(10, 13, "IBAN"))
    scores = count_scores([LabelledText("de-p01", "de", "aaa bbb c ddd", gold, held_out=True)], FixedRedactor())
    assert scores["SSN"] == Score(1, 1, 1, 1)
    assert scores["EMAIL"] == Score(1, 1, 0, 0)
    assert scores["structured"] == Score(3, 2, 2, 1)
    assert scores["all"] == scores["de"] == Score(3, 2, 3, 1)
    assert scores["all"].f2 == pytest.approx(5 * (1 / 3) * (2 / 3) / (4 / 3 + 2 / 3))
    assert (Score().recall, Score().precision, Score(1, 0, 1, 0).f2) == (1, 1, 0)


def test_labels_are_read_where_the_value_has_brackets_of_its_own() -> None:
    text = next(text for text in read_labelled_texts() if text.id == "en-US-p05")
    assert [text.text[span.start : span.end] for span in text.gold] == ["helen[at]riverbank[dot]org"]


def test_the_texts_are_what_the_readme_says() -> None:
    texts = read_labelled_texts()
    assert len(texts) == len({text.id for text in texts}) == 805
    assert len([text for text in texts if not text.gold]) == 268
    assert sum(len(text.gold) for text in texts) == 581
    assert len({text.locale for text in texts}) == 12


def test_the_half_that_was_held_out_is_found_as_reported() -> None:
    """S4-01, S4-29: docs/reference/evaluation-answers.md has the table."""
    scores = count_scores([text for text in read_labelled_texts() if text.held_out], RuleBasedRedactor())
    assert scores["structured"].recall >= 0.985
    assert scores["structured"].precision >= 0.98
    assert scores["all"].f2 >= 0.95
    assert min(scores[locale].f2 for locale in scores if not locale.isupper()) >= 0.9


def test_forms_that_nobody_foresaw_are_found_as_reported() -> None:
    """S4-29: the half of which nothing but the scores was looked at, once."""
    texts = read_labelled_texts(pii_locales.UNFORESEEN)
    scores = count_scores([text for text in texts if text.held_out], RuleBasedRedactor())
    assert (len(texts), sum(len(text.gold) for text in texts)) == (263, 156)
    assert scores["structured"].recall >= 0.89
    assert scores["structured"].precision >= 0.93
    assert scores["all"].f2 >= 0.87


def test_errors_are_shown_with_their_texts() -> None:
    text = LabelledText("de-p01", "de", "aaa bbb c ddd", (PiiSpan(10, 13, "IBAN"),), held_out=False)
    assert "de-p01 missed IBAN 'ddd' in 'aaa bbb c ddd'" in [*pii_locales.find_errors([text], FixedRedactor())]
    assert "| all | 1 | 0.000 | 0.000 | 0.000 |" in pii_locales.format_scores([text], FixedRedactor())
