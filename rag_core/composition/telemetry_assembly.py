"""The destinations of spans and metrics that the settings choose."""

from importlib.util import find_spec

from rag_core.core.errors import Misconfigured
from rag_core.core.settings import Settings

OTLP_PACKAGE = "opentelemetry.exporter.otlp"


def start_telemetry_export(settings: Settings) -> None:
    """Send the spans and metrics of this process, until it ends, to every place that the settings name.

    Raises:
        Misconfigured: the package for a place is missing; its variable is named.
    """
    require_telemetry_package(settings)
    from rag_core.providers.telemetry_export import ApplicationInsights, Destination, OtlpCollector, TelemetryExport

    destinations: list[Destination] = []
    if settings.applicationinsights:
        destinations.append(ApplicationInsights(settings.applicationinsights))
    if settings.otlp_endpoint:
        destinations.append(OtlpCollector())
    TelemetryExport(destinations).install()


def require_telemetry_package(settings: Settings) -> None:
    """Raise Misconfigured when the place that OTEL_EXPORTER_OTLP_ENDPOINT names requires a missing package."""
    if settings.otlp_endpoint and not _is_installed(OTLP_PACKAGE):
        raise Misconfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT requires: pip install 'azure-rag[otlp]'", field="OTEL_EXPORTER_OTLP_ENDPOINT"
        )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False
