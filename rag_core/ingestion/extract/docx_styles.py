"""How a Word document looks, as far as its text depends on it: headings, lists, and what is not to be seen.

References are to ECMA-376 part 1, 17.3 (paragraphs and runs), 17.7 (styles) and 17.9 (numbering).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import iterparse

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MAX_DEPTH = 20  # styles based on one another; Word itself stops at ten
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)  # style ids are translated with Word, these names never


@dataclass(frozen=True, slots=True)
class Style:
    """`level` is 0 for the title, from 1 for headings, None for other text; `list` names numbering and depth."""

    level: int | None = None
    list: tuple[str, int] | None = None
    hidden: bool | None = None
    shaded: bool = False


def styles_in(part: IO[bytes]) -> Mapping[str, Style]:
    """Every style by its id, with what it takes from the one it is based on."""
    found = {style.get(f"{W}styleId", ""): style for style in _all(part, "style")}
    return {name: _inherited(name, found, MAX_DEPTH) for name in found}


def formats_in(part: IO[bytes]) -> Mapping[tuple[str, int], str]:
    """The format of each list's numbers, such as "decimal", by the list's id and the depth in it."""
    kinds: dict[str, Element] = {}
    used: dict[str, str] = {}
    for element in _all(part, "abstractNum", "num"):
        if element.tag == f"{W}num":
            used[element.get(f"{W}numId", "")] = value(element, "abstractNumId")
        else:
            kinds[element.get(f"{W}abstractNumId", "")] = element
    return {
        (number, _number(level.get(f"{W}ilvl", ""))): value(level, "numFmt")
        for number, kind in used.items()
        if kind in kinds
        for level in kinds[kind].iter(f"{W}lvl")
    }


def own_style(properties: Element | None, above: Style) -> Style:
    """What a paragraph's properties say, and where they say nothing, the style above."""
    if properties is None:
        return above
    outline = value(properties, "outlineLvl")
    depth = value(properties, "numPr", "ilvl")
    number = value(properties, "numPr", "numId")
    return Style(
        level=above.level if not outline else _number(outline) + 1 if _number(outline) < 9 else None,
        list=(number, _number(depth)) if number not in ("", "0") else None if number else above.list,
        hidden=above.hidden,
        shaded=above.shaded or is_shaded(properties),
    )


def is_hidden(run: Element | None) -> bool | None:
    """By a run's properties: marked so, or of one point and less; None when they do not say."""
    if run is None:
        return None
    size = value(run, "sz")
    if size.isdigit() and int(size) <= 2:  # half points
        return True
    vanish = run.find(f"{W}vanish")
    return None if vanish is None else vanish.get(f"{W}val") not in ("0", "false", "off")


def is_white(run: Element | None) -> bool:
    """Whether a run is white with nothing dark behind it of its own."""
    return run is not None and value(run, "color").upper() == "FFFFFF" and not is_shaded(run)


def is_shaded(properties: Element) -> bool:
    shade = properties.find(f"{W}shd")
    filled = shade is not None and shade.get(f"{W}fill", "auto").upper() not in ("AUTO", "FFFFFF")
    return filled or value(properties, "highlight") not in ("", "none", "white")


def value(element: Element, *path: str) -> str:
    found = element.find("/".join(W + name for name in path))
    return "" if found is None else found.get(f"{W}val", "")


def _all(part: IO[bytes], *names: str) -> Iterator[Element]:
    tags = {W + name for name in names}
    return (element for _, element in iterparse(part) if element.tag in tags)


def _inherited(name: str, found: Mapping[str, Element], depth: int) -> Style:
    element = found.get(name)
    if element is None or not depth:
        return Style()
    above = _inherited(value(element, "basedOn"), found, depth - 1)
    own = own_style(element.find(f"{W}pPr"), above)
    called, hidden = value(element, "name"), is_hidden(element.find(f"{W}rPr"))
    heading = _HEADING.fullmatch(called)
    level = int(heading[1]) if heading else 0 if called.lower() == "title" else own.level
    return Style(level, own.list, above.hidden if hidden is None else hidden, own.shaded)


def _number(text: str) -> int:
    return int(text) if text.isdigit() and len(text) < 4 else 0
