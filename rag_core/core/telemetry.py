"""OpenTelemetry spans without the users' text; recorded only where the operator installs a tracer provider."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from opentelemetry.trace import Span

SpanAttributes = Mapping[str, str | int | float | bool | Sequence[str]]


@contextmanager
def trace_span(
    name: str, attributes: SpanAttributes, *, kind: Literal["INTERNAL", "CLIENT"] = "INTERNAL"
) -> "Iterator[Span]":
    """Trace the block as a span. Of an error only the code is recorded: a vendor's message may quote the prompt."""
    from opentelemetry import trace  # here: the import takes 30 ms, which a cold start can do without

    span_context = trace.get_tracer("azure-rag").start_as_current_span(
        name, kind=trace.SpanKind[kind], attributes=attributes, record_exception=False, set_status_on_exception=False
    )
    with span_context as current, ExitStack() as on_exit:
        on_exit.push(partial(_mark_span_failed, current))
        yield current


def _mark_span_failed(
    current: "Span", kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
) -> None:
    """Record the code of the error on the span, if there was one."""
    if kind is not None:
        from opentelemetry.trace import StatusCode

        current.set_attribute("error.type", str(getattr(error, "code", kind.__name__)))
        current.set_status(StatusCode.ERROR)
