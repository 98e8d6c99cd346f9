"""The codec between Azure Functions and the domain: mounts the operations, parses requests, maps errors to statuses."""

import asyncio
import base64
import binascii
import json
import logging
import math
import re
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import azure.functions as func

from functions.routes import Call, Operation, Principal
from rag_core.core import errors
from rag_core.core.errors import Forbidden, InvalidRequest, RagError, TooLarge, UnsupportedDocument
from rag_core.core.run import Run
from rag_core.core.settings import LOOPBACK, Settings

if TYPE_CHECKING:
    from rag_core.core.kit import Kit

T = TypeVar("T")

logger = logging.getLogger(__name__)

STATUS: Mapping[type[RagError], int] = {
    errors.InvalidRequest: 400,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.TooLarge: 413,
    errors.UnsupportedDocument: 415,
    errors.UnreadableDocument: 422,
    errors.Misconfigured: 503,
    errors.Unavailable: 503,
    errors.Unread: 503,
    errors.DeadlineExceeded: 504,
    errors.StorageFull: 507,
}
RETRY_AFTER_S = 5
# no-store: a shared cache knows nothing of keys and users; nosniff: a browser must take it for nothing but JSON
HEADERS: Mapping[str, str] = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
MAX_BODY = 1024 * 1024
MAX_DEPTH = 32  # the deepest request that we accept has 4

PRINCIPAL = "x-ms-client-principal"
ROLE_CLAIMS = ("roles", "http://schemas.microsoft.com/ws/2008/06/identity/claims/role")
USER_CLAIMS = (  # in order of preference; the object id is the same in every application of a tenant
    "http://schemas.microsoft.com/identity/claims/objectidentifier",
    "oid",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier",
)


def mount(
    app: func.FunctionApp,
    operations: Iterable[Operation],
    get_settings: Callable[[], Settings],
    get_kit: Callable[[], "Kit"],
) -> None:
    """Add each operation to the app as a function. Settings and kit are first built by a request, not before."""
    for operation in operations:
        level = func.AuthLevel.ANONYMOUS if operation.anonymous else func.AuthLevel.FUNCTION
        routed = app.route(operation.route, methods=operation.methods, auth_level=level)
        app.function_name(operation.name)(routed(handler(operation, get_settings, get_kit)))


def handler(
    operation: Operation, get_settings: Callable[[], Settings], get_kit: Callable[[], "Kit"]
) -> Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]:
    """Return the function that the worker calls for an operation; it turns every exception into an error reply."""

    async def handle(req: func.HttpRequest) -> func.HttpResponse:  # the worker binds by the name `req`
        run_id = uuid.uuid4().hex
        try:
            settings = get_settings()
            run = Run(settings.request_timeout_s, id=run_id)
            trusted_headers = req.headers if settings.trust_principal else {}
            caller = principal(trusted_headers, settings.workflow_claim)
            _admit(caller, operation)
            request = await asyncio.to_thread(read, req, operation, settings)
            call = Call(settings, get_kit(), run, caller, req.headers)
            reply = await resolve_name(operation.handler)(request, call)
            return written(_status(reply, operation), reply)
        except RagError as error:
            return refused(error, run_id)
        except Exception:
            logger.exception("%s failed in run %s", operation.name, run_id)
            return refused(RagError("the server failed; its log has this run_id", code="internal"), run_id)

    return handle


def _status(reply: Mapping[str, Any], operation: Operation) -> int:
    """Return 202 for a job that was accepted, 207 for a reply with failed parts, else 200."""
    if operation.accepted and "status_url" in reply:
        return 202
    return 207 if reply.get("failed") else 200


def _admit(who: Principal, operation: Operation) -> None:
    """Raise Forbidden when the operation needs a role that the caller does not have."""
    if operation.role and operation.role not in who.roles:
        raise Forbidden(f"the role {operation.role} is required in the credential of the platform's authentication")


def read(req: func.HttpRequest, operation: Operation, settings: Settings) -> Any:
    """Return the parsed request of an operation, None when it has no request model.

    The fields come from the route, and from the query string of a GET or the JSON body of another method. A DELETE
    without a body is read from its query string, because some clients cannot send a body with it.
    """
    if operation.request is None:
        return None
    from functions import wire

    model = getattr(wire, operation.request)
    if req.method == "GET" or (req.method == "DELETE" and not req.get_body()):
        texts = {name: value for name, value in req.params.items() if name != "code"}  # `code` is the function key
        return wire.parse(model, _addressed(_printable(texts), req), texts=True)
    return wire.parse(model, _addressed(_body(req, operation, settings), req))


def _body(req: func.HttpRequest, operation: Operation, settings: Settings) -> dict[str, Any]:
    """Return the JSON object of the body, {} where an operation may be called without one."""
    if operation.bodiless and not req.get_body():
        return {}
    if not says_json(req):
        raise UnsupportedDocument("the body must be application/json", code="unsupported_media_type")
    upload_bytes = settings.max_upload_bytes * 4 // 3 if operation.uploads else 0  # base64 makes three bytes four
    return parsed(req.get_body(), limit=MAX_BODY + upload_bytes)


def _addressed(given: dict[str, Any], req: func.HttpRequest) -> dict[str, Any]:
    """Return the fields with those of the route. Raises InvalidRequest for one that is given in both places."""
    duplicate = next((name for name in given if name in req.route_params), None)
    if duplicate:
        raise InvalidRequest(duplicate, "is in the address: leave it out elsewhere")
    return given | _printable(dict(req.route_params))


def says_json(req: func.HttpRequest) -> bool:
    """Return whether the content type is JSON, which a page of another site cannot send without a CORS preflight."""
    content_type: str = req.headers.get("content-type", "")
    return content_type.partition(";")[0].strip().lower() == "application/json"


def is_here(address: str) -> bool:
    """Return whether the URL names this machine."""
    try:
        return urlsplit(address).hostname in LOOPBACK
    except ValueError:
        return False


def parsed(body: bytes, *, limit: int = MAX_BODY) -> dict[str, Any]:
    """Return the JSON object in `body`. Raises as the strict parser does, and InvalidRequest for another JSON value."""
    data = read_json(body, limit=limit)
    if not isinstance(data, dict):
        raise InvalidRequest("body", "must be a JSON object", code="invalid_json")
    return data


def read_json(body: bytes, *, limit: int = MAX_BODY) -> Any:
    """Parse `body` as JSON strictly, guessing and dropping nothing.

    Raises:
        TooLarge: the body is over the limit of bytes.
        InvalidRequest: the body is nested deeper than 32 (checked first, because the parser recurses), not UTF-8 or
            not JSON; it has NaN, Infinity or a duplicate name; or a text has NUL or half a surrogate pair.
    """
    if len(body) > limit:
        raise TooLarge(f"the body is over {limit} bytes", field="body", details={"limit_bytes": limit})
    if not body:
        raise InvalidRequest("body", "is empty: send a JSON object, with its Content-Length", code="invalid_json")
    _check_depth(body)
    try:
        data = json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_number, parse_float=_number)
    except UnicodeDecodeError:
        raise InvalidRequest("body", "must be UTF-8", code="invalid_json") from None
    except ValueError:  # also for an integer of more digits than Python parses
        raise InvalidRequest("body", "must be JSON", code="invalid_json") from None
    return _printable(data)


STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # to its end or the body's; possessive, so linear
ONE_KIND = bytes.maketrans(b"{}", b"[]")
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _check_depth(body: bytes) -> None:
    """Raise InvalidRequest when the brackets are nested too deep or not closed.

    The innermost pairs are removed once per allowed level; any bracket left is too deep or has no partner.
    """
    brackets = STRING.sub(b"", body).translate(ONE_KIND, NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        message = f"must be JSON with its brackets closed, nested at most {MAX_DEPTH} deep"
        raise InvalidRequest("body", message, code="invalid_json")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs. Raises InvalidRequest for a duplicate name."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidRequest(name[:100], "must be given only once", code="invalid_json")
    return fields


def _number(text: str) -> float:
    """Return the float. Raises InvalidRequest when it is not finite."""
    number = float(text)
    if not math.isfinite(number):  # NaN, Infinity, 1e999
        raise InvalidRequest("body", "must not have NaN, Infinity or a number beyond a float", code="invalid_json")
    return number


UNPRINTABLE = re.compile("[\0\ud800-\udfff]")


def _printable(data: T) -> T:
    """Return `data` unchanged. Raises InvalidRequest for a text that UTF-8 or a database cannot store."""
    pending: list[tuple[str, Any]] = [("", data)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, str) and UNPRINTABLE.search(value):
            raise InvalidRequest(path or "body", "must not have NUL or half a surrogate pair", code="invalid_text")
        if isinstance(value, dict):
            pending += [(path or "body", name) for name in value]
            pending += [(f"{path}.{name[:100]}".lstrip("."), item) for name, item in value.items()]
        if isinstance(value, list):
            pending += [(f"{path}.{place}", item) for place, item in enumerate(value)]
    return data


def principal(headers: Mapping[str, str], workflow_claim: str | None = None) -> Principal:
    """Return the caller named by the platform's authentication, an anonymous one when the header is missing.

    With a `workflow_claim`, the values of that claim are the only workflows the caller may name; without such a claim
    in the credential, there are none. Raises InvalidRequest for a header that names no user.
    """
    header = headers.get(PRINCIPAL)
    claims = _claims(header) if header else []
    users = [value for kind in USER_CLAIMS for value in _of(kind, claims)]
    if header and not users:
        raise _invalid_principal()
    workflows = _of(workflow_claim, claims) if workflow_claim else None
    roles = tuple(role for kind in ROLE_CLAIMS for role in _of(kind, claims))
    return Principal(users[0] if users else None, _of("groups", claims), workflows, roles)


def _claims(header: str) -> list[tuple[str, str]]:
    """Return the claims of the header as pairs of type and value. Raises InvalidRequest when it cannot be decoded."""
    try:
        return [(claim["typ"], claim["val"]) for claim in json.loads(base64.b64decode(header))["claims"]]
    except (binascii.Error, ValueError, KeyError, TypeError):
        raise _invalid_principal() from None


def _of(kind: str, claims: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(value for typ, value in claims if typ == kind)


def _invalid_principal() -> InvalidRequest:
    return InvalidRequest(PRINCIPAL, "must be a client principal with an object id", code="invalid_principal")


def written(
    status: int, body: Mapping[str, Any] | list[Any], headers: Mapping[str, str] | None = None
) -> func.HttpResponse:
    """Return a JSON response. Raises ValueError for NaN; half a surrogate pair, as in some PDFs, becomes "?"."""
    data = json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")
    all_headers = {**HEADERS, **(headers or {})}
    return func.HttpResponse(data, status_code=status, mimetype="application/json", headers=all_headers)


def refused(error: RagError, run_id: str) -> func.HttpResponse:
    """Return the response for an error: one JSON shape for all of them, with the status of its class."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    error_fields = {
        "code": error.code,
        "message": error.message,
        "field": error.field,
        "retryable": error.retryable,
        "details": error.details,
    }
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 and error.retryable else {}
    return written(status, {"success": False, "error": error_fields, "run_id": run_id}, headers)
