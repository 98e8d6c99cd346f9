"""What an operator sees of a request: one trace with the host's or the caller's parent, metrics, and no text of it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from werkzeug.test import Client

import function_app
from functions.job_runner import run_pending_jobs
from local_emulator.host import Host
from rag_core.core import metrics as recorded
from rag_core.core.errors import Misconfigured
from rag_core.core.settings import Settings, load_settings
from rag_core.ingestion.upload import Upload
from rag_core.rag import open as open_rag
from tests.functions.test_event_stream import EVENTS, GatedModel, build_gated_kit, post, read_event, served
from tests.functions.test_event_stream import QUESTION as GATED_QUESTION
from tests.functions.test_functions import NOTES, Caller, serving

QUESTION = "What does P0700 mean for Adelaide Zimmermann?"
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE_ID}-00f067aa0ba902b7-01"
Measured = dict[str, list[tuple[dict[str, object], object]]]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setattr(metrics, "get_meter", provider.get_meter)
    for instrument in (recorded._get_counter, recorded._get_histogram):
        instrument.cache_clear()
    yield reader
    provider.shutdown()
    for instrument in (recorded._get_counter, recorded._get_histogram):
        instrument.cache_clear()


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    for caller in serving(Settings(data_dir=None)):
        caller.ok("index_document", content=NOTES, document_id="notes", title="Notes")
        yield caller


def root_of(spans: InMemorySpanExporter) -> ReadableSpan:
    (root,) = [span for span in spans.get_finished_spans() if span.kind is trace.SpanKind.SERVER]
    return root


def measure(reader: InMemoryMetricReader) -> Measured:
    """The attributes and the value, or count, of each point by the name of its metric."""
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: [
            (dict(p.attributes), getattr(p, "value", getattr(p, "count", None))) for p in metric.data.data_points
        ]
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_one_question_is_one_trace_under_its_caller(call: Caller, spans: InMemorySpanExporter) -> None:
    """Every step, search and model call belongs to the root, and the root to the caller's span."""
    reply = call.ok("rag/ask", headers={"traceparent": TRACEPARENT}, query=QUESTION, pipeline="standard")
    finished, root = spans.get_finished_spans(), root_of(spans)
    assert {f"{span.get_span_context().trace_id:032x}" for span in finished} == {TRACE_ID}  # type: ignore[no-untyped-call]
    assert root.parent is not None
    assert f"{root.parent.span_id:016x}" == "00f067aa0ba902b7"
    known = {span.get_span_context().span_id for span in finished}  # type: ignore[no-untyped-call]
    assert all(span.parent and span.parent.span_id in known for span in finished if span is not root)
    assert {span.name for span in finished} >= {"POST /api/rag/ask", "search", "search chunks", *reply["timings"]}
    described = dict(root.attributes or {})
    assert described["rag.run.id"] == reply["run_id"]
    assert described["rag.workflow.id"] == "default"
    assert (described["http.response.status_code"], described["rag.answer.status"]) == (200, reply["status"])


def test_a_caller_without_a_trace_begins_one(call: Caller, spans: InMemorySpanExporter) -> None:
    call.ok("consult_rag", query=QUESTION)
    assert root_of(spans).parent is None
    assert len({span.get_span_context().trace_id for span in spans.get_finished_spans()}) == 1  # type: ignore[no-untyped-call]


def test_no_span_says_what_was_asked_or_found(call: Caller, spans: InMemorySpanExporter) -> None:
    call.ok("rag/ask", query=QUESTION)
    written = " ".join(span.to_json() for span in spans.get_finished_spans())
    assert "Zimmermann" not in written
    assert "transmission control module" not in written


def test_a_refused_request_is_a_span_with_its_status(call: Caller, spans: InMemorySpanExporter) -> None:
    call.refused("rag/ask", query="")
    assert (root_of(spans).attributes or {})["http.response.status_code"] == 400


def test_a_question_is_measured(call: Caller, reader: InMemoryMetricReader) -> None:
    """Requests by route and status, steps, the answer by its status and its claims by their verdicts."""
    reply = call.ok("rag/ask", query="What does P0700 mean?", pipeline="standard")
    measured = measure(reader)
    (request,) = measured["http.server.request.duration"]
    assert request[0] == {
        "http.request.method": "POST",
        "http.route": "/api/rag/ask",
        "http.response.status_code": 200,
    }
    assert {attributes["rag.step"] for attributes, _ in measured["rag.step.duration"]} == set(reply["timings"])
    assert measured["rag.answers"] == [({"rag.pipeline": "standard", "rag.answer.status": reply["status"]}, 1)]
    assert sum(int(str(count)) for _, count in measured["rag.claims"]) == len(reply["claims"])


def test_an_answer_in_events_is_measured_when_it_is_complete(call: Caller, reader: InMemoryMetricReader) -> None:
    headers = {"accept": "text/event-stream"}
    told = call.client.post("/api/rag/ask", json={"query": "What does P0700 mean?"}, headers=headers)
    assert "event: done" in told.get_data(as_text=True)
    measured = measure(reader)
    assert [count for _, count in measured["http.server.request.duration"]] == [1]
    assert "search" in {attributes["rag.step"] for attributes, _ in measured["rag.step.duration"]}


def ask_in_events(model: GatedModel, spans: InMemorySpanExporter, *, can_stream: bool = True) -> dict[str, Any]:
    """Open the gates after the first event, read all, and return the attributes of the request's span."""
    with served(model, can_stream=can_stream) as url:
        if not can_stream:
            model.answering.set()
            model.judging.set()
        response = post(url, EVENTS | {"traceparent": TRACEPARENT})
        read_event(response)
        if can_stream:
            assert not [span for span in spans.get_finished_spans() if span.kind is trace.SpanKind.SERVER]
        model.answering.set()
        model.judging.set()
        response.read()
    return dict(root_of(spans).attributes or {})


@pytest.mark.parametrize("can_stream", [True, False])
def test_the_span_of_an_answer_in_events_ends_with_the_answer(can_stream: bool, spans: InMemorySpanExporter) -> None:
    """It holds every step, and says what only the end knows."""
    described = ask_in_events(GatedModel(), spans, can_stream=can_stream)
    root = root_of(spans)
    assert (described["http.response.status_code"], described["rag.answer.status"]) == (200, "answered")
    assert "error.type" not in described
    assert root.end_time is not None
    assert all(span.end_time and span.end_time <= root.end_time for span in spans.get_finished_spans())


@pytest.mark.parametrize("can_stream", [True, False])
def test_a_failure_after_the_first_event_is_a_failed_span_and_measured(
    can_stream: bool, spans: InMemorySpanExporter, reader: InMemoryMetricReader
) -> None:
    """The status was 200 when nothing had failed yet: the error's code says that the request did."""
    described = ask_in_events(GatedModel(is_broken=True), spans, can_stream=can_stream)
    assert described["error.type"] == "internal"
    assert root_of(spans).status.status_code is trace.StatusCode.ERROR
    ((attributes, count),) = measure(reader)["http.server.request.duration"]
    assert (attributes["error.type"], count) == ("internal", 1)


def test_a_reader_who_goes_away_is_told_apart_from_an_answer(spans: InMemorySpanExporter) -> None:
    model = GatedModel()
    parts = asyncio.run(build_gated_kit(model))
    host = Host(function_app.build_app(lambda: Settings(data_dir=None), lambda: parts, can_stream=True))
    response = Client(host).post("/api/rag/ask", json=GATED_QUESTION, headers=EVENTS, buffered=False)
    next(iter(response.response))
    response.close()
    model.answering.set()
    model.judging.set()
    host.close()
    assert (root_of(spans).attributes or {})["error.type"] == "reader_gone"


async def test_a_job_is_a_trace_and_is_measured(spans: InMemorySpanExporter, reader: InMemoryMetricReader) -> None:
    settings = Settings(data_dir=None)
    async with open_rag(settings) as rag:
        await rag.submit(Upload(NOTES), as_job=True)
        await run_pending_jobs(settings, rag.kit, within_s=30.0)
    (job,) = [span for span in spans.get_finished_spans() if span.name == "run index job"]
    assert (job.kind, job.parent) == (trace.SpanKind.CONSUMER, None)
    assert measure(reader)["rag.jobs"] == [({"rag.job.state": "done"}, 1)]
    assert measure(reader)["rag.job.age"][0][1] == 1


def test_an_export_that_cannot_start_is_logged_and_stops_no_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: Settings) -> None:
        raise Misconfigured("OTEL_EXPORTER_OTLP_ENDPOINT requires a package")

    monkeypatch.setattr("rag_core.composition.telemetry_assembly.start_telemetry_export", refuse)
    start = function_app.make_telemetry_starter(
        lambda: load_settings({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
    )
    start()
    start()
    assert caplog.text.count("are not exported: OTEL_EXPORTER_OTLP_ENDPOINT") == 1
