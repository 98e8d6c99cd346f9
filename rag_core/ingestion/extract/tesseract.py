"""Recognition of the text of scans and pictures by tesseract on this machine, page by page, each within its limits."""

import csv
import json
import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from statistics import fmean
from typing import IO

from rag_core.core.errors import Unavailable, UnreadableDocument
from rag_core.core.model import Block, Box, Extraction, PageImage
from rag_core.core.run import get_remaining_s
from rag_core.ingestion.extract.extraction import clean_text, collect_blocks, list_pages
from rag_core.ingestion.sandbox import call_child
from rag_core.ingestion.sandbox_view import render_for_recognition

RECOGNITION_CHILD_MODULE = "rag_core.ingestion.recognition_child"
MIN_WORD_CONFIDENCE = 30.0  # percent, as tesseract states it: what it sees in photographs and stains is below
MIN_TIME_LEFT_S = 5.0  # to begin a page: a page of text takes a second of a processor, on a busy machine some
_WORD_LEVEL = "5"  # of a row of the TSV


@dataclass(frozen=True, slots=True)
class RecognisedWord:
    """A word of a picture: its text, its line and paragraph, its box in pixels, and its confidence in percent."""

    text: str
    paragraph: tuple[int, int]  # block and paragraph in it
    line: int
    box: Box
    confidence: float


def find_tesseract() -> str | None:
    """Return the path of the program; None where it is not installed."""
    return shutil.which("tesseract")


class Tesseract:
    """A layout reader for scans and pictures; `page_timeout_s` is of processor time for each page."""

    name = "tesseract"
    kinds = frozenset({"scan", "image"})
    usd_per_page = 0.0

    def __init__(self, program: str, languages: str, page_timeout_s: float) -> None:
        self._program, self._languages, self._page_timeout_s = program, languages, page_timeout_s

    async def read(self, data: bytes, kind: str) -> Extraction:
        """Recognise the text of each page; pages that could not be read are named in the notes.

        Raises:
            Unavailable: no page was read in time, or none of those that were has text.
        """
        blocks: list[Block] = []
        confidences: list[float] = []
        uncertain = 0
        unread: dict[int, str] = {}
        page, pages = 1, 1
        while page <= pages:
            if get_remaining_s() < MIN_TIME_LEFT_S:
                unread |= dict.fromkeys(range(page, pages + 1), "there was no time left")
                break
            try:
                picture = await render_for_recognition(data, kind, page, timeout_s=self._page_timeout_s)
                pages = picture.pages
                seen = await self._recognise_words(picture)
            except UnreadableDocument as error:
                unread[page] = error.message
            else:
                words = [word for word in seen if word.confidence >= MIN_WORD_CONFIDENCE]
                uncertain += len(seen) - len(words)
                blocks += build_recognised_blocks(words, picture, blocks[-1].line_end + 1 if blocks else 1)
                confidences += [word.confidence for word in words]
            page += 1
        if unread and not blocks:
            first, reason = next(iter(unread.items()))
            raise Unavailable(f"tesseract did not read page {first}: {reason}", code="recognition_failed")
        notes = tuple(_describe(confidences, uncertain, unread, pages))
        return Extraction(collect_blocks(blocks), pages, f"{kind} ({self.name})", notes)

    async def close(self) -> None:
        """Do nothing: no resource is open."""

    async def _recognise_words(self, picture: PageImage) -> Sequence[RecognisedWord]:
        request = json.dumps([self._program, self._languages])
        return await call_child(
            RECOGNITION_CHILD_MODULE, request, picture.png, _read_words, timeout_s=self._page_timeout_s
        )


def _describe(confidences: Sequence[float], uncertain: int, unread: dict[int, str], pages: int) -> Iterator[str]:
    if confidences:
        yield (
            f"the text was recognised in a picture by tesseract, its words with {fmean(confidences):.0f} % confidence "
            "on average: compare names and figures with the picture"
        )
    if uncertain:
        seen = f"{uncertain} more marks" if confidences else f"{uncertain} marks"
        yield f"tesseract took {seen} for words with less than {MIN_WORD_CONFIDENCE:.0f} % confidence: left out"
    if unread:
        reason = next(iter(unread.values()))
        yield f"{list_pages(sorted(unread))} of {pages} were not recognised: {reason}"


def _read_words(reply: IO[bytes]) -> Sequence[RecognisedWord]:
    """Return the words of tesseract's TSV in reading order."""
    text = reply.read().decode("utf-8", "replace")
    rows = csv.DictReader(StringIO(text, newline=""), delimiter="\t", quoting=csv.QUOTE_NONE)
    words = (_word_from_row(row) for row in rows if row["level"] == _WORD_LEVEL)
    return [word for word in words if word.text]


def _word_from_row(row: dict[str, str]) -> RecognisedWord:
    left, top, width, height = (float(row[name]) for name in ("left", "top", "width", "height"))
    return RecognisedWord(
        clean_text(row["text"]).strip(),
        (int(row["block_num"]), int(row["par_num"])),
        int(row["line_num"]),
        (left, top, left + width, top + height),
        float(row["conf"]),
    )


def build_recognised_blocks(words: Sequence[RecognisedWord], picture: PageImage, first_line: int) -> Iterator[Block]:
    """Yield the words as paragraphs with a box for each line, in points of the page that the picture shows."""
    scale = picture.width / struct.unpack(">I", picture.png[16:20])[0]  # a PNG has its width there
    paragraphs: dict[tuple[int, int], dict[int, list[RecognisedWord]]] = {}
    for word in words:
        paragraphs.setdefault(word.paragraph, {}).setdefault(word.line, []).append(word)
    line = first_line
    for lines in paragraphs.values():
        text = "\n".join(" ".join(word.text for word in held) for held in lines.values())
        boxes = tuple(_enclose([word.box for word in held], scale) for held in lines.values())
        last = line + len(lines) - 1
        yield Block(text, "paragraph", line, last, picture.page, _enclose(boxes, 1.0), boxes=boxes)
        line = last + 1


def _enclose(boxes: Sequence[Box], scale: float) -> Box:
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    left, top, right, bottom = (round(scale * edge, 2) for edge in (min(x0), min(y0), max(x1), max(y1)))
    return left, top, right, bottom
