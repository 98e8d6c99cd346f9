"""Give each version of a definition its ETag, and refuse what is conditional on another one."""

import uuid

from werkzeug.wrappers import Request

from .refusals import ServiceRefusal


def make_etag() -> str:
    return f'"0x{uuid.uuid4().hex[:15].upper()}"'


def check_etag(request: Request, held: str | None) -> None:
    """Refuse what is conditional on a state that the resource is not in; `held` is None when it is not there."""
    wanted, unwanted = request.headers.get("If-Match"), request.headers.get("If-None-Match")
    unmatched = wanted is not None and (held is None if wanted == "*" else wanted.strip('"') != str(held).strip('"'))
    if unmatched or (unwanted is not None and held is not None and unwanted.strip('"') in ("*", held.strip('"'))):
        raise ServiceRefusal(
            412,
            "The precondition given in one of the request headers evaluated to false. No change was made to the "
            "resource from this request.",
        )
