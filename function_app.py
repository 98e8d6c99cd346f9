"""What the Functions host imports: settings and parts, read and built at the first request, and the routes."""

from collections.abc import Callable
from functools import cache

import azure.functions as func

from functions import http
from functions.routes import OPERATIONS
from rag_core import bootstrap, settings


def build(get_settings: Callable[[], settings.Settings]) -> func.FunctionApp:
    """An app over the parts that these settings choose."""
    application = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
    http.mount(application, OPERATIONS, get_settings, cache(lambda: bootstrap.build(get_settings())))
    return application


app = build(cache(settings.load))
