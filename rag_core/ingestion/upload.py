"""A document as it is uploaded, and the checks that it must pass before it is read."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rag_core.core.errors import InvalidRequest, TooLarge
from rag_core.core.model import Block, Scalar
from rag_core.ingestion.layout_budget import DEFAULT_LAYOUT_BUDGET_USD

MAX_METADATA_ENTRIES = 64  # entries of an upload, and fields of a row that can be filtered by
MAX_FILTERABLE_CHARS = 256  # characters of a value that can be filtered by; a longer cell is in the content only
MAX_TITLE_OR_SOURCE_CHARS = 1024  # characters of a title or source
_DOCUMENT_ID = re.compile(r"[A-Za-z0-9._:#=-]{1,128}")
_TEXT_KIND_BY_ENDING = {"md": "markdown", "markdown": "markdown", "csv": "csv", "tsv": "csv"}


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded document: text, a file's bytes with its name, or blocks whose place in the document is known.

    `enrichment_budget_usd` is what the chat model may cost for its entities and summaries, `layout_budget_usd` what the
    layout service may, each where that is less than the operator allows; 0 asks none.
    """

    content: str | None = None
    data: bytes | None = None
    filename: str | None = None
    blocks: tuple[Block, ...] | None = None
    document_id: str | None = None
    title: str | None = None
    source: str | None = None
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    enrichment_budget_usd: float | None = None
    layout_budget_usd: float | None = None


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """The limits on an uploaded document: its size, the time to read its file, and the price of a layout service."""

    max_upload_bytes: int
    parse_timeout_s: float
    layout_budget_usd: float = DEFAULT_LAYOUT_BUDGET_USD


def lower_budget(wanted_usd: float | None, operator_usd: float) -> float:
    """Return what something may cost for an upload: what it wants, where that is less than the operator allows."""
    return operator_usd if wanted_usd is None else min(wanted_usd, operator_usd)


def upload_from_file(path: Path) -> Upload:
    """Return the upload of a file, whose path is its source. Raises OSError."""
    return Upload(data=path.read_bytes(), filename=path.name, source=str(path.resolve()))


def check_upload(upload: Upload, limits: UploadLimits) -> None:
    """Raise an error for what is wrong with an upload, as far as that shows before it is read.

    Raises:
        InvalidRequest: a part of the upload is missing or malformed.
        TooLarge: it has more bytes than `limits.max_upload_bytes`.
    """
    sources = [source for source in (upload.content, upload.data, upload.blocks) if source is not None]
    if len(sources) != 1:
        raise InvalidRequest("content", "is one of three: give exactly one of content, a file and blocks")
    if upload.data is not None and not upload.filename:
        raise InvalidRequest("filename", "is required with a file: its ending says how to read it")
    if upload.document_id is not None and not _DOCUMENT_ID.fullmatch(upload.document_id):
        raise InvalidRequest("document_id", "must be 1 to 128 letters, digits and the marks . _ : # = -")
    for name in ("title", "source", "filename"):
        if len(getattr(upload, name) or "") > MAX_TITLE_OR_SOURCE_CHARS:
            raise InvalidRequest(name, f"must have at most {MAX_TITLE_OR_SOURCE_CHARS} characters")
    _check_upload_metadata(upload.metadata)
    size = count_upload_bytes(upload)
    if size > limits.max_upload_bytes:
        raise TooLarge(
            f"the document has {size:,} bytes, more than {limits.max_upload_bytes:,}: split it",
            field="content",
            details={"bytes": size, "limit_bytes": limits.max_upload_bytes},
        )


def _check_upload_metadata(metadata: Mapping[str, Scalar]) -> None:
    if len(metadata) > MAX_METADATA_ENTRIES:
        raise InvalidRequest("metadata", f"must have at most {MAX_METADATA_ENTRIES} entries")
    for name, value in metadata.items():
        if not 1 <= len(name) <= 128 or not name.isprintable():
            raise InvalidRequest("metadata", "must have names of 1 to 128 printable characters")
        if not isinstance(value, Scalar):
            raise InvalidRequest("metadata", "must have strings, numbers and booleans as values")
        if isinstance(value, str) and len(value) > MAX_FILTERABLE_CHARS:
            raise InvalidRequest("metadata", f"must have values of at most {MAX_FILTERABLE_CHARS} characters")
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidRequest("metadata", "must have finite numbers")


def count_upload_bytes(upload: Upload) -> int:
    """Return the number of bytes of the file, or of the text in UTF-8."""
    if upload.data is not None:
        return len(upload.data)
    texts = [upload.content or "", *(block.text for block in upload.blocks or ())]
    return sum(len(text.encode("utf-8", errors="replace")) for text in texts)


def detect_text_kind(upload: Upload) -> str:
    """Return how uploaded text is read, by the ending of its file name or source: "text" for any other."""
    ending = (upload.filename or upload.source or "").rpartition(".")[2].lower()
    return _TEXT_KIND_BY_ENDING.get(ending, "text")
