"""What azd runs on its way (infra/hooks.py): it waits for roles, and never takes a failure for success."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.faults.server import failing, reply

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("infra_hooks", ROOT / "infra" / "hooks.py")
assert _spec
assert _spec.loader
hooks: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hooks)


class Rag:
    """A `rag` whose commands end with these codes, one after another; `setup` may be refused for a while."""

    def __init__(self, *codes: int) -> None:
        self.codes, self.said, self.waited = list(codes), list[tuple[str, ...]](), list[float]()

    def __call__(self, *words: str) -> int:
        self.said.append(words)
        return self.codes.pop(0)


def test_azd_runs_each_hook_that_there_is() -> None:
    said = yaml.safe_load((ROOT / "azure.yaml").read_text("utf-8"))["hooks"]
    assert set(said) == {"postprovision", "postdeploy", "predown"}
    for name, systems in said.items():
        for run in (systems["posix"]["run"], systems["windows"]["run"]):
            assert run.replace("\\", "/").endswith(f"python infra/hooks.py {name}")


def test_the_index_is_made_once_the_roles_are_known_and_then_all_is_checked() -> None:
    rag = Rag(2, 2, 0, 0)
    assert hooks.set_up_store(rag, rag.waited.append) == 0
    assert rag.said == [("setup",)] * 3 + [("doctor", "--live")]
    assert rag.waited == [hooks.PAUSE_S] * 2


def test_a_role_of_the_models_that_is_known_later_is_waited_for_and_the_index_is_not_made_again() -> None:
    rag = Rag(0, 1, 0)
    assert hooks.set_up_store(rag, rag.waited.append) == 0
    assert rag.said == [("setup",), ("doctor", "--live"), ("doctor", "--live")]
    assert rag.waited == [hooks.PAUSE_S]


def test_a_check_that_goes_on_failing_fails_the_hook(capsys: pytest.CaptureFixture[str]) -> None:
    rag = Rag(0, *[1] * hooks.TRIES)
    assert hooks.set_up_store(rag, rag.waited.append) == 1
    assert rag.codes == []
    assert "rag doctor failed. Mend what it names" in capsys.readouterr().out


def test_an_index_that_cannot_be_made_fails_the_hook(capsys: pytest.CaptureFixture[str]) -> None:
    rag = Rag(*[2] * hooks.TRIES)
    assert hooks.set_up_store(rag, rag.waited.append) == 1
    assert len(rag.waited) == hooks.TRIES - 1
    assert "rag setup failed. Mend what it names" in capsys.readouterr().out


def test_with_postgres_the_administrator_comes_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSTGRES_ADDRESS", "psql.example:5432/rag")
    assert hooks.set_up_store(Rag()) == 0
    assert "statements of its administrator" in capsys.readouterr().out


def test_the_health_of_the_app_is_asked_until_it_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with failing(reply(503, {"success": False}), reply(200, {"success": True})) as app:
        monkeypatch.setenv("RAG_FUNCTIONS_URL", app.url)
        assert hooks.check_health(lambda _: None) == 0
    assert len(app.requests) == 2
    assert '"success": true' in capsys.readouterr().out
    with failing(reply(503, {"success": False})) as app:
        monkeypatch.setenv("RAG_FUNCTIONS_URL", app.url)
        assert hooks.check_health(lambda _: None) == 1
    assert "does not answer: HTTP Error 503" in capsys.readouterr().out


def test_a_postgres_that_has_yet_to_admit_the_app_does_not_fail_the_deployment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The statements of the administrator need a server that is there, so that the first `azd up` comes before them."""
    monkeypatch.setenv("POSTGRES_ADDRESS", "psql.example:5432/rag")
    for status, ended in ((503, 0), (500, 1)):
        with failing(reply(status, {"success": False})) as app:
            monkeypatch.setenv("RAG_FUNCTIONS_URL", app.url)
            assert hooks.check_health(lambda _: None) == ended
    told = capsys.readouterr().out
    assert "its store does not answer it yet" in told
    assert "statements of its administrator" in told


def test_before_deletion_it_is_said_what_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    assert hooks.main("predown") == 0
    assert "every indexed document" in capsys.readouterr().out
    assert hooks.main("another") == 2
