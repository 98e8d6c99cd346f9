"""`python -m evals.pages FOLDER…`: do the boxes of a PDF hold the words, by a parser that is not ours?

A folder holds `pdfs/` and `corpus.jsonl.gz`, a document a page as another program (PyMuPDF) read it. Boxes are checked
with pdfminer.six; pypdf, which was the parser before, gives the time to compare with.
"""

import gzip
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from pypdfium2 import PdfDocument

from rag_core.core.model import Box, Chunk, Extraction
from rag_core.ingestion.chunking import Chunking, split_into_chunks
from rag_core.ingestion.extract.pdf import extract_pdf, hidden_text, structure
from rag_core.ingestion.extract.pdf.glyphs import read_glyphs
from rag_core.ingestion.extract.pdf.lines import build_strips
from rag_core.text.sentences import find_sentences

EVERY = 5  # sentences: one of so many is looked up
SLACK = 1.0  # points around a box
_WORD = re.compile(r"\w+")
Letters = Sequence[tuple[float, float, str]]  # where the middle of each stands, from the top left


@dataclass(slots=True)
class Tally:
    """Counts over the pages of a document."""

    pages: int = 0
    words: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    left_out: int = 0
    false_flags: Counter[str] = field(default_factory=Counter)
    sentences: int = 0
    held: int = 0
    on_page: int = 0

    def summarize_counts(self) -> dict[str, object]:
        return {
            "pages": self.pages,
            "words": self.words,
            "recall": round(1 - self.missing.total() / max(1, self.words), 4),
            "furniture_and_hidden_words": self.left_out,
            "hidden_though_large_enough": self.false_flags.total(),
            "sentences": self.sentences,
            "box_holds_words": round(self.held / max(1, self.sentences), 4),
            "page_is_right": round(self.on_page / max(1, self.sentences), 4),
        }


def measure_pdf(pdf: Path, pages: Mapping[int, str]) -> Tally:
    """Compare a PDF with `pages`, the text of each by number."""
    data = pdf.read_bytes()
    extraction, tally = extract_pdf(data), Tally()
    _count_words(data, extraction, pages, tally)
    letters = dict(enumerate(_read_letters(data), 1))
    for number, (page, boxes, sentence) in enumerate(_locate_sentences(extraction)):
        if number % EVERY == 0:
            inside = _squeeze_word(_join_letters_inside(letters[page], boxes))
            tally.sentences += 1
            tally.held += all(word in inside for word in map(_squeeze_word, _WORD.findall(sentence)))
            tally.on_page += set(_WORD.findall(sentence)) <= set(_WORD.findall(pages[page]))
    return tally


def time_page(read: Callable[[bytes], object], data: bytes, pages: int) -> float:
    began = time.process_time()
    read(data)
    return (time.process_time() - began) / pages


def _count_words(data: bytes, extraction: Extraction, pages: Mapping[int, str], tally: Tally) -> None:
    found = {number: Counter[str]() for number in pages}
    for block in extraction.blocks:
        found[block.page or 0].update(_WORD.findall(block.text))
    for number, excused in enumerate(_count_excused_words(data, tally), 1):
        wanted = Counter(_WORD.findall(pages[number]))
        lost = wanted - found[number]
        tally.pages += 1
        tally.left_out += (lost & excused).total()
        tally.words += wanted.total() - (lost & excused).total()
        tally.missing += lost - excused


def _count_excused_words(data: bytes, tally: Tally) -> Iterator[Counter[str]]:
    """Yield the words left out of each page on purpose: furniture and hidden text."""
    pages, unseen = [], []
    for number, page in enumerate(PdfDocument(data), 1):
        text = page.get_textpage()
        drawn = list(read_glyphs(page, text))
        seen, _, _ = hidden_text.separate_hidden_text(page, text, drawn)
        kept = {glyph.position for glyph in seen}
        dropped = [glyph for glyph in drawn if glyph.position not in kept]
        large = [g for g in dropped if min(g.style.height, g.style.width) >= hidden_text.MIN_TYPE_SIZE_PT]
        tally.false_flags.update(strip.text for strip in build_strips(large))
        pages.append(structure.PdfPage(number, page.get_height(), build_strips(seen)))
        unseen.append(build_strips(dropped))
    repeated = structure.find_page_furniture(pages)
    for sheet, dark in zip(pages, unseen, strict=True):
        said = [*dark, *(strip for strip in sheet.strips if structure.build_furniture_key(sheet, strip) in repeated)]
        yield Counter(word for strip in said for word in _WORD.findall(strip.text))


def _locate_sentences(extraction: Extraction) -> Iterator[tuple[int, Sequence[Box], str]]:
    """Yield the sentences of the chunks, as a citation would give them: page, boxes, words."""
    for number, piece in enumerate(split_into_chunks(extraction.blocks, Chunking())):
        whole = Chunk(str(number), "", number, piece.content, "", "", "", piece.spans)
        for start, end in find_sentences(piece.content):
            place = whole.locate(start, end)
            if place and place.page:
                yield place.page, whole.locate_boxes(start, end), piece.content[start:end]


def _read_letters(data: bytes) -> Iterator[Letters]:
    from pdfminer.high_level import extract_pages

    for page in extract_pages(BytesIO(data)):
        yield [
            ((letter.x0 + letter.x1) / 2, page.height - (letter.y0 + letter.y1) / 2, letter.get_text())
            for letter in _walk_letters(page)
        ]


def _walk_letters(thing: Any) -> Iterator[Any]:
    if hasattr(thing, "fontname"):
        yield thing
    elif hasattr(thing, "__iter__"):
        for part in thing:
            yield from _walk_letters(part)


def _join_letters_inside(letters: Letters, boxes: Sequence[Box]) -> str:
    return "".join(
        letter
        for x, y, letter in letters
        if any(x0 - SLACK <= x <= x1 + SLACK and y0 - SLACK <= y <= y1 + SLACK for x0, y0, x1, y1 in boxes)
    )


def _squeeze_word(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


def _read_with_pypdf(data: bytes) -> None:
    from pypdf import PdfReader

    for page in PdfReader(BytesIO(data)).pages:
        page.extract_text()


def main(folders: Sequence[str]) -> None:
    for folder in map(Path, folders):
        for name, pages in _read_page_texts(folder).items():
            pdf = folder / "pdfs" / name
            ours, pypdf = (time_page(by, pdf.read_bytes(), len(pages)) for by in (extract_pdf, _read_with_pypdf))
            times = {"ms_a_page": round(1000 * ours, 1), "times_pypdf": round(ours / pypdf, 2)}
            print(json.dumps({"pdf": name, **measure_pdf(pdf, pages).summarize_counts(), **times}), flush=True)


def _read_page_texts(folder: Path) -> dict[str, dict[int, str]]:
    """Return the text of each page of each file."""
    texts: dict[str, dict[int, str]] = {}
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as corpus:
        for record in map(json.loads, corpus):
            name, _, number = record["_id"].partition("#page=")
            texts.setdefault(name, {})[int(number)] = record["text"]
    return texts


if __name__ == "__main__":
    main(sys.argv[1:])
