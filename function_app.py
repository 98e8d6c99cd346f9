"""What the Functions host imports: settings and parts, read and built at the first request, and the routes."""

from collections.abc import Callable
from functools import cache

import azure.functions as func

from functions import http
from functions.routes import OPERATIONS
from rag_core import bootstrap, settings
from rag_core.kit import Kit


def build(get_settings: Callable[[], settings.Settings], get_kit: Callable[[], Kit] | None = None) -> func.FunctionApp:
    """An app over the parts that these settings choose, unless others are given."""
    application = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
    http.mount(application, OPERATIONS, get_settings, get_kit or cache(lambda: bootstrap.build(get_settings())))
    return application


app = build(cache(settings.load))
