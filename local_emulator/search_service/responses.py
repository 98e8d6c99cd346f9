"""Build the service's answers, with the headers that it was recorded to send, and read the bodies sent to it."""

import json
import math
from typing import Any

from werkzeug.wrappers import Request, Response

from .refusals import ServiceRefusal, make_refusal

Json = dict[str, Any]

PREFERENCE = 'odata.include-annotations="*"'


def parse_body(request: Request) -> Any:
    """Parse the body as strict JSON: no NaN, no half of a surrogate pair."""
    data = request.get_data()
    try:
        body = json.loads(data, parse_constant=_refuse_constant)
        if b"\\ud" in data.lower():
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as failure:
        raise make_refusal("The request is invalid. Details: parameters : The body is not valid JSON.") from failure
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def respond_without_body(status: int) -> Response:
    response = Response(status=status)
    del response.headers["Content-Type"]
    response.headers["Preference-Applied"] = PREFERENCE
    return response


def respond_with_count(count: int) -> Response:
    response = Response(str(count), content_type="text/plain; charset=utf-8")
    response.headers["OData-Version"] = "4.0"
    response.headers["Preference-Applied"] = PREFERENCE
    return response


def respond_with_minimal_metadata(body: Json, status: int = 200) -> Response:
    return _build_odata_response(body, status, "minimal")


def respond_about_documents(request: Request, name: str, model: str, body: Json, status: int = 200) -> Response:
    """Answer with the context of documents, unless the caller wants no metadata, as the SDKs do."""
    if "odata.metadata=none" in request.headers.get("Accept", "").replace(" ", ""):
        return _build_odata_response(body, status, "none")
    context = f"{request.host_url}indexes('{name}')/$metadata#{model}"
    return _build_odata_response({"@odata.context": context, **body}, status, "minimal")


def build_refusal_response(refusal: ServiceRefusal) -> Response:
    error: Json = {"code": refusal.code, "message": refusal.message}
    if refusal.detail:
        error["details"] = [{"code": refusal.detail, "message": refusal.detail_message or refusal.message}]
    response = Response(json.dumps({"error": error}), refusal.status)
    response.headers["Content-Type"] = "application/json; charset=utf-8"
    response.headers["Content-Language"] = "en"
    response.headers["Cache-Control"] = "no-store, no-cache"
    response.headers["Pragma"] = "no-cache"
    response.headers["Expires"] = "-1"
    if refusal.retry_after_s is not None:
        response.headers["Retry-After"] = str(refusal.retry_after_s)
    return response


def select_members(shown: list[Json], names: str | None) -> list[Json]:
    """Keep of each item of a list what `$select` names."""
    if not names or names == "*":
        return shown
    wanted = {name.strip() for name in names.split(",")}
    return [{name: value for name, value in one.items() if name in wanted} for one in shown]


def _build_odata_response(body: Json, status: int, metadata: str) -> Response:
    response = Response(_write_json(body), status)
    response.headers["Content-Type"] = (
        f"application/json; odata.metadata={metadata}; odata.streaming=true; charset=utf-8"
    )
    response.headers["OData-Version"] = "4.0"
    response.headers["Preference-Applied"] = PREFERENCE
    return response


def _write_json(body: Json) -> str:
    """Write JSON; doubles that are not finite become texts, as OData writes them."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json.dumps(_name_infinities(body), ensure_ascii=False, allow_nan=False)


def _name_infinities(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _name_infinities(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_name_infinities(item) for item in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
