"""A budget is spent on emulated models whose tokens count at list prices: what each door says of it."""

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from local_emulator.azure import describe_prices, serve_azure_services
from local_emulator.host import run_service
from rag_core.cli import main
from rag_core.core import settings
from rag_core.core.errors import Misconfigured
from rag_core.core.hosted_models import DEFAULT_CHAT_MODEL
from rag_core.core.settings import Settings
from tests.functions.deployed import VARIABLES

BUDGET_USD = 0.04  # of three calls the first costs at most 0.031 USD
ROWS = ("text\n" + "\n".join(f"Valve {n} of Acme Ltd is tight at {n + 10} bar." for n in range(30))).encode()


@pytest.fixture(scope="module")
def pointed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    here = replace(
        settings.DEFAULT_SETTINGS,
        data_dir=tmp_path_factory.mktemp("data"),
        enrichment_budget_usd=BUDGET_USD,
        chat_deployment="gpt-5.4-mini",
    )
    with serve_azure_services(here, priced=True) as pointed:
        yield pointed


def index_over_http(pointed: Settings, **options: object) -> tuple[int, Any]:
    sent = {"filename": "valves.csv", "content_base64": b64encode(ROWS).decode(), "workflow_id": "w", **options}
    with run_service(pointed) as url, closing(HTTPConnection(url.removeprefix("http://"), timeout=60)) as connection:
        connection.request("POST", "/api/index_document", json.dumps(sent), {"content-type": "application/json"})
        response = connection.getresponse()
        return response.status, json.load(response)


def use_from_command_line(pointed: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, field in VARIABLES.items():
        monkeypatch.setenv(variable, str(getattr(pointed, field)))
    monkeypatch.setenv("RAG_ENRICHMENT_BUDGET_USD", str(BUDGET_USD))
    monkeypatch.setenv("RAG_DATA_DIR", str(pointed.data_dir))


def test_over_http_the_reply_says_what_was_spent_and_what_was_not_sent(pointed: Settings) -> None:
    """S1-31: the emulated model describes what the budget allows; the rest is a degradation with its own code."""
    status, reply = index_over_http(pointed, document_id="over-http")
    assert (status, reply["chunks"]) == (200, 30)
    assert 0 < reply["usage"]["cost_usd"] < BUDGET_USD
    [told] = reply["degraded"]
    assert (told["step"], told["code"]) == ("enrichment", "enrichment_budget")
    assert told["reason"].startswith("20 passages were not sent: with the next call the document would cost more than")
    assert "0.04 USD (spent 0.0" in told["reason"]


def test_on_the_command_line_both_budgets_are_named(
    pointed: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ceiling of a document is a note and the exit code 0; that of the embeddings stops with the exit code 3."""
    (tmp_path / "valves.csv").write_bytes(ROWS)
    use_from_command_line(pointed, monkeypatch)
    assert main(["index", str(tmp_path / "valves.csv"), "--enrichment-usd", str(BUDGET_USD)]) == 0
    said = capsys.readouterr().out
    assert "Degraded: enrichment: 20 passages were not sent: with the next call the document would cost more" in said
    assert " out, for 0.0" in said
    (tmp_path / "more.txt").write_text("A valve that nobody has embedded yet.")
    assert main(["index", str(tmp_path / "more.txt"), "--budget-usd", "0.0000001", "--enrichment-usd", "0"]) == 3
    assert "Stopped: the next 8 tokens cost 1.6e-07 USD, of the budget 1.0e-07 are left" in capsys.readouterr().out


def test_without_prices_the_models_are_free_and_say_so(tmp_path: Path) -> None:
    here = replace(settings.DEFAULT_SETTINGS, data_dir=tmp_path, enrichment_budget_usd=1.0)
    assert "free: the models are local" in describe_prices(here, priced=False)
    with serve_azure_services(here) as pointed:
        _, reply = index_over_http(pointed)
    assert reply["usage"]["cost_usd"] == 0.0
    assert [(told["code"], "local technique" in told["reason"]) for told in reply["degraded"]] == [
        ("enrichment_incomplete", True)
    ]


def test_the_prices_are_those_of_the_deployments_by_their_names() -> None:
    said = describe_prices(settings.DEFAULT_SETTINGS, priced=True)
    assert f"{DEFAULT_CHAT_MODEL.name} {DEFAULT_CHAT_MODEL.input_usd:g} USD in" in said
    with pytest.raises(Misconfigured, match="no price of the deployment ours is known"):
        describe_prices(replace(settings.DEFAULT_SETTINGS, chat_deployment="ours"), priced=True)


def test_prices_without_emulated_models_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--priced", "--port", "0"]) == 2
    assert "--priced goes with --azure" in capsys.readouterr().err
