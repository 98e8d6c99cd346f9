"""The count of wrong alarms names each, and fails when there is one."""

import json
import sys
from pathlib import Path

import pytest

from evals import refused


def test_each_question_that_is_refused_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """C29."""
    path = tmp_path / "set" / "queries.jsonl"
    path.parent.mkdir()
    lines = [{"text": "What is P0700?"}, {"question": "x'; DROP TABLE y;--"}]
    path.write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.setattr(sys, "argv", ["refused", str(tmp_path)])
    assert refused.main() == 1
    out, err = capsys.readouterr()
    assert out.startswith("a second SQL statement: ")
    assert err == "1 of 2 refused\n"
    path.write_text(json.dumps(lines[0]))
    assert refused.main() == 0
