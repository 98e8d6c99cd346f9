"""OpenTelemetry spans without the users' text; recorded only where the operator installs a tracer provider."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

SpanAttributes = Mapping[str, str | int | float | bool | Sequence[str]]
SpanKind = Literal["INTERNAL", "CLIENT", "SERVER", "CONSUMER"]


@contextmanager
def trace_span(
    name: str,
    attributes: SpanAttributes,
    *,
    kind: SpanKind = "INTERNAL",
    parent: "Context | None" = None,
    ends: bool = True,
) -> "Iterator[Span]":
    """Trace the block as a span, by default a child of the current one. Without `ends` the caller ends it later.

    Of an error only the code is recorded: a vendor's message may quote the prompt.
    """
    from opentelemetry import trace  # here: the import takes 30 ms, which a cold start can do without

    span_context = trace.get_tracer("azure-rag").start_as_current_span(
        name,
        context=parent,
        kind=trace.SpanKind[kind],
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
        end_on_exit=ends,
    )
    with span_context as current, ExitStack() as on_exit:
        on_exit.push(partial(_mark_span_failed_by_exception, current))
        yield current


@contextmanager
def trace_request(name: str, attributes: SpanAttributes, headers: Mapping[str, str]) -> "Iterator[Span]":
    """Trace the block as the root span of a request, to which every step within it belongs.

    The caller ends it by `end_request_span`, which may be after the block; an error of the block ends it too.
    Its parent is the current span, which the Functions worker makes the host's, else the caller's, by the headers
    `traceparent` and `tracestate` (https://www.w3.org/TR/trace-context/).
    """
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    is_within_trace = trace.get_current_span().get_span_context().is_valid
    parent = None if is_within_trace else TraceContextTextMapPropagator().extract(headers)
    with ExitStack() as on_error, trace_span(name, attributes, kind="SERVER", parent=parent, ends=False) as root:
        on_error.callback(root.end)
        yield root
        on_error.pop_all()


def describe_current_span(attributes: SpanAttributes) -> None:
    """Add attributes to the current span, the request's where no step runs."""
    from opentelemetry import trace

    trace.get_current_span().set_attributes(attributes)


def end_request_span(root: "Span", attributes: SpanAttributes, failure: str | None) -> None:
    """End the span of a request whose reply is complete, or was ended by the failure of this code."""
    root.set_attributes(attributes)
    if failure:
        _mark_span_failed(root, failure)
    root.end()


def _mark_span_failed_by_exception(
    current: "Span", kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
) -> None:
    if kind is not None:
        _mark_span_failed(current, str(getattr(error, "code", kind.__name__)))


def _mark_span_failed(span: "Span", code: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", code)
    span.set_status(StatusCode.ERROR)
