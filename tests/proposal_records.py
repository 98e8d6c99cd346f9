"""Two proposals that went through three stages and one, as their source tables have them; made up."""

import json
import sqlite3
from pathlib import Path
from typing import Any

AIP = {
    "id": "aip-7",
    "title": "Fund the  **gearbox** audit",
    "author_name": "Ann",
    "category": "Treasury",
    "created_at": "2024-01-05T10:00:00Z",
    "updated_at": 1705276800,
    "body": "## Why\n\nThe gearbox contract was never audited. [Costs](https://a.example) are 40,000 ARB.",
    "forum": {
        "id": 1,
        "original_id": "21001",
        "proposal_id": "aip-7",
        "url": "https://forum.example/t/21001",
        "status": "Open",
        "message_count": 12,
        "body": "<p>An engine misfire is unrelated.</p>",
        "comments": [{"author": "Bob", "body": "The brake budget is too high."}, {"body": "Agreed."}],
    },
    "snapshot": {
        "id": 2,
        "snapshot_id": "0xabc",
        "proposal_id": "aip-7",
        "url": "https://snapshot.example/#/dao/proposal/0xabc",
        "status": "FINAL",
        "voting_start": "2024-01-08",
        "voting_end": "2024-01-15T15:00:00+01:00",
        "options": {"choices": ["For", "Against"], "scores": [1200.5, 299.5]},
        "body": "Should the caliper be replaced?",
    },
    "tally": {
        "id": 3,
        "tally_proposal_id": "9000",
        "proposal_id": "aip-7",
        "url": "https://tally.example/9000",
        "status": "cross_chain_executed",
        "end_timestamp": 1706745600,
        "options": [{"type": "for", "votes": "900"}, {"type": "against", "votes": "100"}],
    },
}
SMALL = {
    "id": "aip-8",
    "title": "Lower the misfire threshold",
    "author_name": "Cem",
    "category": "Engine",
    "created_at": "2024-02-01",
    "updated_at": "2024-02-02",
    "body": "The engine misfire threshold falls to 3 %.",
    "forum": {
        "id": 4,
        "original_id": "21002",
        "proposal_id": "aip-8",
        "url": "https://forum.example/t/21002",
        "status": "in dispute",
    },
}
RECORDS = [AIP, SMALL]
COLUMNS = {
    "proposal": ("id", "title", "author_name", "category", "created_at", "updated_at", "body"),
    "forum_stage": ("id", "original_id", "proposal_id", "url", "status", "message_count", "body", "comments"),
    "snapshot_stage": (
        *("id", "snapshot_id", "proposal_id", "url", "status", "voting_start", "voting_end", "options", "body"),
    ),
    "tally_stage": ("id", "tally_proposal_id", "proposal_id", "url", "status", "end_timestamp", "options"),
}


def rows(table: str) -> list[list[Any]]:
    """The rows of a table, JSON as text."""
    stage = table.removesuffix("_stage")
    found: list[Any] = RECORDS if table == "proposal" else [r[stage] for r in RECORDS if stage in r]
    return [[_stored(row.get(column)) for column in COLUMNS[table]] for row in found]


def sqlite_file(path: Path) -> Path:
    """The same proposals in the four tables."""
    with sqlite3.connect(path) as connection:
        for table, columns in COLUMNS.items():
            connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows(table))  # noqa: S608 our own names
    connection.close()
    return path


def _stored(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
