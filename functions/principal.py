"""The caller as the platform's authentication names it, in headers that it sets and that no caller can."""

import base64
import binascii
import json
from collections.abc import Iterable, Mapping

from functions.operations import Principal
from rag_core.core.errors import InvalidRequest

PRINCIPAL_HEADER = "x-ms-client-principal"
USER_TOKEN_HEADER = "x-ms-token-aad-access-token"  # noqa: S105 - where the platform puts the user's access token
ROLE_CLAIM_TYPES = ("roles", "http://schemas.microsoft.com/ws/2008/06/identity/claims/role")
USER_ID_CLAIM_TYPES = (  # in order of preference; the object id is the same in every application of a tenant
    "http://schemas.microsoft.com/identity/claims/objectidentifier",
    "oid",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier",
)


def principal_from_headers(headers: Mapping[str, str], workflow_claim: str | None = None) -> Principal:
    """Return the caller named by the platform's authentication, an anonymous one when the header is missing.

    With a `workflow_claim`, the values of that claim are the only workflows the caller may name; without such a claim
    in the credential, there are none. Raises InvalidRequest for a header that names no user.
    """
    header = headers.get(PRINCIPAL_HEADER)
    claims = _parse_claims(header) if header else []
    users = [value for kind in USER_ID_CLAIM_TYPES for value in _select_claim_values(kind, claims)]
    if header and not users:
        raise _make_principal_error()
    workflows = _select_claim_values(workflow_claim, claims) if workflow_claim else None
    roles = tuple(role for kind in ROLE_CLAIM_TYPES for role in _select_claim_values(kind, claims))
    return Principal(users[0] if users else None, _select_claim_values("groups", claims), workflows, roles)


def _parse_claims(header: str) -> list[tuple[str, str]]:
    """Return the claims of the header as pairs of type and value. Raises InvalidRequest when it cannot be decoded."""
    try:
        return [(claim["typ"], claim["val"]) for claim in json.loads(base64.b64decode(header))["claims"]]
    except (binascii.Error, ValueError, KeyError, TypeError):
        raise _make_principal_error() from None


def _select_claim_values(claim_type: str, claims: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(value for typ, value in claims if typ == claim_type)


def _make_principal_error() -> InvalidRequest:
    return InvalidRequest(PRINCIPAL_HEADER, "must be a client principal with an object id", code="invalid_principal")


def read_user_token(headers: Mapping[str, str]) -> str | None:
    """Return the access token of the signed-in user, None where the platform keeps none."""
    return headers.get(USER_TOKEN_HEADER) or None
