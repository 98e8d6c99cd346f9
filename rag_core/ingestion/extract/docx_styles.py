"""Styles of Word documents, as far as their text depends on them: headings, lists, and hidden text.

References are to ECMA-376 part 1, 17.3 (paragraphs and runs) and 17.7 (styles).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO
from xml.etree.ElementTree import Element

from defusedxml.ElementTree import iterparse

from rag_core.text.raised_marks import parse_level

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MAX_STYLE_DEPTH = 20  # of styles based on one another; Word itself stops at ten
_HEADING_STYLE_NAME = re.compile(
    r"heading ([1-9])", re.IGNORECASE
)  # style ids are localized by Word, these names are not


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """A paragraph style.

    `heading_level` is 0 for the title, from 1 for headings, None for other text; `list_position` is a list's id and the
    depth in it, None outside of lists. `hidden` is None where the style does not say. `level` is 1 for raised
    characters, -1 for lowered ones.
    """

    heading_level: int | None = None
    list_position: tuple[str, int] | None = None
    hidden: bool | None = None
    shaded: bool = False
    level: int = 0


def parse_styles(part: IO[bytes]) -> Mapping[str, ParagraphStyle]:
    """Return every style by its id, with what it inherits from the style it is based on."""
    elements = {style.get(f"{W}styleId", ""): style for style in iterate_elements(part, "style")}
    return {style_id: _resolve_style(style_id, elements, MAX_STYLE_DEPTH) for style_id in elements}


def resolve_paragraph_style(properties: Element | None, base_style: ParagraphStyle) -> ParagraphStyle:
    """Return the style that a paragraph's properties give on top of its base style."""
    if properties is None:
        return base_style
    outline = read_val_attribute(properties, "outlineLvl")
    depth = read_val_attribute(properties, "numPr", "ilvl")
    number = read_val_attribute(properties, "numPr", "numId")
    return ParagraphStyle(
        heading_level=base_style.heading_level
        if not outline
        else parse_small_integer(outline) + 1
        if parse_small_integer(outline) < 9
        else None,
        list_position=_resolve_list_position(number, depth, base_style.list_position),
        hidden=base_style.hidden,
        shaded=base_style.shaded or is_shaded(properties),
        level=base_style.level,
    )


def _resolve_list_position(list_id: str, depth: str, base: tuple[str, int] | None) -> tuple[str, int] | None:
    """Return list and depth of a paragraph, where it names neither, one or both; the list "0" takes it out of lists."""
    if list_id == "0":
        return None
    base_list, base_depth = base or ("", 0)
    position = (list_id or base_list, parse_small_integer(depth) if depth else base_depth)
    return position if position[0] else None


def is_hidden_run(run: Element | None) -> bool | None:
    """Return True for run properties with the hidden mark or a size of one point or less; None when they do not say."""
    if run is None:
        return None
    size = read_val_attribute(run, "sz")
    if size.isdigit() and int(size) <= 2:  # half points
        return True
    vanish = run.find(f"{W}vanish")
    return None if vanish is None else vanish.get(f"{W}val") not in ("0", "false", "off")


def read_level(run: Element | None) -> int | None:
    """Return 1 for run properties of raised characters, -1 for lowered ones, 0 for level; None when they do not say."""
    return None if run is None else parse_level(read_val_attribute(run, "vertAlign"))


def has_end_in_print(paragraph: Element) -> bool:
    """Return whether the mark that ends a paragraph is neither deleted nor hidden: without it the next one goes on."""
    mark = paragraph.find(f"{W}pPr/{W}rPr")
    is_deleted = mark is not None and (mark.find(f"{W}del") is not None or mark.find(f"{W}moveFrom") is not None)
    return not is_deleted and not is_hidden_run(mark)


def is_white_run(run: Element | None) -> bool:
    """Return True for properties of a run in white that has no shading of its own."""
    return run is not None and read_val_attribute(run, "color").upper() == "FFFFFF" and not is_shaded(run)


def is_shaded(properties: Element) -> bool:
    """Return True for properties of a run, paragraph or cell with a fill or highlight other than white."""
    shade = properties.find(f"{W}shd")
    filled = shade is not None and shade.get(f"{W}fill", "auto").upper() not in ("AUTO", "FFFFFF")
    return filled or read_val_attribute(properties, "highlight") not in ("", "none", "white")


def read_val_attribute(element: Element, *path: str) -> str:
    """Return the `w:val` attribute of the element at this path below another; "" where there is none."""
    target = element.find("/".join(W + name for name in path))
    return "" if target is None else target.get(f"{W}val", "")


def iterate_elements(part: IO[bytes], *names: str) -> Iterator[Element]:
    """Yield the elements of a part with these names, each once it is complete."""
    tags = {W + name for name in names}
    return (element for _, element in iterparse(part) if element.tag in tags)


def _resolve_style(name: str, elements: Mapping[str, Element], depth: int) -> ParagraphStyle:
    element = elements.get(name)
    if element is None or not depth:
        return ParagraphStyle()
    base = _resolve_style(read_val_attribute(element, "basedOn"), elements, depth - 1)
    style = resolve_paragraph_style(element.find(f"{W}pPr"), base)
    style_name, hidden = read_val_attribute(element, "name"), is_hidden_run(element.find(f"{W}rPr"))
    heading = _HEADING_STYLE_NAME.fullmatch(style_name)
    level = int(heading[1]) if heading else 0 if style_name.lower() == "title" else style.heading_level
    raised = read_level(element.find(f"{W}rPr"))
    return ParagraphStyle(
        level,
        style.list_position,
        base.hidden if hidden is None else hidden,
        style.shaded,
        base.level if raised is None else raised,
    )


def parse_small_integer(text: str) -> int:
    """Return the number of up to three digits that a text is, else 0."""
    return int(text) if text.isdigit() and len(text) < 4 else 0
