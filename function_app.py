"""The Azure Functions app that the host imports: its routes now, its settings and its kit at the first request."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import azure.functions as func

from functions import http, mcp, pages, triggers
from functions.routes import RAG_QUERY, ROUTES, allow_anonymous
from rag_core.core import settings

if TYPE_CHECKING:
    from rag_core.core.kit import Kit


def build_app(
    get_settings: Callable[[], settings.Settings],
    get_kit: "Callable[[], Kit] | None" = None,
    *,
    public_query: bool = False,
) -> func.FunctionApp:
    """Return an app over the kit that the settings choose, unless `get_kit` gives another.

    With `public_query` the operation rag_query needs no function key.
    """
    routes = allow_anonymous(ROUTES, RAG_QUERY) if public_query else ROUTES
    application = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
    get_kit = get_kit or make_kit_getter(get_settings)
    service = http.Service(get_settings, get_kit)
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


app = build_app(cache(settings.load_settings), public_query=settings.is_public_query_enabled())
