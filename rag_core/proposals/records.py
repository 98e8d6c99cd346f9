"""Proposals with their stages, parsed from records of two shapes (docs/reference/proposals.md)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rag_core.core.errors import InvalidRequest
from rag_core.proposals.formatting import (
    format_timestamp,
    format_vote_options,
    parse_http_url,
    strip_markup,
    strip_to_single_line,
)

STAGE_NAMES = ("forum", "snapshot", "tally")
UNKNOWN_STATUS = "unknown"
STATUSES = (  # the allowlist of S2-37: the statuses of the three sources, each in one spelling
    "draft",
    "pending",
    "active",
    "closed",
    "canceled",
    "defeated",
    "succeeded",
    "queued",
    "expired",
    "executed",
    UNKNOWN_STATUS,
)
STATUS_SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(("submitted", "upcoming", "scheduled", "notstarted", "created"), "pending"),
    **dict.fromkeys(("open", "opened", "voting", "live", "extended", "ongoing"), "active"),
    **dict.fromkeys(("archived", "final", "finished", "ended", "completed", "locked"), "closed"),
    **dict.fromkeys(("cancelled", "withdrawn"), "canceled"),
    **dict.fromkeys(("failed", "rejected", "quorumnotreached"), "defeated"),
    **dict.fromkeys(("passed", "approved", "accepted"), "succeeded"),
    **dict.fromkeys(("pendingexecution", "timelocked"), "queued"),
    **dict.fromkeys(("callexecuted", "crosschainexecuted"), "executed"),
}
PROPOSAL_ID_PATTERN = re.compile(
    r"[A-Za-z0-9._=-]{1,110}"
)  # no colon: it separates the parts of "PROPOSAL:STAGE:INDEX"

ProposalRecord = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProposalStage:
    """A place where a proposal was discussed or voted on.

    `status` is one of STATUSES, `facts` are the other fields as a reader is shown them, and `remarks` name what in the
    record was not understood.
    """

    name: str
    source_id: str
    url: str
    status: str
    facts: Mapping[str, str]
    body: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposal with its stages, in the order of STAGE_NAMES; texts are without markup, "" is an unknown value."""

    id: str
    title: str
    author: str
    category: str
    path: str
    created: str
    updated: str
    body: str
    stages: tuple[ProposalStage, ...]


def parse_proposal(record: ProposalRecord) -> Proposal:
    """Parse a record: a proposal with its stages by name, or a corpus record with `_id` and `metadata`.

    Raises:
        InvalidRequest: the record has no id that can be part of a key.
    """
    row = _convert_corpus_record(record) if "_id" in record else record
    id = str(row.get("id") or "")
    if not PROPOSAL_ID_PATTERN.fullmatch(id):
        raise InvalidRequest("id", "of a proposal must be 1 to 110 letters, digits and the characters . _ = -")
    stages = tuple(stage for name in STAGE_NAMES if (stage := _parse_stage(name, row.get(name))))
    dates = (
        _format_first_timestamp(part, "updated_at", "last_activity")
        for part in (row, *(row.get(name) for name in STAGE_NAMES))
    )
    created = _format_first_timestamp(row, "created_at", "created", "date")
    return Proposal(
        id=id,
        title=strip_to_single_line(row.get("title")) or "Untitled",
        author=_format_first_text(row, "author", "author_name"),
        category=_format_first_text(row, "category", "product"),
        path=_format_first_text(row, "path"),
        created=created,
        updated=max(dates) or created,
        body=strip_markup(row.get("body")),
        stages=stages,
    )


def normalize_status(value: object) -> str:
    """Return the one of STATUSES that the value means; "unknown" for any other value and for none."""
    word = re.sub(r"[^a-z]", "", str(value or "").lower())
    status_name = STATUS_SYNONYMS.get(word, word)
    return status_name if status_name in STATUSES else UNKNOWN_STATUS


def _convert_corpus_record(record: ProposalRecord) -> ProposalRecord:
    """Convert a corpus record to the shape of a proposal with its stages by name."""
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return {
        "id": record["_id"],
        "title": metadata.get("title") or record.get("title"),
        "author": metadata.get("author"),
        "category": metadata.get("market"),
        "created_at": metadata.get("date"),
        "body": record.get("text"),
        "forum": {"url": metadata.get("forum_thread")},
        "snapshot": {"url": metadata.get("snapshot")},
    }


def _parse_stage(name: str, row: object) -> ProposalStage | None:
    """Parse a stage's row; None when it has neither a URL nor an id, as of a stage that was never reached."""
    if not isinstance(row, Mapping):
        return None
    url = parse_http_url(row.get("url"))
    id = (
        _format_first_text(row, "original_id", f"{name}_id", f"{name}_proposal_id", "id")
        or url.rstrip("/").rpartition("/")[2]
    )
    if not id:
        return None
    stage_status, raw_status = normalize_status(row.get("status")), strip_to_single_line(row.get("status"), 40)
    is_unknown = bool(raw_status) and stage_status == UNKNOWN_STATUS
    remarks = (f"the {name} status “{raw_status}” is not known",) if is_unknown else ()
    comments = "\n\n".join(filter(None, map(_format_comment, _list_or_empty(row.get("comments")))))
    body = "\n\n".join(filter(None, (strip_markup(row.get("body")), comments)))
    return ProposalStage(name, id, url, stage_status, dict(_collect_stage_facts(row)), body, remarks)


def _collect_stage_facts(row: ProposalRecord) -> Iterator[tuple[str, str]]:
    """Yield a stage's facts besides its status and URL, by name, in the order in which they are shown."""
    begins, ends = (
        _format_first_timestamp(row, "voting_start", "start_timestamp", "start"),
        _format_first_timestamp(row, "voting_end", "end_timestamp", "end"),
    )
    facts = {
        "title": strip_to_single_line(row.get("title")),
        "author": _format_first_text(row, "author", "author_name"),
        "created": _format_first_timestamp(row, "created_at", "created"),
        "posts": _format_first_text(row, "message_count", "posts_count"),
        "voting begins": begins,
        "deadline": ends or _format_first_timestamp(row, "deadline", "substatus_deadline"),
        "options": format_vote_options(row.get("options")),
    }
    yield from ((name, value) for name, value in facts.items() if value)


def _format_comment(comment: object) -> str:
    if not isinstance(comment, Mapping):
        return strip_markup(comment)
    author, text = _format_first_text(comment, "author", "author_name", "username"), strip_markup(comment.get("body"))
    return f"{author} wrote: {text}" if author and text else text


def _list_or_empty(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _format_first_text(row: ProposalRecord, *names: str) -> str:
    """Return the first of the fields that has a text, on one line; "" when none has."""
    return next(filter(None, (strip_to_single_line(row.get(name)) for name in names)), "")


def _format_first_timestamp(row: object, *names: str) -> str:
    """Return the first of the fields that has a date, formatted; "" when none has."""
    times = (format_timestamp(row.get(name)) for name in names) if isinstance(row, Mapping) else ()
    return next(filter(None, times), "")
