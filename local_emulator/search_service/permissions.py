"""Show a reader only the documents that their permission fields allow, as the user's token says who is asking.

The service fetches the groups of a user from Microsoft Graph; here they stand in the token itself. Signatures are not
checked: the token is a stand-in of a test, and whoever may call the service may write one.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from werkzeug.wrappers import Request

from .expressions import get_value
from .refusals import make_refusal, make_unimplemented_refusal
from .schema import Schema

TOKEN = "x-ms-query-source-authorization"  # noqa: S105
ELEVATED = "x-ms-enable-elevated-read"
EVERYBODY = "all"  # as a value of a field: every user may read the document
CLAIMS: Mapping[str, str] = {"userIds": "oid", "groupIds": "groups", "rbacScope": "scopes"}


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader is whom a search answers: `allowed` has the values that let them read, by field; None reads all."""

    allowed: Mapping[str, frozenset[str]] | None = None

    def may_read(self, document: Any) -> bool:
        """Tell whether any one of the permission fields lets the reader see a document."""
        if self.allowed is None:
            return True
        return any(
            not values.isdisjoint(get_value(document, path.split("/")) or ()) for path, values in self.allowed.items()
        )


def make_reader(request: Request, schema: Schema) -> Reader:
    """Make the reader of a request; without a token only what everybody may read is seen."""
    if schema.definition["permissionFilterOption"] != "enabled":
        if TOKEN in request.headers:
            _read_claims(request.headers[TOKEN])  # checked also where nothing is filtered
        refuse_labels(schema)
        return Reader()
    if request.headers.get(ELEVATED, "").lower() == "true":
        refuse_labels(schema)
        return Reader()
    claims = _read_claims(request.headers[TOKEN]) if TOKEN in request.headers else {}
    refuse_labels(schema)
    return Reader({path: _list_values(claims, kind) for path, kind in schema.permission_fields.items()})


def refuse_labels(schema: Schema) -> None:
    """Refuse to read what sensitivity labels guard: nobody here can say who may see which label."""
    if schema.definition["purviewEnabled"]:
        raise make_unimplemented_refusal("reading an index with 'purviewEnabled'")


def _list_values(claims: Mapping[str, Any], kind: str) -> frozenset[str]:
    given = claims.get(CLAIMS[kind], [])
    values: Sequence[str] = [given] if isinstance(given, str) else given
    everybody = [EVERYBODY] if kind != "rbacScope" else []
    return frozenset((*values, *everybody))


def _read_claims(token: str) -> dict[str, Any]:
    parts = token.removeprefix("Bearer ").split(".")
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        claims = json.loads(base64.urlsafe_b64decode(padded))
    except (IndexError, ValueError, binascii.Error) as failure:
        raise make_refusal(f"Invalid header: '{TOKEN}'") from failure
    if not isinstance(claims, dict):
        raise make_refusal(f"Invalid header: '{TOKEN}'")
    return claims
