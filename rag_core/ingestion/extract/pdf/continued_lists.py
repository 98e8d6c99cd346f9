"""Lists that go on over the end of a page: the items on the next page stand below the lead-in of the page before."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_core.ingestion.extract.pdf.continued_tables import may_stand_between
from rag_core.ingestion.extract.pdf.lines import is_list_mark
from rag_core.ingestion.extract.pdf.structure import PagePart

MAX_LEAD_IN_CHARS = 200  # a chunk keeps as much of a title
_SENTENCE_BOUNDARY = re.compile(r"(?<=[.!?]) ")  # in the sandbox no list of abbreviations can be read
_CLOSING_MARKS = (".", "!", "?", ":")


def carry_lead_ins(parts: Sequence[PagePart]) -> Iterator[PagePart]:
    """Yield the parts of all pages; items of a list begun on an earlier page have its lead-in, "…:", as a heading.

    A list ends before a table, a heading, and a paragraph that is no item; but the rest of an item that the end of the
    page has cut, and a running line that was not known for one, may stand within it.
    """
    lead_in, begun_on = "", 0
    before: PagePart | None = None
    for part in parts:
        is_item = part.kind == "paragraph" and bool(part.lines) and is_list_mark(part.lines[0].split(" ")[0])
        is_running_line = not is_item and may_stand_between(part)
        if part.table or part.level is not None:
            lead_in = ""
        elif not is_item and part.text.endswith(":"):
            lead_in, begun_on = _find_lead_in(part.text), part.page.number
        elif not (is_item or is_running_line or _is_rest_of_item(part, before)):
            lead_in = ""
        is_below = lead_in and part.page.number > begun_on and not is_running_line
        yield replace(part, lead_in=lead_in) if is_below else part
        before = before if is_running_line else part


def _find_lead_in(text: str) -> str:
    """Return the last sentence of a paragraph; "" for one that is too long to be a heading."""
    sentence = _SENTENCE_BOUNDARY.split(text)[-1]
    return sentence if len(sentence) <= MAX_LEAD_IN_CHARS else ""


def _is_rest_of_item(part: PagePart, before: PagePart | None) -> bool:
    """Return whether a part goes on with the sentence that the last part of the page before has left open."""
    if before is None or before.page.number + 1 != part.page.number:
        return False
    return part.text[:1].islower() and not before.text.endswith(_CLOSING_MARKS)
