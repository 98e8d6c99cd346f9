"""Proposals and the stages they went through, read from records of two shapes (docs/proposals.md)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rag_core.core.errors import InvalidRequest
from rag_core.proposals.readable import line, link, moment, options, plain

STAGES = ("forum", "snapshot", "tally")
UNKNOWN = "unknown"
STATUSES = (  # S2-37's allowlist: what the three sources say, each in one spelling
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
ID = re.compile(r"[A-Za-z0-9._=-]{1,110}")  # no colon: "PROPOSAL:STAGE:INDEX" is read from both ends

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a proposal was discussed or voted on. `status` is one of STATUSES; `facts` are its other fields, as read.

    `remarks` say what in its record was not understood.
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
    """A proposal with its stages, in the order of STAGES; every text is plain, every date normal, "" is not known."""

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
    """A record of either shape: a proposal with its stages by name, or one of a corpus with `_id` and `metadata`.

    Raises:
        InvalidRequest: it has no id that can be part of a key.
    """
    row = _of_corpus(record) if "_id" in record else record
    id = str(row.get("id") or "")
    if not ID.fullmatch(id):
        raise InvalidRequest("id", "of a proposal must be 1 to 110 letters, digits and the marks . _ = -")
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
    """One of STATUSES; "unknown" for what none of them means, and for nothing."""
    word = re.sub(r"[^a-z]", "", str(said or "").lower())
    known = SAME.get(word, word)
    return known if known in STATUSES else UNKNOWN


def _of_corpus(record: Record) -> Record:
    told = record.get("metadata")
    told = told if isinstance(told, Mapping) else {}
    return {
        "id": record["_id"],
        "title": told.get("title") or record.get("title"),
        "author": told.get("author"),
        "category": told.get("market"),
        "created_at": told.get("date"),
        "body": record.get("text"),
        "forum": {"url": told.get("forum_thread")},
        "snapshot": {"url": told.get("snapshot")},
    }


def _stage(name: str, row: object) -> Stage | None:
    """The stage of this row; None without an address or an id: a proposal that never got there."""
    if not isinstance(row, Mapping):
        return None
    url = link(row.get("url"))
    id = _line(row, "original_id", f"{name}_id", f"{name}_proposal_id", "id") or url.rstrip("/").rpartition("/")[2]
    if not id:
        return None
    found, said = status(row.get("status")), line(row.get("status"), 40)
    remarks = (f"the {name} status “{said}” is not one that is known",) if said and (found == UNKNOWN) else ()
    comments = "\n\n".join(filter(None, map(_comment, _list(row.get("comments")))))
    body = "\n\n".join(filter(None, (plain(row.get("body")), comments)))
    return Stage(name, id, url, found, dict(_facts(row)), body, remarks)


def _facts(row: Record) -> Iterator[tuple[str, str]]:
    """What a reader wants to know of a stage besides its status and address, in order."""
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
    return next(filter(None, (line(row.get(name)) for name in names)), "")


def _moment(row: object, *names: str) -> str:
    found = (moment(row.get(name)) for name in names) if isinstance(row, Mapping) else ()
    return next(filter(None, found), "")
