"""The chunks of rows of the SQLite database; those read last are kept as they were parsed."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar, overload

from rag_core.core.json_codec import entity_from_json_array, span_from_json_array
from rag_core.core.model import Chunk
from rag_core.stores.embedded.database import translate_apsw_errors

T = TypeVar("T")

KEPT_CHUNKS = 256  # some 10 MB where each has the spans of a page of a PDF


@lru_cache(maxsize=KEPT_CHUNKS)
def chunk_from_sqlite_row(*columns: Any) -> Chunk:
    """Return the chunk of a row's columns; the same columns give the same chunk, whose spans are read once."""
    (id, document_id, ordinal, content, title, source, content_hash, spans, parent_id) = columns[:9]
    heading_path, summary, entities, metadata = columns[9:]
    return Chunk(
        id, document_id, ordinal, content, title, source, content_hash, _read_later(spans, span_from_json_array),
        parent_id, () if heading_path == "[]" else tuple(json.loads(heading_path)), summary,
        _read_later(entities, entity_from_json_array), {} if metadata == "{}" else json.loads(metadata),
    )  # fmt: skip


def forget_kept_chunks() -> None:
    """Keep none of the chunks that were read: after a purge no text of them stays in this process."""
    chunk_from_sqlite_row.cache_clear()


class _ReadLater(Sequence[T]):
    """The items of a column with a JSON array, read when first asked for; it equals the tuple of them.

    A search reads more chunks than it returns, and spans and entities were most of the time of reading them.
    """

    __slots__ = ("_items", "_read_item", "_text")

    def __init__(self, text: str, read_item: Callable[[Any], T]) -> None:
        self._text, self._read_item = text, read_item
        self._items: tuple[T, ...] | None = None

    def _read(self) -> tuple[T, ...]:
        if self._items is None:
            with translate_apsw_errors():  # of a damaged text, as where it is read
                self._items = tuple(map(self._read_item, json.loads(self._text)))
        return self._items

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._read()[index]

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[T]:
        return iter(self._read())

    def __eq__(self, other: object) -> bool:
        return self._read() == (other._read() if isinstance(other, _ReadLater) else other)

    def __hash__(self) -> int:
        return hash(self._read())

    def __repr__(self) -> str:
        return repr(self._read())


def _read_later(text: str, read_item: Callable[[Any], T]) -> Sequence[T]:
    return () if text == "[]" else _ReadLater(text, read_item)
