"""OpenTelemetry spans without the users' text; recorded only where the operator installs a tracer provider.

Who installs one has imported OpenTelemetry: where nobody has, a request neither imports it nor makes spans.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

SpanAttributes = Mapping[str, str | int | float | bool | Sequence[str]]
SpanKind = Literal["INTERNAL", "CLIENT", "SERVER", "CONSUMER"]


class _UnrecordedSpan:
    """The span of what nobody records."""

    def set_attribute(self, key: str, value: object) -> None:
        pass

    def set_attributes(self, attributes: SpanAttributes) -> None:
        pass


_UNRECORDED: "AbstractContextManager[Span]" = nullcontext(cast("Span", _UnrecordedSpan()))


def is_imported(module_name: str) -> bool:
    """Return whether somebody has imported a module of OpenTelemetry: without it nobody has installed a provider."""
    return module_name in sys.modules


def _get_recording_tracer() -> "Tracer | None":
    """Return our tracer, None where no tracer provider is installed."""
    if not is_imported("opentelemetry.trace"):
        return None
    from opentelemetry import trace

    tracer = trace.get_tracer("azure-rag")
    return None if isinstance(tracer, trace.ProxyTracer | trace.NoOpTracer) else tracer


def trace_span(name: str, attributes: SpanAttributes, *, kind: SpanKind = "INTERNAL") -> "AbstractContextManager[Span]":
    """Trace the block as a span, a child of the current one.

    Of an error only the code is recorded: a vendor's message may quote the prompt.
    """
    tracer = _get_recording_tracer()
    return _UNRECORDED if tracer is None else _start_span(tracer, name, attributes, kind)


def trace_request(name: str, attributes: SpanAttributes, headers: Mapping[str, str]) -> "AbstractContextManager[Span]":
    """Trace the block as the root span of a request, to which every step within it belongs.

    The caller ends it by `end_request_span`, which may be after the block; an error of the block ends it too.
    Its parent is the current span, which the Functions worker makes the host's, else the caller's, by the headers
    `traceparent` and `tracestate` (https://www.w3.org/TR/trace-context/).
    """
    tracer = _get_recording_tracer()
    return _UNRECORDED if tracer is None else _start_request_span(tracer, name, attributes, headers)


@contextmanager
def _start_span(
    tracer: "Tracer",
    name: str,
    attributes: SpanAttributes,
    kind: SpanKind,
    *,
    parent: "Context | None" = None,
    ends: bool = True,
) -> "Iterator[Span]":
    """Trace the block as a span, by default a child of the current one. Without `ends` the caller ends it later."""
    from opentelemetry import trace

    span_context = tracer.start_as_current_span(
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
def _start_request_span(
    tracer: "Tracer", name: str, attributes: SpanAttributes, headers: Mapping[str, str]
) -> "Iterator[Span]":
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    is_within_trace = trace.get_current_span().get_span_context().is_valid
    parent = None if is_within_trace else TraceContextTextMapPropagator().extract(headers)
    span_context = _start_span(tracer, name, attributes, "SERVER", parent=parent, ends=False)
    with ExitStack() as on_error, span_context as root:
        on_error.callback(root.end)
        yield root
        on_error.pop_all()


def describe_current_span(attributes: SpanAttributes) -> None:
    """Add attributes to the current span, the request's where no step runs."""
    if not is_imported("opentelemetry.trace"):
        return
    from opentelemetry import trace

    trace.get_current_span().set_attributes(attributes)


def end_request_span(root: "Span", attributes: SpanAttributes, failure: str | None) -> None:
    """End the span of a request whose reply is complete, or was ended by the failure of this code."""
    if isinstance(root, _UnrecordedSpan):
        return
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
