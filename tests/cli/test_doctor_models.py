"""What `rag doctor` says of hosted models, on a day of our choosing, and of telemetry."""

from argparse import Namespace
from datetime import date, timedelta
from pathlib import Path

import pytest

from local_emulator.search_service import SearchService, WordRanker, run_search_service
from rag_core.cli import doctor, main
from rag_core.cli.findings import Finding
from rag_core.core.hosted_models import DEFAULT_CHAT_MODEL, DEFAULT_EMBEDDING_MODEL
from tests.faults.replies import completion
from tests.faults.server import failing, reply

LAST = DEFAULT_CHAT_MODEL.retires["azure"]


def found(today: date, folder: Path, *, live: bool = False) -> dict[str, Finding]:
    arguments = Namespace(data=folder, live=live)
    return {finding.name: finding for finding in doctor.examine_installation(arguments, today)}


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://contoso.openai.azure.com")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "s3cret")
    return monkeypatch


@pytest.mark.parametrize(("before", "state"), [(30, "missing"), (90, "missing"), (0, "broken"), (-5, "broken")])
def test_doctor_warns_of_a_default_that_is_about_to_retire(
    before: int, state: str, azure: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    finding = found(LAST - timedelta(days=before), tmp_path)["chat model retirement"]
    assert finding.state == state
    assert str(LAST) in finding.note
    assert "deploy another model" in finding.note


def test_doctor_says_the_price_and_the_last_day_of_the_models_in_use(azure: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = found(LAST - timedelta(days=91), tmp_path)
    assert said["chat model price"].note == (
        f"gpt-5.4-mini: USD 0.75 in, 0.075 in from the cache, 4.5 out per million tokens; retires {LAST}"
    )
    assert said["embedder price"].note.endswith(f"retires {DEFAULT_EMBEDDING_MODEL.retires['azure']}")
    assert "chat model retirement" not in said


def test_doctor_says_that_a_price_is_unknown(azure: pytest.MonkeyPatch, tmp_path: Path) -> None:
    azure.setenv("AZURE_OPENAI_CHAT_DEPLOYMENT", "chat")
    assert "costs are reported as unknown" in found(LAST, tmp_path)["chat model price"].note


def test_doctor_live_names_the_model_behind_a_deployment_and_when_it_retires(
    azure: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said_by = completion("Yes.") | {"model": "gpt-5.4-mini-2026-03-17"}
    with failing(reply(200, said_by)) as server:
        azure.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        azure.setenv("AZURE_OPENAI_CHAT_DEPLOYMENT", "chat")
        azure.setenv("RAG_EMBEDDING_PROVIDER", "local")
        said = found(LAST - timedelta(days=30), tmp_path, live=True)
    assert said["chat model"].note == "azure chat answers as gpt-5.4-mini-2026-03-17"
    assert said["answering model price"].note.startswith("gpt-5.4-mini: USD 0.75 in")
    assert said["answering model retirement"].state == "missing"


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [(404, "DeploymentNotFound", "(404)"), (401, "Unauthorized", "does not accept the key or identity (401)")],
)
@pytest.mark.parametrize("part", ["chat model", "embedder"])
def test_doctor_live_fails_in_one_line_when_a_hosted_model_is_gone_or_refuses_the_key(
    part: str,
    status: int,
    code: str,
    reason: str,
    azure: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every reply would be degraded: whoever deploys is told by the exit code."""
    azure.setenv("RAG_CHAT_PROVIDER", "azure" if part == "chat model" else "local")
    azure.setenv("RAG_EMBEDDING_PROVIDER", "azure" if part == "embedder" else "local")
    with failing(reply(status, {"error": {"code": code, "message": "no"}})) as server:
        azure.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        assert main(["doctor", "--live", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    (line,) = [line for line in said.splitlines() if line.startswith(f"✗ {part}")]
    assert reason in line
    assert said.endswith(f"Broken: {part}\n")


def test_a_budget_in_an_unknown_price_is_refused_before_anything_is_sent(
    azure: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    azure.setenv("AZURE_OPENAI_EMBEDDING_DEPLOYMENT", "embed")
    (tmp_path / "a.md").write_text("The signing keys are rotated every 90 days.")
    command = ["index", str(tmp_path / "a.md"), "--data", str(tmp_path / "store"), "--budget-usd", "1"]
    assert main(command) == 2
    assert "the price of embed is not known" in capsys.readouterr().err


NEITHER = "neither APPLICATIONINSIGHTS_CONNECTION_STRING nor OTEL_EXPORTER_OTLP_ENDPOINT is set"
INSIGHTS, COLLECTOR = "InstrumentationKey=s3cret", "http://127.0.0.1:4318"


@pytest.mark.parametrize(
    ("insights", "collector", "said"),
    [
        ("", "", f"are not exported: {NEITHER}"),
        (INSIGHTS, "", "go to Application Insights"),
        ("", COLLECTOR, f"go to the collector at {COLLECTOR}"),
        (INSIGHTS, COLLECTOR, f"go to Application Insights and the collector at {COLLECTOR}"),
    ],
)
def test_doctor_says_where_spans_and_metrics_go(
    insights: str, collector: str, said: str, azure: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    azure.setenv("APPLICATIONINSIGHTS_CONNECTION_STRING", insights)
    azure.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
    finding = found(LAST, tmp_path)["telemetry"]
    assert (finding.state, finding.note) == ("ok", f"spans and metrics {said}")


def test_doctor_says_that_a_collector_gets_nothing_without_its_package(
    azure: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    azure.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", COLLECTOR)
    azure.setattr("rag_core.composition.telemetry_assembly.OTLP_PACKAGE", "no_such_package.exporter")
    finding = found(LAST, tmp_path)["telemetry"]
    assert finding.state == "missing"
    assert "not exported: OTEL_EXPORTER_OTLP_ENDPOINT requires" in finding.note


def test_doctor_live_asks_the_knowledge_base_and_says_what_makes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_search_service(SearchService(None, keys={"key"}, reranker=WordRanker())) as url:
        variables = {"AZURE_SEARCH_ENDPOINT": url, "AZURE_SEARCH_API_KEY": "key", "RAG_LLM_PROVIDER": "local"}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        missing = found(LAST, tmp_path, live=True)["knowledge base"]
        assert missing.state == "missing"
        assert "run rag setup" in missing.note
        assert main(["setup", "--data", str(tmp_path)]) == 0
        assert found(LAST, tmp_path, live=True)["knowledge base"].state == "ok"
        assert "knowledge base" not in found(LAST, tmp_path)


def test_doctor_names_the_preview_features_and_that_they_may_be_withdrawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_SEARCH_QUERY_REWRITES", "3")
    monkeypatch.setenv("AZURE_SEARCH_DOCUMENT_ACL", "1")
    refused = found(LAST, tmp_path)["preview features"]
    assert (refused.state, "set AZURE_SEARCH_PREVIEW" in refused.note) == ("broken", True)
    monkeypatch.setenv("AZURE_SEARCH_PREVIEW", "2026-08-01-preview")
    said = found(LAST, tmp_path)
    assert said["preview features"].note == (
        "AZURE_SEARCH_QUERY_REWRITES, AZURE_SEARCH_DOCUMENT_ACL by API version 2026-08-01-preview: "
        "Microsoft may withdraw a preview"
    )
    assert "WEBSITE_AUTH_ENABLED is not set" in said["no effect"].note
