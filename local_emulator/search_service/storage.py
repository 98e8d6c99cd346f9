"""Keep definitions and documents in one SQLite file, or in memory; the indexes are read from it at the start."""

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import numpy as np

Json = dict[str, Any]

TABLES = """
create table if not exists indexes(name text primary key, etag text not null, definition text not null);
create table if not exists documents(
    name text not null references indexes on delete cascade, key text not null, body text not null,
    primary key(name, key)) without rowid;
create table if not exists resources(
    kind text not null, name text not null, etag text not null, definition text not null, primary key(kind, name));
"""
BUSY_MS = 5_000


class Storage:
    """A storage lets one writer in at a time; each change is durable when its call returns."""

    def __init__(self, folder: Path | None) -> None:
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._db = apsw.Connection(str(folder / "search.sqlite") if folder else ":memory:")
        self._db.set_busy_timeout(BUSY_MS)
        self._db.pragma("journal_mode", "wal")
        self._db.pragma("synchronous", "full")  # WAL with NORMAL loses acknowledged documents at a power cut
        self._db.pragma("foreign_keys", "on")
        self._db.execute(TABLES)

    def load_indexes(self) -> list[tuple[str, Json]]:
        """Load the etag and the definition of each index."""
        with self._lock:
            rows: list[Any] = self._db.execute("select etag, definition from indexes").fetchall()
        return [(etag, json.loads(definition)) for etag, definition in rows]

    def save_index(self, etag: str, definition: Json) -> None:
        with self._open_transaction() as db:
            db.execute(
                "insert into indexes values (?, ?, ?)"
                " on conflict(name) do update set etag = excluded.etag, definition = excluded.definition",
                (definition["name"], etag, json.dumps(definition)),
            )

    def drop_index(self, name: str) -> None:
        with self._open_transaction() as db:
            db.execute("delete from indexes where name = ?", (name,))

    def load_resources(self) -> list[tuple[str, str, Json]]:
        """Load the kind, the etag and the definition of each resource that is not an index."""
        with self._lock:
            rows: list[Any] = self._db.execute("select kind, etag, definition from resources").fetchall()
        return [(kind, etag, json.loads(definition)) for kind, etag, definition in rows]

    def save_resource(self, kind: str, name: str, etag: str, definition: Json) -> None:
        with self._open_transaction() as db:
            db.execute(
                "insert or replace into resources values (?, ?, ?, ?)", (kind, name, etag, json.dumps(definition))
            )

    def drop_resource(self, kind: str, name: str) -> None:
        with self._open_transaction() as db:
            db.execute("delete from resources where kind = ? and name = ?", (kind, name))

    def load_documents(self, name: str) -> Iterator[tuple[str, Json]]:
        with self._lock:
            rows: list[Any] = self._db.execute("select key, body from documents where name = ?", (name,)).fetchall()
        return ((key, json.loads(body, object_hook=_decode_vector)) for key, body in rows)

    def save_documents(self, name: str, changes: Mapping[str, Json | None]) -> None:
        """Save documents by key, and remove those given as None: all of them or none."""
        kept = [
            (name, key, json.dumps(body, default=_encode_vector)) for key, body in changes.items() if body is not None
        ]
        with self._open_transaction() as db:
            db.executemany("delete from documents where name = ? and key = ?", [(name, key) for key in changes])
            db.executemany("insert into documents values (?, ?, ?)", kept)

    def measure_documents(self, name: str) -> int:
        """Measure the bytes of an index's documents, as stored."""
        with self._lock:
            sql = "select coalesce(sum(length(key) + length(body)), 0) from documents where name = ?"
            rows: list[Any] = self._db.execute(sql, (name,)).fetchall()
        return int(rows[0][0])

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _open_transaction(self) -> Iterator[apsw.Connection]:
        with self._lock, self._db:
            yield self._db


def _encode_vector(vector: np.ndarray[Any, np.dtype[np.float32]]) -> Json:
    return {"$float32": base64.b64encode(vector.tobytes()).decode()}


def _decode_vector(value: Json) -> Any:
    if value.keys() == {"$float32"}:
        return np.frombuffer(base64.b64decode(value["$float32"]), dtype=np.float32)
    return value
