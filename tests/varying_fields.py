"""The fields of a reply that vary from call to call, in one place for every test that compares replies."""

from collections.abc import Mapping
from typing import Any

VARYING_FIELDS = ("run_id", "timings")


def drop_varying_fields(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The reply without them, but with the steps that were timed."""
    lasting = {name: value for name, value in reply.items() if name not in VARYING_FIELDS}
    return {**lasting, "steps": sorted(reply.get("timings", {}))}
