"""Between Azure Functions and the domain: read strictly, reply strictly, map errors, mount the operations."""

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
# kept by no cache between, which knows nothing of keys and users; taken for nothing but JSON
HEADERS: Mapping[str, str] = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
MAX_BODY = 1024 * 1024
MAX_DEPTH = 32  # the deepest request of ours has 4

PRINCIPAL = "x-ms-client-principal"
ROLE_CLAIMS = ("roles", "http://schemas.microsoft.com/ws/2008/06/identity/claims/role")
USER_CLAIMS = (  # the object id first: it is the same in every application of a tenant
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
    """Make each operation a function of the app. Settings and kit are asked for by requests, not before."""
    for operation in operations:
        level = func.AuthLevel.ANONYMOUS if operation.anonymous else func.AuthLevel.FUNCTION
        routed = app.route(operation.route, methods=operation.methods, auth_level=level)
        app.function_name(operation.name)(routed(handler(operation, get_settings, get_kit)))


def handler(
    operation: Operation, get_settings: Callable[[], Settings], get_kit: Callable[[], "Kit"]
) -> Callable[[func.HttpRequest], Awaitable[func.HttpResponse]]:
    """An operation as the worker calls it: every refusal and every fault of ours is a reply."""

    async def handle(req: func.HttpRequest) -> func.HttpResponse:  # the worker binds by the name `req`
        run_id = uuid.uuid4().hex
        try:
            settings = get_settings()
            run = Run(settings.request_timeout_s, id=run_id)
            vouched = req.headers if settings.trust_principal else {}
            who = principal(vouched, settings.workflow_claim)
            _admit(who, operation)
            request = await asyncio.to_thread(read, req, operation, settings)
            call = Call(settings, get_kit(), run, who, req.headers)
            reply = await resolve_name(operation.handler)(request, call)
            return written(_status(reply, operation), reply)
        except RagError as error:
            return refused(error, run_id)
        except Exception:
            logger.exception("%s failed in run %s", operation.name, run_id)
            return refused(RagError("failed by a fault of ours, logged under this run_id", code="internal"), run_id)

    return handle


def _status(reply: Mapping[str, Any], operation: Operation) -> int:
    if operation.accepted and "status_url" in reply:
        return 202
    return 207 if reply.get("failed") else 200


def _admit(who: Principal, operation: Operation) -> None:
    if operation.role and operation.role not in who.roles:
        raise Forbidden(f"this wants the role {operation.role} in the credential of the platform's authentication")


def read(req: func.HttpRequest, operation: Operation, settings: Settings) -> Any:
    """The request of an operation: its address, and the query string of a GET, else the JSON body.

    A DELETE, whose body some clients cannot send, may have either.
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
    if operation.bodiless and not req.get_body():
        return {}
    if not says_json(req):
        raise UnsupportedDocument("the body must be application/json", code="unsupported_media_type")
    upload = settings.max_upload_bytes * 4 // 3 if operation.uploads else 0  # base64 makes three bytes four
    return parsed(req.get_body(), limit=MAX_BODY + upload)


def _addressed(given: dict[str, Any], req: func.HttpRequest) -> dict[str, Any]:
    """With the fields that are in the address: there alone, so that the two cannot differ."""
    twice = next((name for name in given if name in req.route_params), None)
    if twice:
        raise InvalidRequest(twice, "is in the address: leave it out elsewhere")
    return given | _printable(dict(req.route_params))


def says_json(req: func.HttpRequest) -> bool:
    """Whether the body is said to be JSON: a page of another site cannot say so without asking the browser first."""
    kind: str = req.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "application/json"


def is_here(address: str) -> bool:
    """Whether the address is this machine's."""
    try:
        return urlsplit(address).hostname in LOOPBACK
    except ValueError:
        return False


def parsed(body: bytes, *, limit: int = MAX_BODY) -> dict[str, Any]:
    """The JSON object in `body`. Raises TooLarge and InvalidRequest: as `read_json`, or it is not an object."""
    data = read_json(body, limit=limit)
    if not isinstance(data, dict):
        raise InvalidRequest("body", "must be a JSON object", code="invalid_json")
    return data


def read_json(body: bytes, *, limit: int = MAX_BODY) -> Any:
    """The JSON in `body`, read strictly: nothing is guessed, nothing is dropped.

    Raises:
        TooLarge: over `limit` bytes.
        InvalidRequest: nested deeper than 32, not UTF-8, not JSON, NaN or Infinity, a name twice, NUL or half
            a surrogate pair in a text. Depth is checked before the parser, which recurses.
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
    except ValueError:  # also an integer of more digits than Python reads
        raise InvalidRequest("body", "must be JSON", code="invalid_json") from None
    return _printable(data)


STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # to its end or the body's; possessive, so linear
ONE_KIND = bytes.maketrans(b"{}", b"[]")
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _check_depth(body: bytes) -> None:
    """Takes the innermost brackets away, level by level: what is then left is too deep or was never closed."""
    brackets = STRING.sub(b"", body).translate(ONE_KIND, NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        message = f"must be JSON with its brackets closed, nested at most {MAX_DEPTH} deep"
        raise InvalidRequest("body", message, code="invalid_json")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidRequest(name[:100], "must stand once", code="invalid_json")
    return fields


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):  # NaN, Infinity, 1e999
        raise InvalidRequest("body", "must not hold NaN, Infinity or numbers beyond them", code="invalid_json")
    return number


UNPRINTABLE = re.compile("[\0\ud800-\udfff]")


def _printable(data: T) -> T:
    """`data`, none of whose texts holds what UTF-8 or a database cannot keep."""
    todo: list[tuple[str, Any]] = [("", data)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, str) and UNPRINTABLE.search(value):
            raise InvalidRequest(path or "body", "must not hold NUL or half a surrogate pair", code="invalid_text")
        if isinstance(value, dict):
            todo += [(path or "body", name) for name in value]
            todo += [(f"{path}.{name[:100]}".lstrip("."), item) for name, item in value.items()]
        if isinstance(value, list):
            todo += [(f"{path}.{place}", item) for place, item in enumerate(value)]
    return data


def principal(headers: Mapping[str, str], workflow_claim: str | None = None) -> Principal:
    """Who asks, as the platform's authentication vouches for it; nobody when it names none.

    With a `workflow_claim` its values are the only workflows that may be named: none for who has no such claim.
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
    """A strict JSON reply. Raises ValueError for NaN; half a surrogate pair, as in some PDFs, becomes "?"."""
    data = json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")
    said = {**HEADERS, **(headers or {})}
    return func.HttpResponse(data, status_code=status, mimetype="application/json", headers=said)


def refused(error: RagError, run_id: str) -> func.HttpResponse:
    """The error contract: the same shape for every refusal."""
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    told = {
        "code": error.code,
        "message": error.message,
        "field": error.field,
        "retryable": error.retryable,
        "details": error.details,
    }
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 and error.retryable else {}
    return written(status, {"success": False, "error": told, "run_id": run_id}, headers)
