"""Numbers of lists and headings of OpenDocument texts: the program computes them, and no text of the document has them.

References are to OpenDocument 1.3, part 3, 5.3 (lists), 16.30 (their styles) and 16.34 (the outline). They are counted
as those of Word are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rag_core.ingestion.extract.docx_numbering import MAX_LEVELS, MAX_TEMPLATE_CHARS, ListCounter, ListLevel, WordList
from rag_core.ingestion.extract.opendocument import STYLE, TEXT, read_count

Levels = Mapping[int, ListLevel]  # by depth, from 0
OUTLINE = "outline"  # the list of the headings that stand in no other one
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
_NUMBERED_TAGS = frozenset({f"{TEXT}list-level-style-number", f"{TEXT}outline-level-style"})
_FORMATS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


class OpenListCounter:
    """The numbers of the lists and headings of a document, read in order.

    A list counts from its start unless it goes on with an earlier one, by that one's id or as the last of its style.
    """

    def __init__(self, levels_by_style: Mapping[str, Levels]) -> None:
        self._levels_by_style = levels_by_style
        self._lists = {OUTLINE: WordList(OUTLINE, levels_by_style.get(OUTLINE, {}), {})}
        self._counter = ListCounter(self._lists)
        self._keys_by_id: dict[str, str] = {}
        self._last_keys: dict[str, str] = {}  # by style

    def begin_list(self, element: Any, style: str) -> str:
        """Return the key of a list that stands in no other one, under which its items are counted."""
        levels = self._levels_by_style.get(style, {})
        if levels and levels is self._levels_by_style.get(OUTLINE):
            return OUTLINE
        earlier = self._keys_by_id.get(element.get(f"{TEXT}continue-list", ""))
        if earlier is None and element.get(f"{TEXT}continue-numbering") == "true":
            earlier = self._last_keys.get(style)
        key = earlier or f"{style} {len(self._lists)}"
        self._lists.setdefault(key, WordList(key, levels, {}))
        self._last_keys[style] = key
        if id := element.get(_XML_ID):
            self._keys_by_id[id] = key
        return key

    def begin_sublist(self, element: Any, style: str, key: str, depth: int) -> str:
        """Return the key of a list within an item of the list with this `key`: its own where it has another style.

        It counts on unless an item above was counted since: two lists in one item are one to LibreOffice.
        """
        own_style = element.get(f"{TEXT}style-name") or style
        if own_style != style:
            return self.begin_list(element, own_style)
        if element.get(f"{TEXT}continue-numbering") == "false":
            self._counter.restart(key, depth)
        return key

    def count_item(self, item: Any, key: str, depth: int) -> str:
        """Count an item and return its number; "" for bullets, and for lists without a number."""
        self._restart_at_own_start(item, key, depth)
        return self._counter.count(key, depth)

    def count_heading(self, element: Any, depth: int) -> str:
        """Count a heading that stands in no list, and return its number; "" where the outline gives it none."""
        if element.get(f"{TEXT}is-list-header") == "true":
            return ""
        if element.get(f"{TEXT}restart-numbering") == "true":
            self._counter.restart(OUTLINE, depth)
        self._restart_at_own_start(element, OUTLINE, depth)
        return self._counter.count(OUTLINE, depth)

    def _restart_at_own_start(self, element: Any, key: str, depth: int) -> None:
        if f"{TEXT}start-value" in element.attrib:
            self._counter.restart(key, depth, _read_start(element))


def read_list_levels(parts: Sequence[Any]) -> dict[str, Levels]:
    """Return the levels of each list style by its name; those of the outline by `OUTLINE` and by its own name."""
    styles = {
        style.get(f"{STYLE}name", ""): _read_levels(style) for part in parts for style in part.iter(f"{TEXT}list-style")
    }
    for part in parts:
        for outline in part.iter(f"{TEXT}outline-style"):
            levels = _read_levels(outline)
            styles |= {OUTLINE: levels, outline.get(f"{STYLE}name", OUTLINE): levels}
    return styles


def _read_levels(style: Any) -> Levels:
    elements = {read_count(element, f"{TEXT}level"): element for element in style if element.tag in _NUMBERED_TAGS}
    numbered = {level: one for level, one in elements.items() if level <= MAX_LEVELS and one.get(f"{STYLE}num-format")}
    return {level - 1: _read_level(level, one, numbered) for level, one in numbered.items()}


def _read_level(level: int, element: Any, numbered: Mapping[int, Any]) -> ListLevel:
    first = level + 1 - read_count(element, f"{TEXT}display-levels")
    shown = ".".join(f"%{above}" for above in range(first, level + 1) if above in numbered)
    before, after = (element.get(f"{STYLE}num-{name}", "").replace("%", "") for name in ("prefix", "suffix"))
    number_format = _FORMATS.get(element.get(f"{STYLE}num-format"), "decimal")
    return ListLevel(number_format, f"{before}{shown}{after}"[:MAX_TEMPLATE_CHARS], _read_start(element))


def _read_start(element: Any) -> int:
    """Return the number at which a level or an item starts, 1 where it does not say; 0 is one too."""
    return 0 if element.get(f"{TEXT}start-value") == "0" else read_count(element, f"{TEXT}start-value")
