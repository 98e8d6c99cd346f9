"""Say which api-versions the public service has had, and which members of an answer belong to previews alone."""

from collections.abc import Mapping
from typing import Any

from .refusals import ServiceRefusal

Json = dict[str, Any]

STABLE = (
    *("2015-02-28", "2016-09-01", "2017-11-11", "2019-05-06", "2020-06-30"),
    *("2023-11-01", "2024-07-01", "2025-09-01", "2026-04-01"),
)
PREVIEWS = (
    *("2015-02-28-preview", "2016-09-01-preview", "2017-11-11-preview", "2019-05-06-preview", "2020-06-30-preview"),
    *("2021-04-30-preview", "2023-07-01-preview", "2023-10-01-preview", "2024-03-01-preview", "2024-05-01-preview"),
    *("2024-09-01-preview", "2024-11-01-preview", "2025-03-01-preview", "2025-05-01-preview", "2025-08-01-preview"),
    *("2025-11-01-preview", "2026-05-01-preview", "2026-08-01-preview"),
)
VERSIONS = frozenset((*STABLE, *PREVIEWS))

# the first preview that answers a member which no stable version has, as recorded
PREVIEW_MEMBERS: Mapping[str, str] = {
    "permissionFilterOption": "2025-05-01-preview",
    "permissionFilter": "2025-05-01-preview",
    "purviewEnabled": "2025-11-01-preview",
    "sensitivityLabel": "2025-11-01-preview",
    "flightingOptIn": "2025-03-01-preview",
    **dict.fromkeys(("mcpToolParameters", "remoteSharePointParameters"), "2025-11-01-preview"),
    **dict.fromkeys(("indexedSharePointParameters", "indexerPermissionOptions"), "2025-11-01-preview"),
    **dict.fromkeys(("retrievalInstructions", "answerInstructions", "outputMode"), "2025-11-01-preview"),
    "retrievalReasoningEffort": "2025-11-01-preview",
    "indexersRuntime": "2025-11-01-preview",
    "cache": "2020-06-30-preview",
}
# the first version, of either kind, that answers a member
LATER_MEMBERS: Mapping[str, str] = {
    "maxStoragePerIndex": "2024-05-01-preview",
    **dict.fromkeys(("encryptionKey", "knowledgeStore", "similarity"), "2019-05-06-preview"),
    **dict.fromkeys(("normalizer", "normalizers"), "2020-06-30-preview"),
    **dict.fromkeys(("identity", "skillsetCount", "aliasesCount", "semantic"), "2021-04-30-preview"),
    **dict.fromkeys(("dimensions", "vectorSearch", "vectorSearchProfile", "vectorIndexSize"), "2023-07-01-preview"),
    "indexProjections": "2023-10-01-preview",
    **dict.fromkeys(("stored", "vectorEncoding"), "2024-03-01-preview"),
    "maxCumulativeIndexerRuntimeSeconds": "2025-11-01-preview",
    "rankingOrder": "2025-03-01-preview",
}


ANSWERED = ("indexersRuntime",)  # which nobody sets, so that it is never shown to an older version


def check_version(given: str | None) -> str:
    """Return the version in lower case, as clients write `-Preview` and `-preview`."""
    if given is None or given.lower() not in VERSIONS:
        raise ServiceRefusal(400, f"Invalid or missing api-version query string parameter: '{given}'.")
    return given.lower()


def show_members(value: Any, version: str) -> Any:
    """Leave out of an answer, at every depth, the members that this version does not have."""
    if isinstance(value, list):
        return [show_members(item, version) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: show_members(item, version) for name, item in value.items() if _has_member(name, item, version)}


def _has_member(name: str, value: Any, version: str) -> bool:
    """Tell whether a version has a member; one that is set is shown whatever the version."""
    if version < LATER_MEMBERS.get(name, ""):
        return False
    since = PREVIEW_MEMBERS.get(name)
    if since is None or (version.endswith("-preview") and version >= since):
        return True
    return value not in (None, False, []) and name not in ANSWERED
