"""Where `rag serve` finds the Functions app."""

import sys
from pathlib import Path

import pytest

from rag_core.cli import app_root


def test_a_checkout_serves_the_app_beside_rag_core() -> None:
    assert app_root.add_app_root_to_path() == Path(__file__).parents[2]


def test_an_installed_package_serves_the_app_inside_it_before_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package of another project that is called `functions` must not be served in its place."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    inside = tmp_path / "rag_core" / "_app"
    inside.mkdir(parents=True)
    for _ in range(2):
        assert app_root.add_app_root_to_path(tmp_path / "rag_core") == inside
    assert sys.path == [str(inside), str(tmp_path)]
