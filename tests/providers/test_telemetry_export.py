"""Spans and metrics through the real exporters to a service on the loopback interface."""

import gzip
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rag_core.composition import telemetry_assembly
from rag_core.core.errors import Misconfigured
from rag_core.core.settings import Settings
from rag_core.providers.telemetry_export import ApplicationInsights, Destination, OtlpCollector, TelemetryExport
from tests.faults.server import FaultServer, failing, reply

KEY = "11111111-2222-3333-4444-555555555555"


@pytest.fixture(autouse=True)
def no_reports_to_microsoft(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `infra/app.bicep` sets them: the exporter would tell Microsoft about itself."""
    monkeypatch.setenv("APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL", "true")
    monkeypatch.setenv("APPLICATIONINSIGHTS_SDKSTATS_DISABLED", "true")


def export_one_request(*destinations: Destination) -> None:
    """Export a span, a counter and a histogram, and close."""
    export = TelemetryExport(destinations)
    with export.tracers.get_tracer("azure-rag").start_as_current_span("POST /api/rag/ask"):
        meter = export.meters.get_meter("azure-rag")
        meter.create_counter("rag.answers").add(1, {"rag.answer.status": "answered"})
        meter.create_histogram("rag.step.duration", "s").record(0.25, {"rag.step": "rerank"})
    export.close()


def bodies(server: FaultServer, path: bytes) -> list[bytes]:
    """The bodies of the requests to a path, unpacked."""
    split = [request.partition(b"\r\n\r\n") for request in server.requests]
    return [
        gzip.decompress(body) if b"content-encoding: gzip" in head.lower() else body
        for head, _, body in split
        if path in head.split(b"\r\n")[0]
    ]


def test_application_insights_gets_spans_and_metrics() -> None:
    with failing(reply(200, {"itemsReceived": 1, "itemsAccepted": 1, "errors": []})) as server:
        export_one_request(ApplicationInsights(f"InstrumentationKey={KEY};IngestionEndpoint={server.url}"))
        envelopes: list[dict[str, Any]] = [
            envelope for body in bodies(server, b"/track") for envelope in json.loads(body)
        ]
    data = [envelope["data"]["baseData"] for envelope in envelopes]
    assert "POST /api/rag/ask" in [fields.get("name") for fields in data]
    assert {metric["name"] for fields in data for metric in fields.get("metrics", ())} == {
        "rag.answers",
        "rag.step.duration",
    }
    assert {envelope["tags"]["ai.cloud.role"] for envelope in envelopes} == {"azure-rag"}
    assert {envelope["iKey"] for envelope in envelopes} == {KEY}


def test_a_collector_gets_spans_and_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    with failing(reply(200, b"", kind="application/x-protobuf")) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
        export_one_request(OtlpCollector())
        (traces,), (metrics,) = bodies(server, b"/v1/traces"), bodies(server, b"/v1/metrics")
    (spans,) = ExportTraceServiceRequest.FromString(traces).resource_spans
    assert [span.name for span in spans.scope_spans[0].spans] == ["POST /api/rag/ask"]
    assert ("service.name", "azure-rag") in [(a.key, a.value.string_value) for a in spans.resource.attributes]
    (measured,) = ExportMetricsServiceRequest.FromString(metrics).resource_metrics
    assert [metric.name for metric in measured.scope_metrics[0].metrics] == ["rag.answers", "rag.step.duration"]


def test_a_collector_that_is_down_does_not_hold_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    began = time.monotonic()
    export_one_request(OtlpCollector())
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(applicationinsights=f"InstrumentationKey={KEY}"), [ApplicationInsights]),
        (Settings(otlp_endpoint="http://127.0.0.1:4318"), [OtlpCollector]),
        (
            Settings(applicationinsights=f"InstrumentationKey={KEY}", otlp_endpoint="http://127.0.0.1:4318"),
            [ApplicationInsights, OtlpCollector],
        ),
    ],
)
def test_the_settings_name_the_places(
    settings: Settings, expected: list[type[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[type[Any]] = []
    remember: Callable[[TelemetryExport, Any], None] = lambda _, places: made.extend(map(type, places))  # noqa: E731
    monkeypatch.setattr(TelemetryExport, "__init__", remember)
    monkeypatch.setattr(TelemetryExport, "install", lambda _: None)
    telemetry_assembly.start_telemetry_export(settings)
    assert made == expected


def test_a_collector_without_its_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry_assembly, "OTLP_PACKAGE", "not_installed_anywhere.otlp")
    with pytest.raises(Misconfigured, match=r"azure-rag\[otlp\]"):
        telemetry_assembly.start_telemetry_export(Settings(otlp_endpoint="http://127.0.0.1:4318"))
