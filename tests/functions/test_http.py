"""The strict reader, the strict writer and the error contract."""

import base64
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypedDict

import azure.functions as func
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions import http, strict_json
from functions.documents import SummaryRequest
from functions.operations import Call, operation
from functions.routes import Route
from rag_core.core import errors
from rag_core.core.settings import Settings

SETTINGS = Settings(data_dir=None)
PLANTED = Route("planted", ("GET", "POST"), "api/planted", __name__)


def planted(name: str) -> Route:
    """A route to another of the handlers below."""
    return replace(PLANTED, name=name)


class Reply(TypedDict, total=False):
    """Whatever a handler below replies with."""

    document_id: str
    user_id: str | None
    groups: list[str]
    score: float
    text: str
    more: str
    scope: str


async def echo(request: SummaryRequest, call: Call) -> Reply:
    return {
        "document_id": request.document_id,
        "user_id": call.principal.user_id,
        "groups": list(call.principal.groups),
    }


@operation("", errors=())
async def handle_planted(request: SummaryRequest, call: Call) -> Reply:
    return await echo(request, call)


@operation("", errors=(), takes_upload=True)
async def handle_upload(request: SummaryRequest, call: Call) -> Reply:
    return await echo(request, call)


@operation("", errors=(), body_optional=True)
async def handle_addressed(request: SummaryRequest, call: Call) -> Reply:
    return await echo(request, call)


@operation("", errors=())
async def handle_nan(request: SummaryRequest, call: Call) -> Reply:
    return {"score": float("nan")}


@operation("", errors=())
async def handle_half_a_pair(request: SummaryRequest, call: Call) -> Reply:
    return {"text": "caf\ud83d", "more": "café"}


@operation("", errors=())
async def handle_broken(request: SummaryRequest, call: Call) -> Reply:
    raise ZeroDivisionError("secret number 42")


@operation("", errors=())
async def handle_named(request: None, call: Call) -> Reply:
    return {"scope": call.resolve_scope("north").workflow_id}


def function(route: Route = PLANTED, settings: Settings = SETTINGS) -> Callable[..., Awaitable[Any]]:
    """The operation as the worker gets it."""
    app = func.FunctionApp()
    http.mount_operations(app, [route], http.Service(lambda: settings, lambda: None))  # type: ignore[arg-type, return-value]
    return app.get_functions()[0].get_user_function()  # type: ignore[no-any-return]


def request(body: bytes = b"{}", *, method: str = "POST", params: Any = None, **headers: str) -> func.HttpRequest:
    named = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return func.HttpRequest(method=method, url="http://x/api/planted", body=body, headers=named, params=params)


async def answer(asked: func.HttpRequest, route: Route = PLANTED, settings: Settings = SETTINGS) -> Any:
    reply = await function(route, settings)(req=asked)
    return reply.status_code, json.loads(reply.get_body()), reply.headers


async def test_a_claim_that_nobody_vouches_for_opens_no_workflow() -> None:
    """C13 (RELIABILITY): where the platform's authentication was left off, tenants are not left open to each other."""
    for claim, status in ((None, 200), ("tenant", 404)):
        header = credential(("oid", "ann"), ("tenant", "north"))
        asked = request(x_ms_client_principal=header)
        chosen = replace(SETTINGS, trust_principal=False, workflow_claim=claim)
        assert (await answer(asked, planted("named"), chosen))[0] == status


@pytest.mark.parametrize("body", [b'{"document_id": "a"}', b"{"])
async def test_no_cache_on_the_way_keeps_a_reply_and_no_browser_takes_it_for_a_page(body: bytes) -> None:
    """A cache in front knows nothing of the key and the user by which a reply was given."""
    _, _, headers = await answer(request(body))
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")


DEEP = 100_000
HOSTILE = {
    "not JSON": (b"{", "body"),
    "nothing": (b"", "body"),
    "two objects": (b"{}{}", "body"),
    "an array": (b"[]", "body"),
    "a text": (b'"x"', "body"),
    "deep arrays": (b"[" * DEEP, "body"),
    "deep objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "body"),
    "deep after a string with a quote": (b'{"a":"\\"",' + b'"b":' + b"[" * DEEP, "body"),
    "NaN": (b'{"document_id": NaN}', "body"),
    "Infinity": (b'{"document_id": -Infinity}', "body"),
    "an infinite exponent": (b'{"document_id": 1e999}', "body"),
    "an integer of 5000 digits": (b'{"document_id": ' + b"9" * 5000 + b"}", "body"),
    "a name twice": (b'{"document_id": "a", "document_id": "b"}', "document_id"),
    "a name twice, inside": (b'{"x": {"workflow_id": 1, "workflow_id": 2}}', "workflow_id"),
    "not UTF-8": (b'{"document_id": "\xff"}', "body"),
    "UTF-16": ('{"document_id": "a"}'.encode("utf-16"), "body"),
    "half a surrogate pair": (b'{"document_id": "\\ud800"}', "document_id"),
    "half a pair as a name": (b'{"\\udfff": 1}', "body"),
    "NUL": (b'{"a": [1, {"b": "x\\u0000"}]}', "a.1.b"),
    "a raw control character": (b'{"document_id": "\x01"}', "body"),
}


@pytest.mark.parametrize(("body", "field"), HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_body_is_refused_with_its_field(body: bytes, field: str) -> None:
    """C01 C02 C03 C04 F15: 400 and the error contract, whatever the parser would have made of it."""
    status, reply, _ = await answer(request(body))
    assert (status, reply["success"], reply["error"]["field"]) == (400, False, field)
    assert set(reply["error"]) == {"code", "message", "field", "retryable", "details"}
    assert len(reply["run_id"]) == 32


async def test_a_body_that_did_not_arrive_is_called_empty() -> None:
    """The host drops a body without Content-Length (AZURE.md): "must be JSON" would send its author astray."""
    _, reply, _ = await answer(request(b""))
    assert "is empty: send a JSON object, with its Content-Length" in reply["error"]["message"]


async def test_a_body_that_is_no_json_is_told_from_where() -> None:
    _, reply, _ = await answer(request(b'{"document_id": "a",\n title}'))
    assert reply["error"]["message"] == "body must be JSON, and is none from line 2, column 2 on"


async def test_a_field_that_is_nearly_a_known_one_is_told_with_it() -> None:
    _, reply, _ = await answer(request(b'{"document_id": "a", "refesh": true}'))
    assert reply["error"]["message"] == "refesh is not a field of this request; is refresh meant?"


WRONG = {
    "a number for a text": (b'{"document_id": 5}', "document_id"),
    "nothing for a text": (b'{"document_id": null}', "document_id"),
    "a text for a truth value": (b'{"document_id": "a", "refresh": "true"}', "refresh"),
    "a number for a truth value": (b'{"document_id": "a", "refresh": 1}', "refresh"),
    "an unknown field": (b'{"document_id": "a", "user_id": "someone"}', "user_id"),
    "a missing field": (b"{}", "document_id"),
    "an id of other characters": (b'{"document_id": "x\' or 1 eq 1"}', "document_id"),
}


@pytest.mark.parametrize(("body", "field"), WRONG.values(), ids=WRONG)
async def test_a_wrong_field_is_named(body: bytes, field: str) -> None:
    """C06 C13: nothing is coerced and an unknown field, user_id too, is refused by its name."""
    status, reply, _ = await answer(request(body))
    assert (status, reply["error"]["code"], reply["error"]["field"]) == (400, "invalid_request", field)
    assert reply["error"]["message"].startswith(field)


@pytest.mark.parametrize(
    ("levels", "fits"), [(strict_json.MAX_JSON_DEPTH, True), (strict_json.MAX_JSON_DEPTH + 1, False)]
)
def test_depth_is_counted_exactly_and_not_in_strings(levels: int, fits: bool) -> None:
    """C01: the last level that is allowed, with every bracket in a string as well."""
    half = levels // 2
    body = b'{"[[{":[' * half + b'{"\\"{[":1}' * (levels % 2) + b'"]]}"' * (1 - levels % 2) + b"]}" * half
    if fits:
        assert strict_json.parse_json_object(body)
    else:
        with pytest.raises(errors.InvalidRequest, match="at most 32 deep"):
            strict_json.parse_json_object(body)


async def test_a_body_over_the_limit_is_refused_before_it_is_read() -> None:
    """C05: size comes before everything else, so that rubbish over the limit is too large and not malformed."""
    status, reply, _ = await answer(request(b"[" * (strict_json.MAX_BODY_BYTES + 1)))
    assert (status, reply["error"]["code"]) == (413, "too_large")
    assert reply["error"]["details"] == {"limit_bytes": strict_json.MAX_BODY_BYTES}


@pytest.mark.parametrize("size", [40, http.MAX_BYTES_READ_AT_ONCE + 1])
async def test_only_a_large_body_waits_for_a_thread(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_threads = []

    async def call(function: Callable[[], Any]) -> Any:
        in_threads.append(function)
        return function()

    monkeypatch.setattr(http.asyncio, "to_thread", call)
    body = json.dumps({"document_id": "a"}).encode().ljust(size)
    status, reply, _ = await answer(request(body))
    assert (status, reply["document_id"], len(in_threads)) == (200, "a", int(size > http.MAX_BYTES_READ_AT_ONCE))


async def test_an_upload_may_be_as_large_as_its_document_in_base64() -> None:
    uploads, body = planted("upload"), b" " * (strict_json.MAX_BODY_BYTES + 1000) + b'{"document_id": "a"}'
    small = replace(SETTINGS, max_upload_bytes=1)
    assert (await answer(request(body), uploads))[0] == 200
    assert (await answer(request(body), uploads, small))[0] == 413


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
async def test_a_body_that_is_not_said_to_be_json_is_refused(kind: str) -> None:
    """C08: also what keeps a page of another site from posting without asking the browser first."""
    status, reply, _ = await answer(request(b'{"document_id": "a"}', content_type=kind))
    assert (status, reply["error"]["code"]) == (415, "unsupported_media_type")


async def test_parameters_of_the_content_type_do_not_matter() -> None:
    asked = request(b'{"document_id": "a"}', content_type="Application/JSON; charset=utf-8")
    assert (await answer(asked))[0] == 200


async def test_a_get_is_read_from_its_query_by_the_same_model() -> None:
    code = {"document_id": "a", "refresh": "true", "code": "the function key"}
    assert (await answer(request(method="GET", params=code)))[0] == 200
    status, reply, _ = await answer(request(method="GET", params={"document_id": "a", "refresh": "perhaps"}))
    assert (status, reply["error"]["field"]) == (400, "refresh")
    assert (await answer(request(method="GET", params={"document_id": "a\0"})))[0] == 400


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_a_body_is_an_object_or_refused(body: bytes) -> None:
    with suppress(errors.InvalidRequest):  # anything else that is raised fails this
        assert isinstance(strict_json.parse_json_object(body), dict)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), JSON))
def test_what_json_can_say_is_read_as_it_was_said(data: dict[str, Any]) -> None:
    said = json.dumps(data, ensure_ascii=False)
    if "\\u0000" in said.replace("\\\\", ""):
        with pytest.raises(errors.InvalidRequest):
            strict_json.parse_json_object(said.encode())
    else:
        assert strict_json.parse_json_object(said.encode()) == data


STATUSES = {
    errors.InvalidRequest("top_k", "must be less"): 400,
    errors.Forbidden("not yours to do"): 403,
    errors.NotFound("no such document"): 404,
    errors.Conflict("embed it first"): 409,
    errors.TooLarge("over 5 bytes"): 413,
    errors.UnsupportedDocument("send pdf"): 415,
    errors.UnreadableDocument("encrypted"): 422,
    errors.Misconfigured("no key"): 503,
    errors.Unavailable("no reply"): 503,
    errors.NotChosen("not here"): 503,
    errors.UnsupportedScript("in another script"): 503,
    errors.DeadlineExceeded("late"): 504,
    errors.Overloaded("busy", retry_after_s=7): 429,
    errors.StorageFull("full"): 507,
}


def test_every_error_has_a_status() -> None:
    assert set(http.STATUS_BY_ERROR) == {type(error) for error in STATUSES}
    assert {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.RagError)} == {
        errors.RagError,
        *http.STATUS_BY_ERROR,
    }


@pytest.mark.parametrize(("error", "status"), STATUSES.items(), ids=lambda x: getattr(x, "code", x))
async def test_an_error_becomes_its_status_and_the_contract(
    error: errors.RagError, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(request: SummaryRequest, call: Call) -> Reply:
        raise error

    monkeypatch.setattr("tests.functions.test_http.echo", fails)
    got, reply, headers = await answer(request(b'{"document_id": "a"}'))
    told = reply["error"]
    assert (got, told["code"], told["message"], told["field"]) == (status, error.code, error.message, error.field)
    assert told["retryable"] is error.retryable
    seconds = {503: "5", 429: "7"}.get(status)
    assert headers.get("Retry-After") == (seconds if error.retryable else None)


@pytest.mark.parametrize(("asked_s", "header"), [(None, "5"), (60.0, "60"), (0.2, "1"), (3600.4, "3601")])
async def test_the_time_to_wait_is_that_of_the_neighbour_in_whole_seconds(
    asked_s: float | None, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(request: SummaryRequest, call: Call) -> Reply:
        raise errors.Unavailable("no answer", details={"retry_after_s": asked_s})

    monkeypatch.setattr("tests.functions.test_http.echo", fails)
    _, _, headers = await answer(request(b'{"document_id": "a"}'))
    assert headers["Retry-After"] == header


async def test_a_fault_of_ours_is_logged_and_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        status, reply, _ = await answer(request(b'{"document_id": "a"}'), planted("broken"))
    assert (status, reply["error"]["code"]) == (500, "internal")
    assert "secret" not in json.dumps(reply)
    assert reply["run_id"] in caplog.text
    assert "secret number 42" in caplog.text


async def test_a_reply_with_nan_is_never_sent(caplog: pytest.LogCaptureFixture) -> None:
    """C02: a score that is not a number is our fault, not the caller's parser's problem."""
    status, reply, _ = await answer(request(b'{"document_id": "a"}'), planted("nan"))
    assert (status, reply["error"]["code"]) == (500, "internal")


async def test_half_a_surrogate_pair_from_a_document_does_not_break_the_reply() -> None:
    """C04: some PDFs hold them."""
    status, reply, _ = await answer(request(b'{"document_id": "a"}'), planted("half_a_pair"))
    assert (status, reply) == (200, {"text": "caf?", "more": "café"})


async def test_settings_that_cannot_be_used_are_the_operators_to_put_right() -> None:
    def misconfigured() -> Settings:
        raise errors.Misconfigured("RAG_TIMEOUT_S must be a number", field="RAG_TIMEOUT_S")

    app = func.FunctionApp()
    http.mount_operations(app, [PLANTED], http.Service(misconfigured, lambda: None))  # type: ignore[arg-type, return-value]
    reply = await app.get_functions()[0].get_user_function()(req=request())
    assert reply.status_code == 503
    assert json.loads(reply.get_body())["error"]["field"] == "RAG_TIMEOUT_S"


def credential(*claims: tuple[str, str]) -> str:
    told = {"auth_typ": "aad", "claims": [{"typ": typ, "val": value} for typ, value in claims]}
    return base64.b64encode(json.dumps(told).encode()).decode()


OID = "http://schemas.microsoft.com/identity/claims/objectidentifier"
NAME = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier"


async def test_who_asks_comes_from_the_platforms_credential() -> None:
    """C13 C18: user and groups are the credential's, and the object id comes before the name."""
    trusting = replace(SETTINGS, trust_principal=True)
    who = credential((NAME, "n1"), (OID, "u1"), ("groups", "g1"), ("groups", "g2"), ("name", "Ann"))
    asked = request(b'{"document_id": "a"}', x_ms_client_principal=who)
    assert (await answer(asked, settings=trusting))[1] == {"document_id": "a", "user_id": "u1", "groups": ["g1", "g2"]}
    nobody = request(b'{"document_id": "a"}')
    assert (await answer(nobody, settings=trusting))[1]["user_id"] is None


async def test_a_credential_is_not_believed_where_the_platform_does_not_vouch_for_it() -> None:
    """C13: without the platform's authentication in front anyone can send the header."""
    asked = request(b'{"document_id": "a"}', x_ms_client_principal=credential((OID, "u1")))
    assert (await answer(asked))[1]["user_id"] is None


@pytest.mark.parametrize("garbage", ["%%%", "e30=", "W10=", "bnVsbA==", credential(("name", "Ann"))])
async def test_a_credential_that_names_nobody_is_refused(garbage: str) -> None:
    """There is no fallback for who may see what."""
    asked = request(b'{"document_id": "a"}', x_ms_client_principal=garbage)
    status, reply, _ = await answer(asked, settings=replace(SETTINGS, trust_principal=True))
    assert (status, reply["error"]["code"]) == (400, "invalid_principal")


ADDRESSED = Route("addressed", ("POST", "PATCH", "PUT", "DELETE"), "rag/planted/{document_id}", __name__)


def addressed(method: str, body: bytes, **params: str) -> func.HttpRequest:
    return func.HttpRequest(
        method=method,
        url="http://x/rag/planted/a",
        body=body,
        headers={"content-type": "application/json"} if body else {},
        params=params,
        route_params={"document_id": "a"},
    )


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
async def test_what_stands_in_the_address_joins_the_body(method: str) -> None:
    """S0-15, S0-18: and is said once; a body is not needed where nothing of it is."""
    for body in (b"", b"{}", b'{"refresh": true}'):
        status, reply, _ = await answer(addressed(method, body), ADDRESSED)
        assert (status, reply["document_id"]) == (200, "a")
    status, reply, _ = await answer(addressed(method, b'{"document_id": "b"}'), ADDRESSED)
    assert (status, reply["error"]["field"]) == (400, "document_id")
    status, reply, _ = await answer(addressed(method, b'{"workflow": "x"}'), ADDRESSED)
    assert (status, reply["error"]["field"]) == (400, "workflow")


async def test_a_delete_without_a_body_reads_its_query_string() -> None:
    """Some clients send no body with it, and none drops one that it took for granted."""
    status, reply, _ = await answer(addressed("DELETE", b"", nothing="x"), ADDRESSED)
    assert (status, reply["error"]["field"]) == (400, "nothing")
    assert (await answer(addressed("DELETE", b"", workflow_id="w", code="the key"), ADDRESSED))[0] == 200
    assert (await answer(addressed("DELETE", b"{}", nothing="x"), ADDRESSED))[0] == 200


async def test_an_operation_that_wants_a_body_is_not_called_without() -> None:
    """S0-18, S0-29: an empty one is told as what it is."""
    status, reply, _ = await answer(addressed("POST", b""), replace(ADDRESSED, name="planted"))
    assert (status, reply["error"]["code"]) == (415, "unsupported_media_type")
