"""JSON extraction: a block an object, placed by its JSON Pointer (RFC 6901) as in `#/items/3`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import MAX_BLOCKS, clean_text, collect_blocks, make_document_too_long_error
from rag_core.ingestion.extract.placed_blocks import BlockMaker
from rag_core.ingestion.extract.text import decode_text
from rag_core.ingestion.tables import MAX_COLUMN_NAME_CHARS, MAX_COLUMNS

MAX_DEPTH = 64  # of objects and lists in one another
_MAX_LISTED_VALUES = 100  # of a list of plain values that stays in one line; a longer one is a block for each so many
_NAMES_OF_RECORDS = ("id", "name", "key", "title", "code", "number")  # what tells one record from another

JsonField = tuple[str, str]


def extract_json(data: bytes) -> Extraction:
    """Extract a JSON document. Numbers stay as they are written.

    Raises:
        UnreadableDocument: it is no JSON, or too deeply nested.
    """
    text, encoding, hidden = decode_text(data)
    reader = RecordReader(BlockMaker(), "#")
    blocks = collect_blocks(reader.read(parse_json(text, "")))
    return Extraction(blocks, None, f"json ({encoding})", hidden)


def parse_json(text: str, place: str) -> Any:
    """Return a JSON value with its numbers as text; `place` begins the message on one that is malformed.

    Raises:
        UnreadableDocument: it is no JSON, or too deeply nested.
    """
    try:
        return json.loads(text.removeprefix("\ufeff"), parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        message = f"{place}the file is no JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise UnreadableDocument(message, code="document_damaged") from error
    except RecursionError as error:
        raise _make_too_deep_error() from error


def _make_too_deep_error() -> UnreadableDocument:
    message = f"the JSON has more than {MAX_DEPTH} objects and lists in one another: flatten it"
    return UnreadableDocument(message, code="document_too_complex", details={"depth": MAX_DEPTH})


class RecordReader:
    """Reads a JSON value into a block for each object that has plain values, and one for each list of them."""

    def __init__(self, maker: BlockMaker, root: str) -> None:
        self._maker, self._root = maker, root
        self._count = 0

    def read(self, value: Any) -> Iterator[Block]:
        yield from self._read_value(value, (), ())

    def _read_value(self, value: Any, path: tuple[str, ...], above: tuple[JsonField, ...]) -> Iterator[Block]:
        if len(path) > MAX_DEPTH:
            raise _make_too_deep_error()
        if isinstance(value, dict):
            yield from self._read_object(value, path, above)
        elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
            for number, item in enumerate(value):
                yield from self._read_value(item, (*path, str(number)), above)
        elif isinstance(value, list):
            yield from self._read_plain_list(value, path, above)
        elif text := _format_value(value):
            yield self._make([*above, (path[-1] if path else "value", text)], path)

    def _read_object(
        self, record: Mapping[str, Any], path: tuple[str, ...], above: tuple[JsonField, ...]
    ) -> Iterator[Block]:
        """Yield the object's values and those of objects in it, then what is in its lists."""
        fields: list[JsonField] = []
        later: list[tuple[str, Any]] = []
        _flatten(record, "", fields, later, MAX_DEPTH)
        for start in range(0, len(fields), MAX_COLUMNS):
            yield self._make([*above, *fields[start : start + MAX_COLUMNS]], path)
        identity = _find_identity(fields, path)
        for name, value in later:
            yield from self._read_value(value, (*path, *name.split("\0")), (*above, *identity)[-3:])

    def _read_plain_list(
        self, values: Sequence[Any], path: tuple[str, ...], above: tuple[JsonField, ...]
    ) -> Iterator[Block]:
        name = path[-1] if path else "value"
        for start in range(0, len(values), _MAX_LISTED_VALUES):
            text = ", ".join(filter(None, map(_format_value, values[start : start + _MAX_LISTED_VALUES])))
            if text:
                yield self._make([*above, (name, text)], path)

    def _make(self, fields: Sequence[JsonField], path: tuple[str, ...]) -> Block:
        self._count += 1
        if self._count > MAX_BLOCKS:
            raise make_document_too_long_error()
        named = {name[:MAX_COLUMN_NAME_CHARS]: text for name, text in fields}
        text = "\n".join(f"{name}: {value}" for name, value in named.items())
        pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
        headings = tuple(part for part in path if not part.isdigit())
        block = self._maker.make("", f"{self._root}{pointer}", "row")
        return replace(block, text=text, fields=named, headings=headings)


def _flatten(
    record: Mapping[str, Any], prefix: str, fields: list[JsonField], later: list[tuple[str, Any]], depth: int
) -> None:
    """Collect an object's plain values as fields, short lists too, and its other lists to be read by themselves.

    The name of a value in an object within has the name of that before it, with a dot; the path of a list has "\\0".
    """
    if not depth:
        raise _make_too_deep_error()
    for key, value in record.items():
        name = " ".join(clean_text(key).split()) or "value"
        path = f"{prefix}\0{key}" if prefix else key
        if isinstance(value, dict):
            _flatten(value, path, fields, later, depth - 1)
        elif isinstance(value, list) and (
            len(value) > _MAX_LISTED_VALUES or any(isinstance(item, (dict, list)) for item in value)
        ):
            later.append((path, value))
        else:
            texts = map(_format_value, value if isinstance(value, list) else [value])
            dotted = ".".join((*prefix.split("\0"), name)) if prefix else name
            if text := ", ".join(filter(None, texts)):
                fields.append((dotted, text))


def _find_identity(fields: Sequence[JsonField], path: tuple[str, ...]) -> tuple[JsonField, ...]:
    """Return the field by which a record is told from others, under the name of its list: "orders.id"."""
    known = {name.lower(): (name, text) for name, text in reversed(fields)}
    found = next((known[name] for name in _NAMES_OF_RECORDS if name in known), None)
    if found is None:
        return ()
    parent = next((part for part in reversed(path) if not part.isdigit()), "")
    return ((f"{parent}.{found[0]}" if parent else found[0], found[1]),)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else clean_text(str(value)).strip()
