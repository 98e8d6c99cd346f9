"""Documents and what they are made of: whose they are, their blocks, chunks and places, and how they are indexed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SearchType = Literal["vector", "keyword", "hybrid", "semantic"]
Scalar = str | int | float | bool
Vector = Sequence[float]
Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in points from the top left of the page as displayed


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents that a caller may see; every read and write of the index requires one.

    A document with an owner is visible to that user and to the groups that it names, one without to its whole
    workflow. A scope without a user therefore shows less, never more. Empty `document_ids` means all documents of
    the workflow.
    """

    workflow_id: str
    user_id: str | None = None
    groups: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """The place in the document of characters `start` to `end` (end excluded) of a chunk's content.

    `page` counts from 1 and is None for formats without pages; lines count from 1 through the whole document, both
    ends included; `bbox` is None where the format gives no geometry, otherwise there is one span per line.
    `section` is the section path (headings, outermost first) where it differs from the chunk's. `locator` is the place
    in the format's own words where it has no pages or lines of its own: `Budget!A7:D7`, `slide 3`; otherwise "".
    """

    start: int
    end: int
    page: int | None
    line_start: int
    line_end: int
    bbox: Box | None = None
    section: tuple[str, ...] = ()
    locator: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A typed name that occurs in a chunk, such as ("dtc", "P0700") or ("acronym", "TCM")."""

    type: str
    value: str


MAIL_HEADER_KIND = "mail header"  # of a block that tells of a mail itself; it is a chunk of its own


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a document as extracted, with its line breaks.

    `kind` is "heading", "paragraph", "row", "table" or `MAIL_HEADER_KIND`. `text` has one line for each of `line_start`
    to `line_end`, except that a row has one line per cell. `boxes` has one box per line of the text, or is empty.
    `headings` is the section path, outermost first. `fields` are a row's named values. `page_label` is the page number
    printed on the page where it differs from `page`. `locator` is as in a `Span`; that of a table is completed by the
    number of a row.
    """

    text: str
    kind: str
    line_start: int
    line_end: int
    page: int | None = None
    bbox: Box | None = None
    headings: tuple[str, ...] = ()
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    boxes: tuple[Box, ...] = ()
    page_label: str | None = None
    locator: str = ""


@dataclass(frozen=True, slots=True)
class PictureMember:
    """A file within a zip or mail whose text, or some of it, stands in pictures; nothing of it has been read.

    `names` lead to it, outermost first: a picture attached to a mail in a zip has two. `page` is the page of the
    outermost on which it begins.
    """

    names: tuple[str, ...]
    page: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Extraction:
    """The text that an extractor has read from a document.

    `pages` is None for formats without pages; `notes` are warnings to the reader, in words. `title` is the one in
    the document's own metadata, "" when it has none. `picture_pages` are those whose text is in a picture and was not
    read, `picture_members` the files of a zip or mail of which that is so.
    """

    blocks: tuple[Block, ...]
    pages: int | None
    extractor: str
    notes: tuple[str, ...] = ()
    title: str = ""
    picture_pages: tuple[int, ...] = ()
    picture_members: tuple[PictureMember, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """The record of an indexed document.

    `pages` is None for formats without pages. `deleted_at` is when it was deleted (ISO 8601, UTC), None for a live
    document.
    """

    id: str
    workflow_id: str
    title: str
    source: str
    content_hash: str
    extractor: str
    pages: int | None = None
    summary: str = ""
    user_id: str | None = None
    groups: tuple[str, ...] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    deleted_at: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored passage with everything needed to cite it; its score in a search belongs to a `Hit`.

    `spans` are in order of `start` and cover `content` except for the breaks between blocks, and between lines that
    have a box each. A store may read `spans` and `entities` when they are first asked for.
    """

    id: str
    document_id: str
    ordinal: int
    content: str
    title: str
    source: str
    content_hash: str
    spans: Sequence[Span] = ()
    parent_id: str | None = None
    heading_path: tuple[str, ...] = ()
    summary: str = ""
    entities: Sequence[Entity] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.spans, list) or isinstance(self.entities, list):  # as the answer cache decodes them
            object.__setattr__(self, "spans", tuple(self.spans))
            object.__setattr__(self, "entities", tuple(self.entities))

    @property
    def page(self) -> int | None:
        """The page on which the chunk begins, from 1; None for formats without pages."""
        return self.spans[0].page if self.spans else None

    @property
    def place(self) -> Span | None:
        """The page, lines and box of the whole content; None when they are not known."""
        return self.locate(0, len(self.content))

    def locate(self, start: int, end: int) -> Span | None:
        """Return the page, lines and box of characters `start` to `end` of the content; None when no span has them.

        The text of a block has its line breaks, so a line number is the span's first line plus the line breaks
        before; in a row, which has a line per cell, all lines of the span are given. The page is the one on which
        the passage begins, and the box encloses all of its lines there.
        """
        spans = self._find_overlapping_spans(start, end)
        if not spans:
            return None
        first, last = spans[0], spans[-1]
        line_start, line_end = self._find_line_range(first, start, end)[0], self._find_line_range(last, start, end)[1]
        return Span(
            start,
            end,
            first.page,
            line_start,
            line_end,
            _enclose_boxes(self.locate_boxes(start, end)),
            first.section or self.heading_path,
            _join_locators(first.locator, last.locator),
        )

    def locate_boxes(self, start: int, end: int) -> tuple[Box, ...]:
        """Return the boxes of the lines of characters `start` to `end`, on the page where they begin."""
        spans = self._find_overlapping_spans(start, end)
        return tuple(dict.fromkeys(s.bbox for s in spans if s.bbox is not None and s.page == spans[0].page))

    def _find_overlapping_spans(self, start: int, end: int) -> list[Span]:
        """Return the spans that overlap characters `start` to `end`."""
        return [s for s in self.spans if s.start < end and start < s.end]

    def _find_line_range(self, span: Span, start: int, end: int) -> tuple[int, int]:
        """Return the first and last line in the document of the part of `span` within `start` to `end`."""
        # a line break belongs to the line that it ends
        breaks = [self.content.count("\n", span.start, min(at, span.end)) for at in (start, end - 1, span.end)]
        if span.line_start + breaks[2] != span.line_end:  # a row, whose text has one line per cell
            return span.line_start, span.line_end
        return span.line_start + breaks[0], span.line_start + breaks[1]


def _join_locators(first: str, last: str) -> str:
    """Return "slide 3, row 2 to row 4" for the locators of its two ends, which begin alike, or "a.txt, lines 3-9"."""
    if not first or first == last:
        return first
    parts, others = first.split(", "), last.split(", ")
    shared = next((n for n, (a, b) in enumerate(zip(parts, others, strict=False)) if a != b), len(parts))
    lines = [rest.removeprefix("line ") for rest in (", ".join(parts[shared:]), ", ".join(others[shared:]))]
    if all(line.isdecimal() for line in lines):
        return f"{first.rpartition('line ')[0]}lines {'-'.join(lines)}"
    return f"{first} to {', '.join(others[shared:]) or last}"


def _enclose_boxes(boxes: Sequence[Box]) -> Box | None:
    """Return the smallest box that encloses all boxes; None for an empty sequence."""
    if not boxes:
        return None
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


@dataclass(frozen=True, slots=True)
class EmbeddableText:
    """A passage's text, and the title whose vector is to be part of its own; "" for none."""

    content: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class IndexingResult:
    """The result of indexing a document: counts of chunks; `failed` has the ids of chunks that are not searchable."""

    document_id: str
    chunks: int
    embedded: int
    unchanged: int
    removed: int
    pages: int | None
    extractor: str
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is: `embedded` of its `chunks` (0 until they are counted) have their vectors.

    On `pages_done` of its `pages` all have; both are None where the document has no pages, or they are not counted.
    `usage` is what the job's attempts have cost so far, as a reply has it; None where that is not recorded.
    """

    embedded: int
    chunks: int
    pages_done: int | None = None
    pages: int | None = None
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """An indexing job: a document that was accepted before it is in the index. `scope` is that of the caller.

    `document_id` is None until the text has been read, where it is derived from the text; `attempts` counts from the
    last attempt that added vectors.
    `lexical_only` says that its text is searchable while vectors are missing. `error` is the reported error: why the
    job failed, or why it waits. `run_notes` has the `degraded` and `warnings` of its last run, and the
    `usage` of all. Times are ISO 8601, UTC.
    """

    id: str
    scope: Scope
    document_id: str | None
    state: Literal["queued", "running", "done", "failed"]
    attempts: int
    progress: JobProgress
    lexical_only: bool
    error: Mapping[str, Any] | None
    result: IndexingResult | None
    run_notes: Mapping[str, Any]
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Original:
    """The uploaded bytes of a document (S0-93), kept to be displayed and to be extracted again.

    `content_hash` is that of the `Document`; an original whose hash differs from the indexed version's is not
    displayed. `kind` is that of its extractor ("pdf", "markdown", …).
    """

    document_id: str
    workflow_id: str
    title: str
    filename: str
    kind: str
    content_hash: str
    data: bytes


@dataclass(frozen=True, slots=True)
class PageImage:
    """A rendered page as PNG: number `page` (from 1) of `pages`; `width` and `height` are in points, as in a `Box`."""

    page: int
    pages: int
    width: float
    height: float
    png: bytes
