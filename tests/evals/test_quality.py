"""What is kept of `rag eval run` and `rag eval ablate`, for the pictures."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from evals import quality
from rag_core.evaluation.evaluation_report import EvaluationReport, EvaluationRow
from rag_core.evaluation.model_usage import ModelUsage


def test_every_set_keeps_its_rows_with_the_interval_of_each_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {str(i): {"ndcg@10": float(i % 2)} for i in range(40)}
    report = EvaluationReport("tiny", 2, 3, (EvaluationRow("words", scores, (1.0, 2.0), (1.0, 1.0), ModelUsage(), {}),))
    monkeypatch.setattr(quality.pipeline_evaluation, "evaluate_pipelines", lambda folder, **how: report)
    found = quality.evaluate_sets(Path("data"))
    assert list(found) == [Path(name).name for name in quality.SETS]
    (row,) = found["dtc"]["rows"]
    low, high = row["interval"]
    assert (row["pipeline"], row["ndcg@10"], row["n"]) == ("words", 0.5, 40)
    assert 0.3 < low < 0.5 < high < 0.7


def test_every_set_keeps_what_ablate_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, object]] = []

    def tried(folder: Path, ways: object, base: str, **how: object) -> SimpleNamespace:
        asked.append((str(folder), base, how))
        return SimpleNamespace(to_json=lambda: {"set": folder.name})

    monkeypatch.setattr(quality, "compare_presets", tried)
    assert quality.ablate_sets(Path("data"))["contoso"] == {"set": "contoso"}
    assert ("data/pdf/contoso", "hybrid", {"max_questions": 100, "half": "second"}) in asked
