"""The keys of a job's rows in Table storage, and what is read off the rows."""

import hashlib
import json
from collections.abc import Sequence

from rag_core.jobs.azure_storage import StoredRow
from rag_core.jobs.job_rows import CLAIMED_STATES, JobRow

OPEN_JOB_PREFIX, ENDED_JOB_PREFIX, IDEMPOTENCY_KEY_PREFIX = "open-", "past-", "key-"
SEQUENCE_ROW_KEY = "place"


def job_row_from_stored(stored: StoredRow) -> JobRow:
    """Return a job's row with the columns that are not stored because they are None."""
    return {**dict.fromkeys(("document", "key", "error", "result", "told", "lease")), **stored.values}


def select_due_row(rows: Sequence[JobRow], now: float) -> JobRow | None:
    """Return the first row that is due or whose lease has expired; None when there is none.

    Jobs of a document that a worker is indexing are passed over.
    """
    busy_documents = {
        document_key_from_row(row) for row in rows if row["state"] in CLAIMED_STATES and row["lease_until"] > now
    }
    due_rows = [row for row in rows if row["due" if row["state"] == "queued" else "lease_until"] <= now]
    return next(
        (row for row in due_rows if row["document"] is None or document_key_from_row(row) not in busy_documents), None
    )


def document_key_from_row(row: JobRow) -> tuple[str, str, str | None]:
    return row["workflow"], row["user"], row["document"]


def build_idempotency_row_key(row: JobRow) -> str:
    """Return the row key of a job's idempotency key, hashed because row keys may not contain all characters."""
    owned_key = json.dumps([row["workflow"], row["user"], row["key"]])
    return IDEMPOTENCY_KEY_PREFIX + hashlib.sha256(owned_key.encode()).hexdigest()
