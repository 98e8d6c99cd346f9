"""Export of spans and metrics to Application Insights, or to any collector over OTLP.

A cold start waits for OpenTelemetry's SDK alone (50 ms). The exporters (290 ms of imports, for Application Insights)
load in the SDK's own thread, with the first batch that they send.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

DEFAULT_SERVICE_NAME = "azure-rag"  # unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES says another


class TelemetryExport:
    """Providers of spans and metrics that send them to each destination, until they are closed."""

    def __init__(self, destinations: Sequence["Destination"]) -> None:
        resource = _describe_process()
        self.tracers = TracerProvider(resource=resource)
        for destination in destinations:
            self.tracers.add_span_processor(BatchSpanProcessor(LateSpanExporter(destination.make_span_exporter)))
        readers = [
            PeriodicExportingMetricReader(LateMetricExporter(destination.make_metric_exporter))
            for destination in destinations
        ]
        self.meters = MeterProvider(readers, resource)

    def install(self) -> None:
        """Make these the process's own providers, unless it has others already; at its end they send what is left."""
        trace.set_tracer_provider(self.tracers)
        metrics.set_meter_provider(self.meters)

    def close(self) -> None:
        """Send what is left and stop."""
        self.tracers.shutdown()
        self.meters.shutdown()


def _describe_process() -> Resource:
    """Return what the environment says of this process, with our name where it names no service."""
    described = Resource.create()
    is_named = not str(described.attributes[SERVICE_NAME]).startswith("unknown_service")
    return described if is_named else described.merge(Resource({SERVICE_NAME: DEFAULT_SERVICE_NAME}))


class ApplicationInsights:
    """The destination that a connection string of Application Insights names.

    The exporter proves who it is by the identity that APPLICATIONINSIGHTS_AUTHENTICATION_STRING names. What cannot be
    sent is not written to the disk.
    """

    def __init__(self, connection_string: str) -> None:
        self._options = {"connection_string": connection_string, "disable_offline_storage": True}

    def make_span_exporter(self) -> SpanExporter:
        """Return a new exporter of spans, whose packages this loads."""
        from azure.monitor.opentelemetry.exporter import AzureMonitorTraceExporter

        return AzureMonitorTraceExporter(**self._options)

    def make_metric_exporter(self) -> MetricExporter:
        """Return a new exporter of metrics."""
        from azure.monitor.opentelemetry.exporter import AzureMonitorMetricExporter

        return AzureMonitorMetricExporter(**self._options)


class OtlpCollector:
    """The collector that the environment's OTEL_EXPORTER_OTLP_* name, by OTLP over HTTP."""

    def make_span_exporter(self) -> SpanExporter:
        """Return a new exporter of spans, whose packages this loads."""
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter()

    def make_metric_exporter(self) -> MetricExporter:
        """Return a new exporter of metrics."""
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        return OTLPMetricExporter()


Destination = ApplicationInsights | OtlpCollector


class LateSpanExporter(SpanExporter):
    """An exporter that is made when there is something to export."""

    def __init__(self, make_exporter: Callable[[], SpanExporter]) -> None:
        self._make_exporter = make_exporter

    @cached_property
    def _exporter(self) -> SpanExporter:
        return self._make_exporter()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export a batch of spans."""
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        """Close the exporter, if one was made."""
        if "_exporter" in self.__dict__:
            self._exporter.shutdown()


class LateMetricExporter(MetricExporter):
    """An exporter of metrics that is made when there is something to export; it sends what was added since."""

    def __init__(self, make_exporter: Callable[[], MetricExporter]) -> None:
        from opentelemetry.sdk.metrics import Counter, Histogram

        super().__init__(
            preferred_temporality={Counter: AggregationTemporality.DELTA, Histogram: AggregationTemporality.DELTA}
        )
        self._make_exporter = make_exporter

    @cached_property
    def _exporter(self) -> MetricExporter:
        return self._make_exporter()

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **options: Any) -> MetricExportResult:
        """Export what was measured since the last time."""
        return self._exporter.export(metrics_data, timeout_millis, **options)

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Return True: nothing waits here."""
        return True

    def shutdown(self, timeout_millis: float = 30_000, **options: Any) -> None:
        """Close the exporter, if one was made."""
        if "_exporter" in self.__dict__:
            self._exporter.shutdown(timeout_millis, **options)
