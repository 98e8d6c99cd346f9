"""The Azure Functions app that the host imports: its routes now, its settings and its kit at the first request."""

import logging
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import azure.functions as func

from functions import http, mcp, pages, triggers
from functions.routes import RAG_QUERY, ROUTES, allow_anonymous
from rag_core.core import settings
from rag_core.core.errors import RagError

if TYPE_CHECKING:
    from rag_core.core.kit import Kit

logger = logging.getLogger(__name__)


def build_app(
    get_settings: Callable[[], settings.Settings],
    get_kit: "Callable[[], Kit] | None" = None,
    *,
    public_query: bool = False,
    can_stream: bool = False,
) -> func.FunctionApp:
    """Return an app over the kit that the settings choose, unless `get_kit` gives another.

    With `public_query` the operation rag_query needs no function key. `can_stream` says that the host sends events as
    they come, which that of Azure Functions does not.
    """
    routes = allow_anonymous(ROUTES, RAG_QUERY) if public_query else ROUTES
    application = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
    get_kit = get_kit or make_kit_getter(get_settings)
    service = http.Service(get_settings, get_kit, make_telemetry_starter(get_settings), can_stream)
    http.mount_operations(application, routes, service)
    mcp.mount_mcp(application, routes, service)
    pages.mount_pages(application)
    triggers.mount_triggers(application, get_settings, get_kit)
    return application


def make_kit_getter(get_settings: Callable[[], settings.Settings]) -> "Callable[[], Kit]":
    """Return a function that gives the kit chosen by the settings.

    The composition is imported by its first call and not before: the host waits for the import of this module.
    """

    @cache
    def load_parts() -> "Callable[[], Kit]":
        from rag_core.composition import assembly

        return assembly.KitHolder(get_settings)

    return lambda: load_parts()()


def make_telemetry_starter(get_settings: Callable[[], settings.Settings]) -> Callable[[], None]:
    """Return a function whose first call starts the export of spans and metrics, where the settings name a place."""

    @cache
    def start() -> None:
        try:
            loaded = get_settings()
            if loaded.exports_telemetry:
                from rag_core.composition.telemetry_assembly import start_telemetry_export

                start_telemetry_export(loaded)
        except RagError as error:  # of a setting that cannot be read the request itself tells its caller
            logger.error("spans and metrics are not exported: %s", error.message)

    return start


def load_host_settings() -> settings.Settings:
    """Load the settings of the host, and log the variables that look like one and are none."""
    for sentence in settings.list_misnamed_settings():
        logger.warning("%s", sentence)
    return settings.load_settings()


app = build_app(cache(load_host_settings), public_query=settings.is_public_query_enabled())
