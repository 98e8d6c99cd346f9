"""Spans by OpenTelemetry: recorded only where the operator installs a tracer provider, and never what was said."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from opentelemetry.trace import Span

Attributes = Mapping[str, str | int | float | bool | Sequence[str]]


@contextmanager
def span(name: str, attributes: Attributes, *, kind: Literal["INTERNAL", "CLIENT"] = "INTERNAL") -> "Iterator[Span]":
    """A span around the block. Of an error it keeps the code alone: a vendor's message may quote the prompt."""
    from opentelemetry import trace  # 30 ms that importing the app need not take

    started = trace.get_tracer("azure-rag").start_as_current_span(
        name, kind=trace.SpanKind[kind], attributes=attributes, record_exception=False, set_status_on_exception=False
    )
    with started as current, ExitStack() as ending:
        ending.push(partial(_mark, current))
        yield current


def _mark(
    current: "Span", kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
) -> None:
    if kind is not None:
        from opentelemetry.trace import StatusCode

        current.set_attribute("error.type", str(getattr(error, "code", kind.__name__)))
        current.set_status(StatusCode.ERROR)
