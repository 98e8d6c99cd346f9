"""What the Functions host imports: settings and parts, read and built at the first request, and the routes."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import azure.functions as func

from functions import http, mcp, pages, triggers
from functions.routes import OPERATIONS, RAG_QUERY, opened
from rag_core.core import settings

if TYPE_CHECKING:
    from rag_core.core.kit import Kit


def build(
    get_settings: Callable[[], settings.Settings],
    get_kit: "Callable[[], Kit] | None" = None,
    *,
    public_query: bool = False,
) -> func.FunctionApp:
    """An app over the parts that these settings choose, unless others are given. A public query wants no key."""
    operations = opened(OPERATIONS, RAG_QUERY) if public_query else OPERATIONS
    application = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
    parts = get_kit or parts_for(get_settings)
    http.mount(application, operations, get_settings, parts)
    mcp.mount(application, operations, get_settings, parts)
    pages.mount(application)
    triggers.mount(application, get_settings, parts)
    return application


def parts_for(get_settings: Callable[[], settings.Settings]) -> "Callable[[], Kit]":
    """The parts that these settings choose; what makes them is loaded by the first request, not by the host."""

    @cache
    def parts() -> "Callable[[], Kit]":
        from rag_core.composition import assembly

        return assembly.Parts(get_settings)

    return lambda: parts()()


app = build(cache(settings.load), public_query=settings.public_query())
