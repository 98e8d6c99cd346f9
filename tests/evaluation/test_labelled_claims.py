"""`rag eval claims` and `rag eval answers`: labelled claims and answers go the way of any other."""

import json
from pathlib import Path
from typing import Any

import pytest

from rag_core.cli import main
from rag_core.core.errors import Misconfigured
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Judgement
from rag_core.evaluation import labelled_answers, labelled_claims
from rag_core.providers.null_models import NoEmbedder
from rag_core.stores.embedded import EmbeddedStore
from tests.fakes import OverlapReranker, ScriptedLLM

PASSAGE = "The signing keys are rotated every 90 days by the platform team."
CLAIMS = [
    {"claim": PASSAGE, "label": "supported", "kind": "copied", "evidence": [PASSAGE]},
    {"claim": "An interval of 90 days applies.", "label": "supported", "kind": "own words", "evidence": [PASSAGE]},
    {"claim": PASSAGE.replace("90", "30"), "label": "contradicted", "kind": "number", "evidence": [PASSAGE]},
]
ANSWERS = [
    {
        "question": "How often are the signing keys rotated?",
        "evidence": [PASSAGE],
        "answer": f"{said} [1]",
        "right": right,
        "style": "plain",
    }
    for said, right in ((PASSAGE, True), (PASSAGE.replace("90", "30"), False))
]


class YesJudge:
    """Calls every claim supported, by the first passage."""

    name, is_multilingual = "yes", True

    async def judge_claims(self, claims: Any) -> list[Judgement | None]:
        return [Judgement("supported", 0.9, 0, claim.passages[0], judge=self.name) for claim in claims]


def kit(judge: Any = None) -> Kit:
    return Kit(Index(EmbeddedStore(None), NoEmbedder("none")), ScriptedLLM(), OverlapReranker(), judge=judge)


def write(folder: Path, rows: list[Any]) -> Path:
    file = folder / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file


async def test_findings_are_counted_by_label_and_kind_and_a_fact_overrules_the_judge(tmp_path: Path) -> None:
    claims = labelled_claims.load_labelled_claims(write(tmp_path, CLAIMS))
    judged = await labelled_claims.judge_labelled_claims(claims, kit(YesJudge()))
    report = labelled_claims.format_findings(claims, judged)
    assert "| supported: own words | 1 | 1 | 0 | 0 | 0 |" in report
    assert "| contradicted: number | 1 | 0 | 0 | 0 | 1 |" in report
    assert "| true | 2 | 2 |" in report
    assert labelled_claims.compute_support_auc(claims, judged) == 1.0
    assert labelled_claims.list_misjudged_claims(claims, judged, "all") == []


async def test_without_a_judge_the_claim_in_own_words_is_listed_as_misjudged(tmp_path: Path) -> None:
    claims = labelled_claims.load_labelled_claims(write(tmp_path, CLAIMS))
    judged = await labelled_claims.judge_labelled_claims(claims, kit())
    assert [one.kind for one, _ in labelled_claims.list_misjudged_claims(claims, judged, "all")] == ["own words"]
    assert labelled_claims.list_misjudged_claims(claims, judged, "number") == []
    assert labelled_claims.list_misjudged_claims(claims, judged, None) == []


async def test_a_right_answer_is_kept_and_a_wrong_one_is_replaced_and_has_no_confidence(tmp_path: Path) -> None:
    answers = labelled_answers.load_labelled_answers(write(tmp_path, ANSWERS))
    right, wrong = await labelled_answers.give_labelled_answers(answers, kit())
    assert (right.kept, wrong.kept, wrong.confidence) == (True, False, 0.0)
    report = labelled_answers.format_answer_report([right, wrong])
    assert "2 answers, AUC 1.000" in report


@pytest.mark.parametrize(
    "row", [{"claim": "x"}, {**CLAIMS[0], "label": "true"}, {**CLAIMS[0], "evidence": 5}, "no object"]
)
def test_a_malformed_claim_is_named_with_what_would_be_right(row: Any, tmp_path: Path) -> None:
    file = write(tmp_path, [row])
    with pytest.raises(Misconfigured, match=r"rows\.jsonl(:| is no file of labelled claims)"):
        labelled_claims.load_labelled_claims(file)


@pytest.mark.parametrize("row", [{"answer": "x"}, {**ANSWERS[0], "right": "yes"}])
def test_a_malformed_answer_is_named_with_what_would_be_right(row: Any, tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"rows\.jsonl is no file of labelled answers"):
        labelled_answers.load_labelled_answers(write(tmp_path, [row]))


def test_the_commands_print_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "claims", str(write(tmp_path, CLAIMS)), "--show", "all"]) == 0
    assert "| contradicted: number | 1 | 0 | 0 | 0 | 1 |" in capsys.readouterr().out
    assert main(["eval", "answers", str(write(tmp_path, ANSWERS))]) == 0
    assert "2 answers, AUC 1.000" in capsys.readouterr().out
    assert main(["eval", "claims", str(tmp_path / "none.jsonl")]) != 0
