"""Tables in a text: each cell is a context of its own, and the header of its column says what it is."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_core.core.model import PiiSpan
from rag_core.guard.pii import announcements
from rag_core.text import person_names

MAX_HEADER_CHARS = 40  # a longer cell is rather a sentence with commas
RULE_LINE = re.compile(r"[ \t|:-]+")  # with a hyphen, the line under the header of a Markdown table
CELLS = {  # of a line, up to a delimiter or to its end
    delimiter: re.compile(rf'(?:[ \t]{{0,8}}"([^"]{{0,500}}+)"|([^{delimiter}]*+))({delimiter}|\Z)')
    for delimiter in (r"\|", ",", ";", "\t")
}
PERSON_HEADER = re.compile(
    r"(?i)(?:first|last|full|given|family|sur|patient|employee|customer)[ _]?name|employee|patient|surname"
    r"|vorname|nachname"
    r"|nom|prénom|nombre|apellidos?|nome|cognome|sobrenome|naam|voornaam|achternaam|imię|nazwisko|imię i nazwisko|namn"
    r"|förnamn|efternamn|name|contact|氏名|名前|नाम"
)
PART_OF_NAME_HEADER = re.compile(
    r"(?i)(?:first|last|given|family|sur)[ _]?name|surname|vorname|nachname|prénom|apellidos?|cognome|sobrenome"
    r"|voornaam"
    r"|achternaam|imię|nazwisko|förnamn|efternamn"
)
ADDRESS_HEADER = re.compile(
    r"(?i)(?:(?:home|street|postal|mailing|delivery|billing) )?address|post ?code|zip(?: ?code)?|adresse|anschrift|plz"
    r"|code postal|dirección|domicilio|indirizzo|cap|adres|postcode|kod pocztowy|endereço|cep|adress|postnummer|住所"
    r"|郵便番号|पता|pin ?code"
)
JAPANESE_CELL = re.compile(r"[一-龯々]{1,4}[ \u3000][一-龯々ぁ-んァ-ヶ]{1,4}")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table under its header; `start` and `end` are those of its text in the whole, without spaces."""

    header: str
    start: int
    end: int


def find_cells(text: str) -> Iterator[Cell]:
    """Yield the cells below the headers of Markdown tables, and of lines with as many delimiters as their header."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    headers: list[str] = []
    delimiter = ""
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if delimiter and delimiter[-1] in line:
            if _is_markdown_rule(line):
                continue
            cells = _split_cells(line, delimiter)
            if len(cells) == len(headers):
                yield from _place_cells(headers, cells, starts[number])
                continue
        delimiter = _find_delimiter(line, following)
        headers = [line[start:end] for start, end in _split_cells(line, delimiter)] if delimiter else []


def _is_markdown_rule(line: str) -> bool:
    return "-" in line and bool(RULE_LINE.fullmatch(line))


def _place_cells(headers: list[str], cells: list[tuple[int, int]], line_start: int) -> Iterator[Cell]:
    for header, (start, end) in zip(headers, cells, strict=True):
        if start < end:
            yield Cell(header, line_start + start, line_start + end)


def _find_delimiter(line: str, following: str) -> str:
    """Return the delimiter of a line that is the header of the following one; "" for any other line."""
    if "|" in line and _is_markdown_rule(following):
        return r"\|"
    for delimiter in (";", "\t", ","):
        count = line.count(delimiter)
        if count and len(line) < MAX_HEADER_CHARS * (count + 1) and delimiter in following:
            cells = _split_cells(line, delimiter)
            names = [line[start:end] for start, end in cells]
            plain = all(0 < len(name) <= MAX_HEADER_CHARS and not any(map(str.isdigit, name)) for name in names)
            if plain and len(_split_cells(following, delimiter)) == len(cells):
                return delimiter
    return ""


def _split_cells(line: str, delimiter: str) -> list[tuple[int, int]]:
    """Return start and end of each cell of a line, without the spaces and quotes around it."""
    cells = []
    if delimiter == r"\|":  # the bars at both ends of a Markdown row divide nothing
        line = re.sub(r"\|[ \t]{0,8}\Z", "", re.sub(r"\A([ \t]{0,8})\|", r"\1 ", line))
    for match in CELLS[delimiter].finditer(line):
        start, end = match.span(1) if match[1] is not None else match.span(2)
        content = line[start:end]
        start += len(content) - len(content.lstrip())
        cells.append((start, max(start, end - (len(content) - len(content.rstrip())))))
        if not match[3]:
            break
    return cells


def find_table_values(text: str, cells: Sequence[Cell]) -> Iterator[PiiSpan]:
    """Yield the cells that are altogether what their header announces."""
    announced = {header: _list_announced(header) for header in {cell.header for cell in cells}}
    for cell in cells:
        value = text[cell.start : cell.end]
        if type := _name_cell_type(cell.header, value, announced[cell.header]):
            yield PiiSpan(cell.start, cell.end, type, 0.9)


def _list_announced(header: str) -> list[announcements.Announcement]:
    return [announcement for announcement in announcements.ANNOUNCEMENTS if announcement.header.search(header)]


def _name_cell_type(header: str, value: str, announced: list[announcements.Announcement]) -> str | None:
    for announcement in announced:
        if announcement.cell.fullmatch(value) and announcement.is_valid(value):
            return announcement.type
    if PERSON_HEADER.fullmatch(header) and _is_name_cell(header, value):
        return "PERSON"
    return "ADDRESS" if ADDRESS_HEADER.fullmatch(header) and any(map(str.isdigit, value)) else None


def _is_name_cell(header: str, value: str) -> bool:
    if JAPANESE_CELL.fullmatch(value):
        return True
    if not person_names.is_name(value):
        return False
    return bool(PART_OF_NAME_HEADER.fullmatch(header)) or (" " in value and person_names.is_listed_name(value))
