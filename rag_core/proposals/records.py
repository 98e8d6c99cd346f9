"""Proposals with their stages, parsed from records of two shapes (docs/proposals.md)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rag_core.core.errors import InvalidRequest
from rag_core.proposals.readable import line, link, moment, options, plain

STAGES = ("forum", "snapshot", "tally")
UNKNOWN = "unknown"
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
    UNKNOWN,
)
SAME: Mapping[str, str] = {
    **dict.fromkeys(("submitted", "upcoming", "scheduled", "notstarted", "created"), "pending"),
    **dict.fromkeys(("open", "opened", "voting", "live", "extended", "ongoing"), "active"),
    **dict.fromkeys(("archived", "final", "finished", "ended", "completed", "locked"), "closed"),
    **dict.fromkeys(("cancelled", "withdrawn"), "canceled"),
    **dict.fromkeys(("failed", "rejected", "quorumnotreached"), "defeated"),
    **dict.fromkeys(("passed", "approved", "accepted"), "succeeded"),
    **dict.fromkeys(("pendingexecution", "timelocked"), "queued"),
    **dict.fromkeys(("callexecuted", "crosschainexecuted"), "executed"),
}
ID = re.compile(r"[A-Za-z0-9._=-]{1,110}")  # no colon: it separates the parts of "PROPOSAL:STAGE:INDEX"

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stage:
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
    stages: tuple[Stage, ...]


def read(record: Record) -> Proposal:
    """Parse a record: a proposal with its stages by name, or a corpus record with `_id` and `metadata`.

    Raises:
        InvalidRequest: the record has no id that can be part of a key.
    """
    row = _of_corpus(record) if "_id" in record else record
    id = str(row.get("id") or "")
    if not ID.fullmatch(id):
        raise InvalidRequest("id", "of a proposal must be 1 to 110 letters, digits and the characters . _ = -")
    stages = tuple(stage for name in STAGES if (stage := _stage(name, row.get(name))))
    dates = (_moment(part, "updated_at", "last_activity") for part in (row, *(row.get(name) for name in STAGES)))
    created = _moment(row, "created_at", "created", "date")
    return Proposal(
        id=id,
        title=line(row.get("title")) or "Untitled",
        author=_line(row, "author", "author_name"),
        category=_line(row, "category", "product"),
        path=_line(row, "path"),
        created=created,
        updated=max(dates) or created,
        body=plain(row.get("body")),
        stages=stages,
    )


def status(said: object) -> str:
    """Return the one of STATUSES that the value means; "unknown" for any other value and for none."""
    word = re.sub(r"[^a-z]", "", str(said or "").lower())
    status_name = SAME.get(word, word)
    return status_name if status_name in STATUSES else UNKNOWN


def _of_corpus(record: Record) -> Record:
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


def _stage(name: str, row: object) -> Stage | None:
    """Parse a stage's row; None when it has neither a URL nor an id, as of a stage that was never reached."""
    if not isinstance(row, Mapping):
        return None
    url = link(row.get("url"))
    id = _line(row, "original_id", f"{name}_id", f"{name}_proposal_id", "id") or url.rstrip("/").rpartition("/")[2]
    if not id:
        return None
    stage_status, raw_status = status(row.get("status")), line(row.get("status"), 40)
    is_unknown = bool(raw_status) and stage_status == UNKNOWN
    remarks = (f"the {name} status “{raw_status}” is not known",) if is_unknown else ()
    comments = "\n\n".join(filter(None, map(_comment, _list(row.get("comments")))))
    body = "\n\n".join(filter(None, (plain(row.get("body")), comments)))
    return Stage(name, id, url, stage_status, dict(_facts(row)), body, remarks)


def _facts(row: Record) -> Iterator[tuple[str, str]]:
    """Yield a stage's facts besides its status and URL, by name, in the order in which they are shown."""
    begins, ends = (
        _moment(row, "voting_start", "start_timestamp", "start"),
        _moment(row, "voting_end", "end_timestamp", "end"),
    )
    facts = {
        "title": line(row.get("title")),
        "author": _line(row, "author", "author_name"),
        "created": _moment(row, "created_at", "created"),
        "posts": _line(row, "message_count", "posts_count"),
        "voting begins": begins,
        "deadline": ends or _moment(row, "deadline", "substatus_deadline"),
        "options": options(row.get("options")),
    }
    yield from ((name, value) for name, value in facts.items() if value)


def _comment(said: object) -> str:
    if not isinstance(said, Mapping):
        return plain(said)
    author, text = _line(said, "author", "author_name", "username"), plain(said.get("body"))
    return f"{author} wrote: {text}" if author and text else text


def _list(said: object) -> list[object]:
    return said if isinstance(said, list) else []


def _line(row: Record, *names: str) -> str:
    """Return the first of the fields that has a text, on one line; "" when none has."""
    return next(filter(None, (line(row.get(name)) for name in names)), "")


def _moment(row: object, *names: str) -> str:
    """Return the first of the fields that has a date, formatted; "" when none has."""
    times = (moment(row.get(name)) for name in names) if isinstance(row, Mapping) else ()
    return next(filter(None, times), "")
