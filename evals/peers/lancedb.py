"""LanceDB: exact vectors, its full-text index, a bitmap index on what is filtered, fused by its reciprocal rank."""

import os
import sys
from collections.abc import Sequence
from typing import Any

os.environ["LANCEDB_LOG"] = "error"  # 0.40 warns at every question; read when it is imported

import lancedb
from lancedb.index import FTS, Bitmap
from lancedb.rerankers import RRFReranker

from evals.peers.speech import TOP, Floats, Row, serve_engine

FUSED = RRFReranker()


class Lance:
    def __init__(self, folder: str) -> None:
        self._database = lancedb.connect(folder)
        self._table: Any = None

    def build(self, rows: Sequence[Row]) -> None:
        self._table = self._database.create_table("chunks", _build_records(rows))
        self._table.create_index("text", config=FTS())
        self._table.create_index("group", config=Bitmap())

    def open(self) -> None:
        self._table = self._database.open_table("chunks")

    def ask(self, words: str, vector: Floats, group: int | None) -> list[tuple[str, str]]:
        asked = self._search_hybrid(words, vector) if words else self._table.search(vector)
        asked = asked if group is None else asked.where(f"`group` = {group}", prefilter=True)
        found = asked.limit(TOP).select(["id", "text"]).to_list()
        return [(row["id"], row["text"]) for row in found[:TOP]]

    def _search_hybrid(self, words: str, vector: Floats) -> Any:
        return self._table.search(query_type="hybrid").vector(vector).text(words).rerank(FUSED)

    def replace(self, rows: Sequence[Row]) -> None:
        merge = self._table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(_build_records(rows))


def _build_records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{"id": row.id, "text": row.text, "vector": row.vector, "group": row.group} for row in rows]


if __name__ == "__main__":
    serve_engine(Lance(sys.argv[1]))
