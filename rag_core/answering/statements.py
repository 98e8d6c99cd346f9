"""Statements: what each part of a text states when it is read with the parts around it, and what only frames others.

A list item is read with its lead-in, a table row with its header, "Yes." with the question, a sentence that begins with
a pronoun with the one before. A heading, a lead-in, the header of a table, a question or a greeting states nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from operator import attrgetter

from rag_core.core.model import Claim, Reading
from rag_core.text.figures import has_digit
from rag_core.text.framing import has_verb, is_framing, is_title, states_something, strip_framing
from rag_core.text.layout import (
    BOLD_HEADING_LEVEL,
    Part,
    make_part,
    remove_marks,
    split_cells,
    split_into_parts,
)
from rag_core.text.request_memory import remember_in_request
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS
from rag_core.text.table_rows import state_row
from rag_core.text.tables import TableRow, TextTable, read_tables
from rag_core.text.terms import WORD_PATTERN, extract_terms

# of a sentence without a known verb that needs no lead-in to be understood: with figures, such as "Every 90 days."
MIN_SENTENCE_WORDS, MIN_UNCOUNTED_WORDS = 4, 3
MAX_SHORT_REPLY_WORDS, MAX_PRONOUN_REPLY_WORDS = 2, 4  # after "No,": "it does not" says no more than the "No"
# of what is written again for each item or reply below: the time stays linear in the text
MAX_LEAD_INS, MAX_LEAD_IN_CHARS = 8, 300
MAX_READ_PASSAGES = 64
PROSE_DEPTH = -1  # of a lead-in that is no list item
PRONOUN_START = re.compile(
    r"(?:It|They|He|She|Its|Their|His|Her|This|These|That|Those|Such|Both|Er|Sie|Es|Dies|Diese|Dieser|Dieses|Ello|Ellos|"
    r"Ella|Ellas|Este|Esta|Estos|Estas|Esto)\b"
)
_PRONOUN = re.compile(PRONOUN_START.pattern, re.IGNORECASE)
_SIGN_AFTER = r"(?:[,.:;!]|\s{1,3}[–—-])\s{0,9}|\s{0,9}$"
_YES = re.compile(rf"(?:Yes|Yeah|Yep|Ja|Sí|Oui)\b(?:{_SIGN_AFTER})", re.IGNORECASE)
_NO = re.compile(rf"(?:No|Nope|Nein|Non)\b(?:{_SIGN_AFTER})", re.IGNORECASE)
_DO_QUESTION = re.compile(r"(?:Do|Does|Did)\s(?!not\b)([^?]{1,300})\?{0,3}$", re.IGNORECASE)
_DENIAL_OF_CLAUSE, _DENIAL = "It is not so that ", "It is not so: "  # the negation comes first, where facts look for it
_LEAD_IN_OPENING = re.compile(
    r"(?:here (?:is|are)|these are|those are|below (?:is|are)|the following are|hier sind|hier ist)\s", re.IGNORECASE
)
_OPENING_PHRASE = re.compile(
    r"(?:according|after|although|as|at|because|before|by|during|for|from|if|in|on|since|to|under|when|while|with)\b"
    r"[^,.;]{1,200},\s",
    re.IGNORECASE,
)
_END_MARK = re.compile(r"[.!?。！？][\"'”’)\]]{0,3}$")


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a text, its words without marks, and how it is read; without `reading` it is a frame.

    `columns` are those of the table that a row stands in, as far as they have names.
    """

    part: Part
    words: str
    reading: Reading | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Opening:
    """A lead-in, question or list item that the parts below are read with; `shown` is "" if it is a claim itself."""

    depth: int
    words: str
    shown: str
    is_question: bool = False


@dataclass(slots=True)
class _Surroundings:
    """What stands above the next part: headings by level, lead-ins, the header of a table, the sentence before."""

    question: str
    heading: str
    headings: list[tuple[int, str]] = field(default_factory=list)
    openings: list[_Opening] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    header_lines: tuple[str, ...] = ()
    listed: bool = False  # whether a list, table or code has begun below the lead-in
    before: str = ""

    def list_frames(self) -> tuple[str, ...]:
        openings = (opening.shown for opening in self.openings if opening.shown)
        return (*(text for _, text in self.headings), *openings, *self.header_lines)


def read_statements(text: str) -> list[Statement]:
    """Split a text into its parts and read each with those around it."""
    return relate_parts(split_into_parts(text))


@remember_in_request(MAX_READ_PASSAGES)
def read_passage(text: str, heading: str) -> tuple[Statement, ...]:
    """Return the parts of a passage as they are read below the heading of its chunk, "" for none.

    The last ones are kept, because each claim of a text is compared with the same passages.
    """
    return tuple(relate_parts(split_into_parts(text), heading=heading))


def relate_parts(parts: Sequence[Part], *, question: str = "", heading: str = "") -> list[Statement]:
    """Read each part with those before it, and a "Yes." with the question that the parts answer, if any."""
    around = _Surroundings(question, "" if is_framing(heading) else heading)
    words = [strip_framing(remove_marks(part.text)) for part in parts]
    rows = {row.number: (row, table) for table in read_tables(parts) for row in table.rows}
    neighbours = enumerate(zip_longest(parts, words, parts[1:]))
    return [
        Statement(part, own, _read_part(part, own, after, rows.get(n), around), around.columns)
        for n, (part, own, after) in neighbours
    ]


def make_claims(statements: Sequence[Statement]) -> list[Claim]:
    """Return the statements that are no frames as claims at their places in the text, all "unsupported" yet."""
    return [
        Claim(statement.part.text, statement.part.start, statement.part.end, "unsupported", reading=statement.reading)
        for statement in statements
        if statement.reading
    ]


def is_fragment(words: str) -> bool:
    """Return whether words are no whole sentence, and mean little without what they are listed or asked under."""
    if has_verb(words) or PRONOUN_START.match(words) or ": " in words:  # "Copay: $75" is a statement
        return False
    is_short = len(words.split()) < (MIN_SENTENCE_WORDS if has_digit([words]) else MIN_UNCOUNTED_WORDS)
    return is_short or not _END_MARK.search(words) or words[:1].islower()


def _read_part(
    part: Part, words: str, after: Part | None, row: tuple[TableRow, TextTable] | None, around: _Surroundings
) -> Reading | None:
    """Return how a part is read, None for a frame, and note in `around` what it is for the parts below."""
    if part.kind == "row":
        around.listed = True
        return _read_row(*row, around) if row else None
    if part.kind == "rule":
        return None
    around.columns, around.header_lines = (), ()
    if part.kind == "heading" and not _is_emphasized_reply(part, after, around):
        _open_heading(part, words, around)
        return None
    if part.kind not in ("sentence", "heading"):
        around.listed = True
    if part.kind == "item":
        return _read_item(part, words, after, around)
    if part.kind == "code":
        code = " ".join(part.text.strip("`~").split("\n", 1)[-1].split())
        return Reading(code, "", around.list_frames()) if code else None
    return _read_sentence(part, words, after, around)


def _is_emphasized_reply(part: Part, after: Part | None, around: _Surroundings) -> bool:
    """Return whether a bold line heads nothing: after "The warranty lasts:", or as all that replies to the question."""
    if part.level < BOLD_HEADING_LEVEL:
        return False
    return bool(around.openings and not around.listed) or (after is None and bool(around.question))


def _open_heading(part: Part, words: str, around: _Surroundings) -> None:
    while around.headings and around.headings[-1][0] >= part.level:
        around.headings.pop()
    around.headings.append((part.level, part.text))
    around.heading = "" if is_framing(words) else words
    around.openings, around.listed, around.before = [], False, ""


def _read_row(row: TableRow, table: TextTable, around: _Surroundings) -> Reading | None:
    """Read a row with the heads and the group of its table; these are frames, as is a row of empty cells."""
    around.columns, around.header_lines = table.short_heads, table.head_lines
    stated = "" if row.names_group else state_row(around.columns, row.cells, row.group)
    context = around.openings[-1].words if around.openings else around.heading
    return Reading(stated, context, around.list_frames()) if _has_word(stated) else None


def _has_word(words: str) -> bool:
    return any(map(str.isalnum, words))


def _read_item(part: Part, words: str, after: Part | None, around: _Surroundings) -> Reading | None:
    """Read an item with its lead-in and the items that it stands under; one that ends with ":" is a lead-in itself."""
    depth = _find_depth(part, around.openings)
    around.openings = [opening for opening in around.openings if opening.depth < depth][:MAX_LEAD_INS]
    heads_text = after is not None and after.inner and is_title(words)  # as in "1. Coverage" above a paragraph
    is_lead_in = words.endswith((":", "：")) or heads_text
    reading = None if is_lead_in or not _has_word(words) else _read_below(part, words, around)
    if reading and reading.statement == words and not PRONOUN_START.match(words):
        around.before = words
    around.openings.append(_Opening(depth, _strip_lead_in(words), " " * part.indent + part.text if is_lead_in else ""))
    return reading


def _find_depth(part: Part, openings: Sequence[_Opening]) -> int:
    """Return the depth of an item: twice its indentation, and one more for "- …" under "1. …:" at the same place."""
    depth = 2 * part.indent
    is_numbered = part.text[:1].isdigit()
    same = [opening for opening in openings if opening.depth == depth and opening.shown.lstrip()[:1].isdigit()]
    return depth + 1 if same and not is_numbered else depth


def _read_below(part: Part, words: str, around: _Surroundings) -> Reading:
    """Return the reading of an item or fragment: with what it stands under, else with the heading or the question."""
    above = [opening.words for opening in around.openings if opening.words]
    if not above and is_fragment(words):
        is_ended = part.kind == "sentence" and _END_MARK.search(words)  # it is no mere cell of what the heading names
        above = [(not is_ended and around.heading) or " ".join(around.question.split())[:MAX_LEAD_IN_CHARS]]
    statement = " ".join([*(lead if lead.endswith("?") else f"{lead}:" for lead in above if lead), words])
    return Reading(statement, _find_context(words, around), around.list_frames(), part.indent)


def _read_sentence(part: Part, words: str, after: Part | None, around: _Surroundings) -> Reading | None:
    if not _has_word(words):
        return None
    if not part.inner and around.listed:
        around.openings, around.listed = [], False
    reading = _frame_sentence(part, words, after, around)
    if reading is None or part.inner:
        return reading
    around.openings = []
    stated = reading.statement.removeprefix(_DENIAL_OF_CLAUSE).removeprefix(_DENIAL)
    is_joined = stated != words and stated.endswith(words)
    if not is_joined and not PRONOUN_START.match(stated):
        around.before = stated
    return reading


def _frame_sentence(part: Part, words: str, after: Part | None, around: _Surroundings) -> Reading | None:
    """Read a sentence; one that leads in, asks or only greets is a frame, and the first two are for what follows."""
    is_question = words.endswith(("?", "？"))
    if is_question or _leads_in(words, after):
        around.openings = [_Opening(PROSE_DEPTH, _strip_lead_in(words), part.text, is_question)]
        return None
    if is_framing(words):
        return None
    asked = next((opening.words for opening in around.openings if opening.is_question), around.question)
    replied = _read_reply(words, asked)
    if replied is None:
        return None
    if replied != words:
        return Reading(replied, _find_context(replied, around), around.list_frames(), part.indent)
    if (around.openings or around.question or around.heading) and is_fragment(words) and not part.inner:
        return _read_below(part, words, around)
    return Reading(words, _find_context(words, around), around.list_frames(), part.indent)


def _leads_in(words: str, after: Part | None) -> bool:
    """Return whether a sentence ends with ":" and says nothing by itself, or only together with the list below."""
    if not words.endswith((":", "：")):
        return False
    has_list = after is not None and after.kind in ("item", "code")
    return has_list or not states_something(words)


def _strip_lead_in(words: str) -> str:
    """Return what a lead-in says of the parts below, without "Here are"; "" for "Here is what I found:"."""
    words = words.rstrip(":： ")
    return "" if is_framing(words) else _LEAD_IN_OPENING.sub("", words, count=1)[:MAX_LEAD_IN_CHARS]


def _find_context(words: str, around: _Surroundings) -> str:
    return around.before if PRONOUN_START.match(words) else ""


def _read_reply(words: str, question: str) -> str | None:
    """Return what a sentence that begins with "Yes" or "No" states; None for a mere "Yes" to nothing that was asked.

    Any other sentence is returned as it is.
    """
    found = _YES.match(words) or _NO.match(words)
    if not found:
        return words
    rest = words[found.end() :]
    count = len(rest.split())
    is_short = count <= (MAX_PRONOUN_REPLY_WORDS if _PRONOUN.match(rest) else MAX_SHORT_REPLY_WORDS)
    if not is_short and (has_verb(rest) or count > MAX_PRONOUN_REPLY_WORDS):
        return rest
    if not question:
        return words if rest else None
    if not is_short:
        return f"{question[:MAX_LEAD_IN_CHARS]} {words}"
    return _answer_question(question, is_yes=bool(_YES.match(words)), reply=words)


def _answer_question(question: str, *, is_yes: bool, reply: str) -> str:
    """Return a yes or no to a question as a statement: "the fee apply" to "Does the fee apply?", as stems compare."""
    question = " ".join(question.split())[:MAX_LEAD_IN_CHARS]
    asked = _DO_QUESTION.match(question)
    if asked:
        return f"{asked[1]}." if is_yes else f"{_DENIAL_OF_CLAUSE}{asked[1]}."
    return f"{question} {reply}" if is_yes else f"{_DENIAL}{question} {reply}"


def is_judged_with(frame: str, claim: Claim) -> bool:
    """Return whether a frame is judged with a claim below it, as a lead-in or a table header is, or says nothing."""
    if make_part(frame).kind in ("row", "rule"):
        return True
    words = remove_marks(frame)
    return is_framing(words) or _strip_lead_in(words) in claim.statement


def select_columns(rows: Sequence[Statement], terms: frozenset[str]) -> list[tuple[Statement, str]]:
    """Return each row as it is read by the columns alone that these terms name, if these do not name all of them.

    Rows that have the same cell in the first of these columns differ in what is left out, and are not returned.
    """
    found: list[tuple[Statement, tuple[str, ...]]] = []
    counts: Counter[tuple[tuple[str, ...], str]] = Counter()
    stated_rows = (row for row in rows if row.part.kind == "row" and row.reading)
    for columns, table in groupby(stated_rows, attrgetter("columns")):
        named = [n for n, name in enumerate(columns) if name and extract_terms(name) <= terms]
        for row in table:
            cells = split_cells(row.part.text)
            stated = tuple(f"{columns[n]}: {cells[n]}" for n in named if n < len(cells) and cells[n])
            if stated:
                counts[columns, stated[0]] += 1
            if 1 < len(stated) < len(cells):
                found.append((row, stated))
    return [(row, "; ".join(stated)) for row, stated in found if counts[row.columns, stated[0]] == 1]


def find_subject(context: str) -> str:
    """Return the term for which a pronoun stands after this sentence: its first one, past an opening such as "In May,".

    "" where there is none.
    """
    opening = _OPENING_PHRASE.match(context)
    words = WORD_PATTERN.findall(context[opening.end() if opening else 0 :][:MAX_LEAD_IN_CHARS])
    named = (word for word in words if not word.isdigit() and word.casefold() not in KEY_PHRASE_STOP_WORDS)
    return next((term for word in named for term in extract_terms(word)), "")
