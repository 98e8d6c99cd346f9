from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rag_core import prompts
from rag_core.core.errors import Unavailable
from rag_core.core.run import Run
from rag_core.providers.openai import OpenAIChatModel
from tests.faults.replies import completion, error
from tests.faults.server import failing, reply
from tests.providers.test_openai import at

SECRET = "what the user asked"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


async def ask(run: Run, url_of: str = "openai", **service: object) -> None:
    with failing(reply(200, completion(SECRET)) if not service else error(401, SECRET)) as server:
        client = OpenAIChatModel(at(url_of, server), key="k")
        try:
            await run.step("summary", client.complete(prompts.build_summary_prompt(SECRET, [SECRET])))
        finally:
            await client.close()


async def test_a_step_and_the_model_s_call_within_it_are_spans(spans: InMemorySpanExporter) -> None:
    run = Run()
    await ask(run)
    call, step = spans.get_finished_spans()
    assert (step.name, dict(step.attributes or {})) == ("summary", {"rag.run.id": run.id})
    assert call.parent is not None
    assert call.parent.span_id == step.get_span_context().span_id  # type: ignore[no-untyped-call]


async def test_a_call_is_described_by_the_genai_conventions(spans: InMemorySpanExporter) -> None:
    await ask(Run(), "azure")
    call = spans.get_finished_spans()[0]
    assert (call.name, call.kind) == ("chat gpt-5.4-mini", trace.SpanKind.CLIENT)
    assert dict(call.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "azure.ai.openai",
        "gen_ai.request.model": "gpt-5.4-mini",
        "gen_ai.request.max_tokens": 512,
        "gen_ai.response.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 4,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "gen_ai.response.finish_reasons": ("stop",),
        "rag.cost_usd": pytest.approx(1.8e-06),
    }


async def test_a_failure_is_a_span_with_its_code(spans: InMemorySpanExporter) -> None:
    with pytest.raises(Unavailable):
        await ask(Run(), fails=True)
    for span in spans.get_finished_spans():
        assert (span.attributes or {})["error.type"] == "llm_unavailable"
        assert span.status.status_code is trace.StatusCode.ERROR


@pytest.mark.parametrize("service", [{}, {"fails": True}], ids=["answered", "refused"])
async def test_no_span_holds_what_was_said(spans: InMemorySpanExporter, service: dict[str, object]) -> None:
    """Neither the question nor the answer, nor a vendor's message that quotes them."""
    run = Run()
    await run.attempt("answer", ask(run, **service), otherwise=None, fallback="none")
    assert len(spans.get_finished_spans()) == 3
    assert not [span for span in spans.get_finished_spans() if SECRET in written(span)]


def written(span: ReadableSpan) -> str:
    return span.to_json()


async def test_without_a_tracer_provider_nothing_is_recorded() -> None:
    await ask(Run())
    assert not trace.get_current_span().is_recording()
