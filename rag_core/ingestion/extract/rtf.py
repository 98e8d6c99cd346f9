"""RTF extraction: text in reading order with headings, tables and notes; a paragraph or table is placed by its number.

Headers, footers, comments, pictures and embedded objects are left out; hidden text too, with a note.
"""

import codecs
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field

from rag_core.core.errors import UnreadableDocument
from rag_core.core.model import Block, Extraction
from rag_core.ingestion.extract.extraction import MAX_BLOCKS, clean_text, collect_blocks, make_document_too_long_error
from rag_core.ingestion.extract.placed_blocks import BlockMaker
from rag_core.ingestion.extract.rtf_words import (
    CODEC_BY_CHARSET,
    READ_STARRED_GROUPS,
    SPECIAL_CHARACTERS,
    SYMBOLS,
    UNREAD_GROUPS,
)
from rag_core.ingestion.tables import MAX_COLUMNS
from rag_core.text.raised_marks import join_runs

MAX_GROUP_DEPTH = 1_000  # of groups in one another; a program writes some twenty
_TOKEN = re.compile(
    r"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?[0-9]{1,9})? ?"
    r"|\\'(?P<byte>[0-9a-fA-F]{2})|\\(?P<symbol>.)|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+|\\$",
    re.DOTALL,
)
_HEADING_NAME = re.compile(r"heading ([1-9])", re.IGNORECASE)
_WHITE = (255, 255, 255)
_SHADES = ("cb", "highlight", "chcbpat", "cbpat")  # a ground on which white letters are seen


@dataclass(slots=True)
class _Text:
    """Text that is being read, in its codec as far as it is not decoded yet; `is_aside` for a note or a text box."""

    is_aside: bool = False
    parts: list[tuple[str, int]] = field(default_factory=list)
    undecoded: bytearray = field(default_factory=bytearray)
    codec: str = "cp1252"
    level: int = 0

    def add_bytes(self, data: bytes, codec: str, level: int = 0) -> None:
        if (codec, level) != (self.codec, self.level):
            self._decode()
            self.codec, self.level = codec, level
        self.undecoded += data

    def add(self, text: str, level: int = 0) -> None:
        self._decode()
        self.parts.append((text, level))

    def take(self) -> str:
        """Return the text so far, and begin anew."""
        self._decode()
        joined = join_runs(self.parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        self.parts.clear()
        return clean_text(joined).strip("\n ")

    def _decode(self) -> None:
        if self.undecoded:
            self.parts.append((bytes(self.undecoded).decode(self.codec, "replace"), self.level))
            self.undecoded.clear()


@dataclass(slots=True)
class _Group:
    """What a group's words have set; a group within it begins with the same."""

    text: _Text
    reads: str = "text"  # or the name of the table that it is: "fonttbl", "stylesheet", "colortbl", "title", "nothing"
    font: int = -1
    is_hidden: bool = False
    is_tiny: bool = False
    is_shaded: bool = False
    level: int = 0
    colour: int = 0
    is_in_table: bool = False
    style: int = -1
    outline_level: int = 9
    skipped: int = 1  # characters that stand for a character of Unicode in old readers


def extract_rtf(data: bytes) -> Extraction:
    """Extract a rich text.

    Raises:
        UnreadableDocument: it is no RTF, or its groups are too deeply nested.
    """
    if not data.startswith(b"{\\rtf"):
        raise UnreadableDocument("the file is no RTF: save it again in a word processor", code="document_damaged")
    reader = RtfReader()
    blocks = collect_blocks(reader.read(data))
    notes = (f"{reader.hidden_runs} runs of hidden text were left out",) if reader.hidden_runs else ()
    return Extraction(blocks, None, "rtf (local)", notes, reader.title)


class RtfReader:
    """Reads a rich text into blocks. `prefix` begins the locator of each."""

    def __init__(self, maker: BlockMaker | None = None, prefix: str = "") -> None:
        self.title = ""
        self.hidden_runs = 0
        self._maker, self._prefix = maker or BlockMaker(), prefix
        self._paragraphs = self._tables = self._notes = 0
        self._body = _Text()
        self._group = _Group(self._body)
        self._outer: list[_Group] = []
        self._asides: list[str] = []  # notes and text boxes to be given after the paragraph
        self._cells: list[str] = []
        self._rows: list[list[str]] = []
        self._codec, self._default_font = "cp1252", -1
        self._codecs: dict[int, str] = {}  # by font
        self._levels: dict[int, int] = {}  # of headings, by style
        self._colours: list[tuple[int, int, int]] = []
        self._colour = [0, 0, 0]
        self._to_skip = 0
        self._is_starred = False

    def read(self, data: bytes) -> Iterator[Block]:
        source = data.decode("latin-1")
        at, is_ended = 0, False
        while at < len(source) and not is_ended:
            token = _TOKEN.match(source, at)
            if token is None:
                break
            at = token.end()
            if token["text"] is not None:
                self._add_characters(token["text"])
            elif token["byte"] is not None:
                self._add_characters(chr(int(token["byte"], 16)))
            elif token["brace"] == "{":
                self._open_group()
            elif token["brace"] == "}":
                self._close_group()
                is_ended = not self._outer  # what follows the document is no text of it
            elif token["word"] is not None:
                number = None if token["number"] is None else int(token["number"])
                if token["word"] == "bin":
                    at += max(0, number or 0)
                else:
                    yield from self._read_word(token["word"], number)
            elif token["symbol"] is not None:
                yield from self._read_symbol(token["symbol"])
        yield from self._end_paragraph()
        yield from self._end_table()

    def _open_group(self) -> None:
        if len(self._outer) > MAX_GROUP_DEPTH:
            message = f"the file has more than {MAX_GROUP_DEPTH:,} groups in one another: save it again"
            raise UnreadableDocument(message, code="document_too_complex", details={"depth": MAX_GROUP_DEPTH})
        self._outer.append(self._group)
        self._group = copy(self._group)
        self._to_skip, self._is_starred = 0, False

    def _close_group(self) -> None:
        ended, self._group = self._group, self._outer.pop()
        self._to_skip, self._is_starred = 0, False
        if ended.reads == "title" != self._group.reads:
            self.title = " ".join(ended.text.take().split())
        elif ended.reads == "stylesheet" and ended.style >= 0:
            self._name_style(ended)
        elif ended.text.is_aside and ended.text is not self._group.text and (text := ended.text.take()):
            self._asides.append(text)

    def _name_style(self, style: _Group) -> None:
        heading = _HEADING_NAME.search(style.text.take())
        if heading or style.outline_level < 9:
            self._levels.setdefault(style.style, int(heading[1]) if heading else style.outline_level + 1)

    def _read_symbol(self, symbol: str) -> Iterator[Block]:
        if symbol == "*":
            self._is_starred = True
        elif symbol in "\n\r":  # an old way to write \par
            yield from self._read_word("par", None)
        elif symbol in SYMBOLS:
            self._add_text(SYMBOLS[symbol])

    def _read_word(self, word: str, number: int | None) -> Iterator[Block]:
        is_starred, self._is_starred = self._is_starred, False
        group = self._group
        if (is_starred and word not in READ_STARRED_GROUPS) or word in UNREAD_GROUPS:
            self._begin_unread(word)
        elif word == "title" and group.reads == "info":
            group.reads, group.text = "title", _Text()
        elif word == "u" and number is not None:
            self._add_text(chr(number % 0x10000))
            self._to_skip = group.skipped
        elif group.reads == "text":
            yield from self._read_text_word(word, number)
        self._set_property(word, number)

    def _begin_unread(self, word: str) -> None:
        """Read the tables of fonts, colours and styles, and nothing of any other such group."""
        is_table = word in ("fonttbl", "colortbl", "stylesheet", "info") and self._group.reads == "text"
        self._group.reads = word if is_table else "nothing"
        self._group.text = _Text()

    def _read_text_word(self, word: str, number: int | None) -> Iterator[Block]:
        group = self._group
        if word in ("par", "sect", "page"):
            yield from self._end_line()
        elif word == "cell" and not group.text.is_aside:
            self._end_cell()
        elif word == "row" and not group.text.is_aside:
            self._rows.append(self._cells)
            self._cells = []
            if len(self._rows) > MAX_BLOCKS:
                raise make_document_too_long_error()
        elif word == "footnote":
            self._notes += 1
            self._add_text(f"[{self._notes}]")
            group.text = _Text(is_aside=True)
            group.text.add(f"[{self._notes}] ")
        elif word == "shptxt":
            group.text = _Text(is_aside=True)
        elif word in SPECIAL_CHARACTERS:
            self._add_text(SPECIAL_CHARACTERS[word])

    def _set_property(self, word: str, number: int | None) -> None:
        group = self._group
        match word:
            case "v" | "deleted" | "htmlrtf":  # htmlrtf: what stands in place of HTML in a mail
                group.is_hidden = number != 0
            case "plain":
                group.is_hidden = group.is_tiny = group.is_shaded = False
                group.font, group.colour, group.level = self._default_font, 0, 0
            case "super" | "up":
                group.level = int(number != 0)
            case "sub" | "dn":
                group.level = -int(number != 0)
            case "nosupersub":
                group.level = 0
            case "pard":
                group.is_in_table, group.style, group.outline_level = False, -1, 9
            case "intbl":
                group.is_in_table = True
            case "s":
                group.style = number or 0
            case "outlinelevel":
                group.outline_level = 9 if number is None else number
            case "fs":
                group.is_tiny = number is not None and number <= 2  # half points
            case "cf":
                group.colour = number or 0
            case "uc":
                group.skipped = min(max(number or 0, 0), 100)
            case "red" | "green" | "blue":
                self._colour[("red", "green", "blue").index(word)] = number or 0
            case "f":
                group.font = number or 0
            case "deff":
                self._default_font = group.font = number or 0
            case "fcharset" if group.reads == "fonttbl":
                self._codecs[group.font] = CODEC_BY_CHARSET.get(number or 0, self._codec)
            case "ansicpg":
                self._codec = _find_codec(f"cp{number}") or self._codec
            case _ if word in _SHADES:
                group.is_shaded = bool(number)

    def _add_characters(self, characters: str) -> None:
        """Add characters of a file's bytes, but for those that stand for a character of Unicode before them."""
        skipped = min(self._to_skip, len(characters))
        self._to_skip -= skipped
        characters = characters[skipped:]
        group = self._group
        if group.reads == "colortbl":
            for _ in range(characters.count(";")):
                self._colours.append((self._colour[0], self._colour[1], self._colour[2]))
                self._colour = [0, 0, 0]
        elif characters and group.reads in ("text", "title", "stylesheet") and not self._is_hidden(characters):
            codec = self._codecs.get(group.font, self._codec)
            group.text.add_bytes(characters.encode("latin-1"), codec, group.level)

    def _add_text(self, text: str) -> None:
        if self._group.reads in ("text", "title") and not self._is_hidden(text):
            self._group.text.add(text, self._group.level)

    def _is_hidden(self, text: str) -> bool:
        group = self._group
        is_white = (
            0 < group.colour < len(self._colours)
            and self._colours[group.colour] == _WHITE
            and not (group.is_shaded or group.is_in_table)
        )
        is_hidden = group.reads == "text" and (group.is_hidden or group.is_tiny or is_white)
        self.hidden_runs += is_hidden and bool(text.strip())
        return is_hidden

    def _end_line(self) -> Iterator[Block]:
        group = self._group
        if group.text.is_aside or group.is_in_table:
            group.text.add("\n")
        else:
            yield from self._end_table()
            yield from self._end_paragraph()

    def _end_paragraph(self) -> Iterator[Block]:
        level = self._levels.get(self._group.style, 0)
        if self._group.outline_level < 9:
            level = self._group.outline_level + 1
        if text := self._body.take():
            place = self._count_paragraph()
            yield (
                self._maker.make_heading(text.replace("\n", " "), place, level)
                if level
                else self._maker.make(text, place)
            )
        yield from self._give_asides()

    def _give_asides(self) -> Iterator[Block]:
        for text in self._asides:
            yield self._maker.make(text, self._count_paragraph())
        self._asides = []

    def _count_paragraph(self) -> str:
        self._paragraphs += 1
        return f"{self._prefix}paragraph {self._paragraphs}"

    def _end_cell(self) -> None:
        if len(self._cells) == MAX_COLUMNS:
            message = f"a row has more than {MAX_COLUMNS} columns: split the table"
            raise UnreadableDocument(message, code="table_too_wide")
        self._cells.append(" ".join(self._body.take().split()))

    def _end_table(self) -> Iterator[Block]:
        rows, self._rows = self._rows, []
        if not any(any(row) for row in rows):
            return
        self._tables += 1
        if table := self._maker.make_table(rows, f"{self._prefix}table {self._tables}"):
            yield table
        yield from self._give_asides()


def _find_codec(name: str) -> str | None:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None
