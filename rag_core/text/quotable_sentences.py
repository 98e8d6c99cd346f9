"""The sentences, list items and table rows of a text that can be quoted: titles and cut-off rests are none."""

import re
from itertools import pairwise

from rag_core.text.layout import split_into_parts

LIST_ITEM_OR_TABLE_ROW = re.compile(r"^(?:[-*•▪◦●|]|\d{1,2}[.)]|\(?[a-z]\)|[^\n|]{1,80}[ \t]\|)\s")
SENTENCE_END = re.compile(r"[.!?:;][\"'”’)\]]*$")
STATED_VALUE = re.compile(r"^(?:[^\W\d_]\S*+\s++){2}.*\d", re.DOTALL)  # a title starts with its number, or is shorter
FIELD = re.compile(r"[^\n:]{1,80}:[ \t]\S")  # of a record, as in "Hired: 2023-06-12"
SALUTATION = re.compile(  # of a letter or mail, which its first sentence may follow in lower case
    r"(?:(?:Dear|Hello|Hi|Hey|Greetings|Good (?:morning|afternoon|evening|day))\b[^\n]{0,60}|"
    r"[A-Z]\w{1,30}(?: [A-Z]\w{1,30}){0,2}),"
)
MAX_TITLE_CHARS = 70


def split_into_quotable_sentences(text: str) -> list[str]:
    """Split a text into its sentences and list items; one that has none, such as a table row, stays whole."""
    shown = [part.text for part in split_into_parts(text) if part.kind != "rule"]
    return [
        words
        for before, part in zip(["", *shown], shown, strict=False)
        if _is_statement(words := _strip_titles(part), is_begun=bool(SALUTATION.fullmatch(before)))
    ] or [text]


def _strip_titles(sentence: str) -> str:
    """Remove the titles on lines of their own above a sentence.

    A title is a short line without an end mark that leaves room for the next word, which starts with a capital. The
    first fields of a record, as in "Name: Acme", are no titles: its last line says nothing without them.
    """
    lines = sentence.split("\n")
    if len(lines) > 1 and all(map(FIELD.match, lines)):
        return sentence
    width = max(map(len, lines))
    for line, below in pairwise(sentence.split("\n")):
        wrapped = len(line) + len(below.split(" ")[0]) >= width
        if wrapped or len(line) > MAX_TITLE_CHARS or SENTENCE_END.search(line) or not below[:1].isupper():
            break
        lines.pop(0)
    return "\n".join(lines)


def _is_statement(part: str, *, is_begun: bool) -> bool:
    """Return whether a part is a sentence, an item or a value with its subject, not a title or a cut-off rest.

    One that begins in lower case is cut off, unless it is the first of a letter that `is_begun` by "Dear Ann,".
    """
    return bool(
        LIST_ITEM_OR_TABLE_ROW.match(part)
        or ((SENTENCE_END.search(part) or STATED_VALUE.match(part)) and (is_begun or not part[:1].islower()))
    )
