"""The scores of redaction are counted as they are said to be, and hold on the committed part of the data."""

import gzip
import json
from pathlib import Path

import pytest

from evals import pii
from evals.pii import PiiCounts, PiiText, count_by_type, is_covered, is_tuned_on, load_pii_texts
from rag_core.core.model import PiiSpan
from rag_core.guard.redaction import PII_TYPES, RuleBasedRedactor

DATA = Path(__file__).parents[1] / "data" / "pii"


def test_a_span_is_covered_when_no_letter_of_it_can_be_read() -> None:
    gold = PiiSpan(0, 9, "SSN")
    assert is_covered("123-45-67", gold, [PiiSpan(0, 3, "A"), PiiSpan(4, 9, "B")])
    assert not is_covered("123-45-67", gold, [PiiSpan(0, 3, "A"), PiiSpan(5, 9, "B")])


class Fixed:
    name = "fixed"

    def find_pii_spans(self, text: str) -> list[PiiSpan]:
        return [PiiSpan(0, 3, "SSN"), PiiSpan(4, 7, "PHONE"), PiiSpan(8, 9, "IP")]


def test_recall_and_precision_are_those_worked_out_by_hand() -> None:
    """The SSN is right, the phone is an e-mail address, and the IP stands where nothing is labelled."""
    text = PiiText("aaa bbb c ddd", (PiiSpan(0, 3, "SSN"), PiiSpan(4, 7, "EMAIL"), PiiSpan(10, 13, "IBAN")), 1)
    found = {row.type: row for row in count_by_type([text], Fixed())}
    assert found["SSN"] == PiiCounts("SSN", 1, 1, 1, 1, 1, 0)
    assert found["EMAIL"] == PiiCounts("EMAIL", 1, 1, 0, 0, 0, 0)
    assert found["PHONE"] == PiiCounts("PHONE", 0, 0, 0, 1, 0, 0)
    assert found["structured"] == PiiCounts("structured", 3, 2, 1, 3, 1, 1)
    assert "| structured | 3 | 2 | 0.667 | 0.333 | 3 | 0.333 | 1 |" in pii.format_pii_table([*found.values()])


def test_texts_of_templates_that_the_rules_were_not_made_with_are_covered_as_reported() -> None:
    """S4-01, S4-29, C30: docs/reference/evaluation-answers.md has the whole."""
    held_out = [text for text in load_pii_texts(DATA) if not is_tuned_on(text.template)]
    found = {row.type: row for row in count_by_type(held_out, RuleBasedRedactor(PII_TYPES))}
    structured = found["structured"]
    assert structured.gold >= 25
    assert structured.covered / structured.gold >= 0.9
    assert structured.right / structured.ours >= 0.98
    assert found["PERSON"].right / found["PERSON"].ours >= 0.85


def test_misses_are_shown_and_what_tells_of_nobody_is_counted(tmp_path: Path) -> None:
    text = PiiText("aaa bbb c ddd", (PiiSpan(10, 13, "IBAN"),), 1)
    assert "missed IBAN ' bbb c ' <'ddd'> ''".replace("' bbb", "'aaa bbb") in [*pii.find_misses([text], Fixed())]
    with gzip.open(tmp_path / "a.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.write(json.dumps({"id": 1, "text": "mail a@example.com"}))
    assert "EMAIL 1: a@example.com" in pii.report_false_alarms(tmp_path, RuleBasedRedactor())


def test_the_data_are_what_the_readme_says() -> None:
    texts = load_pii_texts(DATA)
    assert len(texts) == 312
    assert {is_tuned_on(text.template) for text in texts} == {True, False}
    with pytest.raises(FileNotFoundError):
        load_pii_texts(DATA / "elsewhere")
