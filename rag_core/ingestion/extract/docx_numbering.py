"""Numbers of Word's lists, headings and clauses: Word computes them, and no text of the document has them.

References are to ECMA-376 part 1, 17.9 (numbering).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO
from xml.etree.ElementTree import Element

from rag_core.ingestion.extract.docx_styles import W, iterate_elements, parse_small_integer, read_val_attribute

MAX_LEVELS = 9  # the most levels of a list in Word
MAX_TEMPLATE_CHARS = 60  # of a number's text, such as "Article %1": a longer one is no number
_NO_NUMBER_FORMATS = ("bullet", "none")
_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_MAX_ROMAN = 3999
_MAX_LETTERED = 26 * 5  # "a" to "z", then "aa" to "zz", as Word counts


@dataclass(frozen=True, slots=True)
class ListLevel:
    """A level of a list: how it counts, the text around its number, and whether a level above begins it anew."""

    number_format: str
    template: str
    start: int = 1
    restarts: bool = True
    all_decimal: bool = False


@dataclass(frozen=True, slots=True)
class WordList:
    """A list: the definition that it counts with, its levels by depth, and the starts that it sets itself."""

    definition: str
    levels: Mapping[int, ListLevel]
    starts: Mapping[int, int]


class ListCounter:
    """The numbers of the lists of a document, read in order; lists of one definition go on with one another."""

    def __init__(self, lists: Mapping[str, WordList]) -> None:
        self.lists = lists
        self._counts: dict[tuple[str, int], int] = {}
        self._begun: set[str] = set()

    def count(self, list_id: str, depth: int) -> str:
        """Count an item and return its number as Word prints it; "" for bullets, and for lists without a number."""
        word_list = self.lists.get(list_id)
        level = word_list.levels.get(depth) if word_list else None
        if word_list is None or level is None:
            return ""
        self._begin(list_id, word_list)
        key = (word_list.definition, depth)
        self._counts[key] = self._counts.get(key, level.start - 1) + 1
        for deeper in range(depth + 1, MAX_LEVELS):
            if deeper in word_list.levels and word_list.levels[deeper].restarts:
                self._counts.pop((word_list.definition, deeper), None)
        return self._format_number(word_list, level)

    def restart(self, list_id: str, depth: int, start: int | None = None) -> None:
        """Let the next item of a level have this number, by default the one with which the level starts."""
        word_list = self.lists[list_id]
        self._counts.pop((word_list.definition, depth), None)
        if start is not None:
            self._counts[word_list.definition, depth] = start - 1

    def _begin(self, list_id: str, word_list: WordList) -> None:
        if list_id not in self._begun:
            self._begun.add(list_id)
            self._counts |= {(word_list.definition, depth): start - 1 for depth, start in word_list.starts.items()}

    def _format_number(self, word_list: WordList, level: ListLevel) -> str:
        if level.number_format in _NO_NUMBER_FORMATS:
            return ""

        def format_place(place: re.Match[str]) -> str:
            depth = int(place[1]) - 1
            shown = word_list.levels.get(depth)
            if shown is None:
                return ""
            number = self._counts.get((word_list.definition, depth), shown.start)
            return format_list_number(number, "decimal" if level.all_decimal else shown.number_format)

        return " ".join(_PLACE.sub(format_place, level.template).split())


def format_list_number(number: int, number_format: str) -> str:
    """Return a number in a format of Word, in figures where the format is another than letters and Roman numbers."""
    if number_format.endswith("Roman") and 0 < number <= _MAX_ROMAN:
        text = _format_roman(number)
    elif number_format.endswith("Letter") and 0 < number <= _MAX_LETTERED:
        text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    else:
        text = f"{number:02}" if number_format == "decimalZero" else str(number)
    return text.upper() if number_format.startswith("upper") else text


def _format_roman(number: int) -> str:
    text = ""
    for value, sign in _ROMAN:
        count, number = divmod(number, value)
        text += sign * count
    return text


def parse_lists(part: IO[bytes]) -> Mapping[str, WordList]:
    """Return every list of the part `numbering` by its id."""
    definitions: dict[str, Element] = {}
    by_style: dict[str, str] = {}
    instances: dict[str, Element] = {}
    for element in iterate_elements(part, "abstractNum", "num"):
        if element.tag == f"{W}num":
            instances[element.get(f"{W}numId", "")] = element
        else:
            name = element.get(f"{W}abstractNumId", "")
            definitions[name] = element
            by_style[read_val_attribute(element, "styleLink") or name] = name
    levels = {name: _parse_levels(definition) for name, definition in definitions.items()}
    linked = {
        name: by_style.get(read_val_attribute(of, "numStyleLink") or name, name) for name, of in definitions.items()
    }
    return {
        list_id: _parse_list(instance, linked[name], levels[linked[name]])
        for list_id, instance in instances.items()
        if (name := read_val_attribute(instance, "abstractNumId")) in definitions
    }


def _parse_list(instance: Element, definition: str, levels: Mapping[int, ListLevel]) -> WordList:
    overrides = {
        parse_small_integer(override.get(f"{W}ilvl", "")): override for override in instance.iterfind(f"{W}lvlOverride")
    }
    own_levels = {depth: level for override in overrides.values() for depth, level in _parse_levels(override).items()}
    starts = {
        depth: parse_small_integer(start)
        for depth, override in overrides.items()
        if (start := read_val_attribute(override, "startOverride"))
    }
    return WordList(definition, {**levels, **own_levels}, starts)


def _parse_levels(parent: Element) -> dict[int, ListLevel]:
    return {
        depth: _parse_level(level, depth)
        for level in parent.iterfind(f"{W}lvl")
        if (depth := parse_small_integer(level.get(f"{W}ilvl", ""))) < MAX_LEVELS
    }


def _parse_level(level: Element, depth: int) -> ListLevel:
    template = level.find(f"{W}lvlText")
    start = read_val_attribute(level, "start")
    legal = level.find(f"{W}isLgl")
    return ListLevel(
        read_val_attribute(level, "numFmt") or "decimal",
        f"%{depth + 1}." if template is None else template.get(f"{W}val", "")[:MAX_TEMPLATE_CHARS],
        parse_small_integer(start) if start else 1,
        read_val_attribute(level, "lvlRestart") != "0",
        legal is not None and legal.get(f"{W}val") not in ("0", "false", "off"),
    )
