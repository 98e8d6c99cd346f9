"""An index keeps documents: batches of actions are checked and applied, and documents are read back."""

import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .expressions import format_date, parse_date
from .field_texts import list_texts
from .refusals import ServiceRefusal, make_missing_index_refusal, make_part_refusal, make_refusal
from .schema import VECTORS, Field, Schema
from .storage import Storage
from .synonyms import SynonymMaps
from .vectors import VectorMatrix
from .words import WordIndex

Json = dict[str, Any]

MOST_ACTIONS = 1000
MOST_TERM_BYTES = 32_766
BUSY = "The service is under heavy load. Retry later."
LONG_TERM = (
    "Field '{}' contains a term that is too large to process. The max length for UTF-8 encoded terms is 32766 bytes. "
    "The most likely cause of this error is that filtering, sorting, and/or faceting are enabled on this field, which "
    "causes the entire field value to be indexed as a single term. Please avoid the use of these options for large "
    "fields."
)
MOST_BYTES = 16 * 1024 * 1024
LONGEST_KEY = 1024
# doubles that JSON has no numbers for, as OData writes them
NOT_FINITE: Mapping[str, float] = {"NaN": math.nan, "INF": math.inf, "-INF": -math.inf}
_SAFE_KEY = re.compile(r"[A-Za-z0-9_\-=]+")
_CRS = {"type": "name", "properties": {"name": "EPSG:4326"}}


@dataclass
class EmulatedIndex:
    """An index holds documents, which are only ever replaced whole. Whoever reads or writes holds `lock`.

    `latest` are the documents as written; searches find `documents`, which follow after `delay_s`.
    """

    schema: Schema
    etag: str
    storage: Storage
    synonyms: SynonymMaps = field(default_factory=SynonymMaps)
    delay_s: float = 0.0
    latest: dict[str, Json] = field(default_factory=dict)
    documents: dict[str, Json] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    dropped: bool = False
    _due: list[tuple[float, Mapping[str, Json | None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rebuild_projections()

    def _rebuild_projections(self) -> None:
        similarity = self.schema.definition["similarity"]
        k1, b = similarity["k1"], similarity["b"]
        k1, b = 1.2 if k1 is None else k1, 0.75 if b is None else b
        self.words = WordIndex(self.schema.searchable_fields, self.synonyms, k1=k1, b=b)
        self.vectors = VectorMatrix(self.schema.vector_fields)
        self._publish_changes(dict(self.documents))

    def load_documents(self) -> None:
        self.latest = dict(self.storage.load_documents(self.schema.name))
        self._publish_changes(self.latest)

    def change_definition(self, schema: Schema, etag: str) -> None:
        """Put the same documents under a changed definition."""
        with self.lock:
            self.storage.save_index(etag, schema.definition)
            self.schema, self.etag = schema, etag
            self._rebuild_projections()

    def drop_definition(self) -> None:
        with self.lock:
            self.storage.drop_index(self.schema.name)
            self.dropped = True

    def apply_actions(
        self, actions: Sequence[Json], *, unsafe_keys: bool = False, fails: Callable[[], bool] = lambda: False
    ) -> list[Json]:
        """Apply a batch in order, durably and at once, and return one status an action; `fails` refuses single ones.

        Raises a ServiceRefusal for a malformed batch.
        """
        read = [_read_action(one, place, self.schema, unsafe_keys=unsafe_keys) for place, one in enumerate(actions)]
        with self.lock:
            if self.dropped:
                raise make_missing_index_refusal(self.schema.name)
            changes: dict[str, Json | None] = {}
            statuses = [
                _build_status(key, 503, BUSY) if fails() else self._apply_action(verb, key, body, changes)
                for verb, key, body in read
            ]
            self.storage.save_documents(self.schema.name, changes)
            _put_changes(self.latest, changes)
            self._due.append((time.monotonic() + self.delay_s, changes))
            self.publish_due_changes()
        return statuses

    def publish_due_changes(self) -> None:
        """Let searches find what was written long enough ago."""
        while self._due and self._due[0][0] <= time.monotonic():
            self._publish_changes(self._due.pop(0)[1])

    def _publish_changes(self, changes: Mapping[str, Json | None]) -> None:
        _put_changes(self.documents, changes)
        self.words.queue_changes(changes)
        self.vectors.apply_changes(changes)

    def _apply_action(self, verb: str, key: str, body: Json, changes: dict[str, Json | None]) -> Json:
        held = changes[key] if key in changes else self.latest.get(key)
        if verb == "delete":
            if held is not None:
                changes[key] = None
            return _build_status(key, 200)
        if verb == "merge" and held is None:
            return _build_status(key, 404, "Document not found.")
        merges = held is not None and verb in ("merge", "mergeOrUpload")
        kept = {name: value for name, value in (held or {}).items() if name not in self.schema.unstored_fields}
        made = _merge_objects(kept, body, self.schema, "") if merges else body
        if long := _find_long_term(made, self.schema):
            return _build_status(key, 400, LONG_TERM.format(long))
        changes[key] = made
        return _build_status(key, 201 if held is None else 200)


def _put_changes(documents: dict[str, Json], changes: Mapping[str, Json | None]) -> None:
    for key, body in changes.items():
        if body is None:
            documents.pop(key, None)
        else:
            documents[key] = body


def _find_long_term(document: Json, schema: Schema) -> str:
    """Find a field whose whole value is one term, longer than a term may be; return "" where there is none."""
    for field_of_terms in schema.whole_term_fields:
        for text in list_texts(document, field_of_terms.path):
            if len(text) > MOST_TERM_BYTES / 4 and len(text.encode()) > MOST_TERM_BYTES:
                return field_of_terms.path
    return ""


def _build_status(key: str, code: int, message: str | None = None) -> Json:
    return {"key": key, "status": message is None, "errorMessage": message, "statusCode": code}


def read_actions(body: Any) -> list[Json]:
    """Read the actions of a request's body, within the limits of a batch."""
    actions = body.get("value") if isinstance(body, dict) else None
    if not isinstance(actions, list) or not all(isinstance(action, dict) for action in actions):
        raise make_refusal(
            "The request is invalid. Details: actions : The 'value' property must be an array of documents."
        )
    if not actions:
        raise make_refusal("The request is invalid. Details: actions : No indexing actions found in the request.")
    if len(actions) > MOST_ACTIONS:
        raise ServiceRefusal(413, f"The request holds more than the maximum of {MOST_ACTIONS} indexing actions.")
    return actions


def _read_action(action: Json, place: int, schema: Schema, *, unsafe_keys: bool) -> tuple[str, str, Json]:
    verb = action.get("@search.action", "upload")
    if verb not in ("upload", "merge", "mergeOrUpload", "delete"):
        raise make_refusal(f"The request is invalid. Details: actions : '{verb}' is not an indexing action.")
    key = action.get(schema.key)
    if not isinstance(key, str) or not key:
        raise make_part_refusal(
            "actions",
            f"{place}: Document key cannot be missing or empty.",
            code="OperationNotAllowed",
            detail="MissingKeyField",
        )
    if len(key) > LONGEST_KEY:
        raise make_refusal(f"Invalid document key: longer than {LONGEST_KEY} characters.")
    if not unsafe_keys and (key.startswith("_") or not _SAFE_KEY.fullmatch(key)):
        raise make_refusal(
            f"Invalid document key: '{key}'. Keys can only contain letters, digits, underscore (_), dash (-), or equal "
            "sign (=), and cannot start with an underscore. If the keys in your source data contain other characters, "
            "we recommend encoding them with a URL-safe version of Base64 before uploading them to your index."
        )
    body = {name: value for name, value in action.items() if name != "@search.action"}
    return verb, key, {schema.key: key} if verb == "delete" else _read_object(body, schema, "")


def _read_object(given: Any, schema: Schema, inside: str) -> Json:
    if not isinstance(given, dict):
        raise _make_document_refusal(f"An object was expected for '{inside.rstrip('/')}'.")
    return {name: _read_value(value, schema, inside + name) for name, value in given.items()}


def _read_value(value: Any, schema: Schema, path: str) -> Any:
    kind = schema.kinds.get(path)
    if kind is None:
        raise _make_document_refusal(
            f"The property '{path.rpartition('/')[2]}' does not exist on type 'search.documentFields' or is not "
            "present in the API version. Make sure to only use property names that are defined by the type."
        )
    if kind == "Edm.ComplexType":
        return None if value is None else _read_object(value, schema, f"{path}/")
    if kind in VECTORS:
        return None if value is None else _read_vector(value, schema.fields[path])
    if not kind.startswith("Collection("):
        return None if value is None else _read_primitive(value, kind, path)
    if not isinstance(value, list):
        raise _make_document_refusal(f"A collection was expected for the property '{path}' of type '{kind}'.")
    if kind == "Collection(Edm.ComplexType)":
        return [_read_object(item, schema, f"{path}/") for item in value]
    return [_read_primitive(item, kind[len("Collection(") : -1], path) for item in value]


def _read_vector(value: Any, vector: Field) -> np.ndarray[Any, np.dtype[np.float32]]:
    if not isinstance(value, list) or len(value) != vector.dimensions:
        found = len(value) if isinstance(value, list) else 0
        raise _make_document_refusal(
            f"There's a mismatch in vector dimensions. The vector field '{vector.path}', with dimension of "
            f"'{vector.dimensions}', expects a length of '{vector.dimensions}'. However, the provided vector has a "
            f"length of '{found}'. Please ensure that the vector length matches the expected length of the vector "
            "field. Read the following documentation for more details: "
            "https://learn.microsoft.com/en-us/azure/search/vector-search-how-to-configure-compression-storage."
        )
    if not all(type(x) in (int, float) and math.isfinite(x) for x in value):
        raise _make_document_refusal(f"The vector field '{vector.path}' takes finite numbers only.")
    return _round_numbers(value, vector)


_WHOLE = {"Collection(Edm.Int16)": 2**15, "Collection(Edm.SByte)": 2**7}


def _round_numbers(value: list[float], vector: Field) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Round the numbers as their type holds them; whole ones are checked."""
    most = _WHOLE.get(vector.number_type)
    if most and not all(type(x) is int and -most <= x < most for x in value):
        raise _make_document_refusal(f"The vector field '{vector.path}' takes whole numbers of {-most} to {most - 1}.")
    rounded = np.array(value, dtype=np.float16 if vector.number_type == "Collection(Edm.Half)" else np.float32)
    return rounded.astype(np.float32)


_INTEGERS = {"Edm.Int32": 2**31, "Edm.Int64": 2**63}


def _read_primitive(value: Any, kind: str, path: str) -> Any:
    """Read a value as it is kept: doubles as floats, dates in UTC, points with their reference system."""
    readers: Mapping[str, Callable[[Any], Any]] = {"Edm.DateTimeOffset": _read_date, "Edm.GeographyPoint": _read_point}
    try:
        if kind in readers:
            return readers[kind](value)
    except (ValueError, TypeError, KeyError, AttributeError) as failure:
        raise _make_type_refusal(value, kind, path) from failure
    if kind == "Edm.Double" and isinstance(value, str) and value in NOT_FINITE:
        return NOT_FINITE[value]
    fits = {"Edm.String": isinstance(value, str), "Edm.Boolean": isinstance(value, bool)}
    if kind in _INTEGERS:
        fits[kind] = type(value) is int and -_INTEGERS[kind] <= value < _INTEGERS[kind]
    if not fits.get(kind, type(value) in (int, float)):
        raise _make_type_refusal(value, kind, path)
    return float(value) if kind == "Edm.Double" else value


def _read_date(value: Any) -> str:
    return format_date(parse_date(value))


def _read_point(value: Any) -> Json:
    longitude, latitude = (float(x) for x in value["coordinates"])
    if value["type"] != "Point" or abs(longitude) > 180 or abs(latitude) > 90:
        raise ValueError
    return {"type": "Point", "coordinates": [longitude, latitude], "crs": _CRS}


def _make_type_refusal(value: Any, kind: str, path: str) -> ServiceRefusal:
    shown = "null" if value is None else type(value).__name__
    return _make_document_refusal(
        f"Cannot convert a value of type '{shown}' to the expected type '{kind}' of property '{path}'."
    )


def _make_document_refusal(message: str) -> ServiceRefusal:
    return make_refusal(f"The request is invalid. Details: parameters : {message}")


def _merge_objects(held: Json, given: Json, schema: Schema, inside: str) -> Json:
    """Merge objects member by member; values and whole collections are replaced."""
    merged = dict(held)
    for name, value in given.items():
        single = schema.kinds[inside + name] == "Edm.ComplexType"
        old = held.get(name)
        nested = single and isinstance(value, dict) and isinstance(old, dict)
        merged[name] = _merge_objects(old or {}, value, schema, f"{inside}{name}/") if nested else value
    return merged
