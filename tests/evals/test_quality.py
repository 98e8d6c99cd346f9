"""What is kept of `rag eval run` and `rag eval ablate`, for the pictures."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from evals import quality
from rag_core.evaluation.bill import Bill
from rag_core.evaluation.retrieval import Report, Row


def test_every_set_keeps_its_rows_with_the_interval_of_each_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {str(i): {"ndcg@10": float(i % 2)} for i in range(40)}
    report = Report("tiny", 2, 3, (Row("words", scores, (1.0, 2.0), Bill(), {}),))
    monkeypatch.setattr(quality.retrieval, "run", lambda folder, **how: report)
    found = quality.quality(Path("data"))
    assert list(found) == [Path(name).name for name in quality.SETS]
    (row,) = found["dtc"]["rows"]
    low, high = row["interval"]
    assert (row["pipeline"], row["ndcg@10"], row["n"]) == ("words", 0.5, 40)
    assert 0.3 < low < 0.5 < high < 0.7


def test_every_set_keeps_what_ablate_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, object]] = []

    def tried(folder: Path, ways: object, base: str, **how: object) -> SimpleNamespace:
        asked.append((str(folder), base, how))
        return SimpleNamespace(json=lambda: {"set": folder.name})

    monkeypatch.setattr(quality, "tried", tried)
    assert quality.stages(Path("data"))["contoso"] == {"set": "contoso"}
    assert ("data/pdf/contoso", "hybrid", {"queries": 100, "half": "second"}) in asked
