"""What a text says of its own validity: pages marked as superseded, and clauses that an amendment replaces."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_core.text.terms import extract_terms

_MARKS = r"(?:SUPERSEDED|OBSOLETE|WITHDRAWN|REPEALED|OUT OF DATE|NO LONGER VALID|UNGÜLTIG|VERALTET|AUFGEHOBEN)"
# a mark is in capitals, at the end or in brackets: "Withdrawn products" and "OBSOLETE PARTS" are subjects
_MARK = re.compile(
    rf"\b{_MARKS}\b"
    r"(?!\s[A-ZÄÖÜ]{2})"
    r"|\b(?i:do not use|no longer (?:valid|in force|applicable))\s*+[.!)\]]?\s*+$"
    r"|[(\[–—-]\s?(?i:superseded|obsolete|withdrawn|repealed|out of date|ungültig|veraltet|aufgehoben)\s*+[.!)\]]?\s*+$"
)
_WATERMARK = re.compile(rf"{_MARKS}[.!]?")  # by itself on a line
_FORMER = re.compile(
    r"\b(?:did|former(?:ly)?|had|histor\w{1,6}|no longer|obsolete|previous(?:ly)?|replaced|superseded|the old|used to|"
    r"was|were|withdrawn|(?:earlier|older|prior) (?:edition|issue|release|rev(?:ision)?|rule|version)s?)\b",
    re.IGNORECASE,
)
_CURRENT = re.compile(
    r"\b(?:at present|current(?:ly)?|in force|latest|newest|now(?:adays)?|presently|these days|today)\b",
    re.IGNORECASE,
)
_NUMBER = r"(?P<number>\d{1,3}(?:\.\d{1,3}){1,4})"
_KIND = r"(?:article|clause|item|paragraph|para\.|point|rule|section|sec\.|§)"
_CLAUSE = re.compile(rf"(?:{_KIND}\s?)?{_NUMBER}\.?\s", re.IGNORECASE)
_AMENDMENT = re.compile(
    rf"(?:\(?\w{{1,3}}[.)]\s)?(?:the\s)?{_KIND}\s?{_NUMBER}(?:\s\([^()\n]{{0,60}}\))?(?:\sof\s[^\n,.;:]{{1,60}}?)?\s"
    r"(?:is|are|shall be)\s(?:hereby\s)?(?:amended\s(?:as follows|to read)|cancelled|deleted|repealed|replaced|revoked|"
    r"superseded)\b",
    re.IGNORECASE,
)
_AMENDMENT_WITHIN = re.compile(
    rf"(?:\(?\w{{1,3}}[.)]\s)?in\s{_KIND}\s?{_NUMBER}[^\n]{{0,120}}?\b(?:is|are|shall be)\s(?:hereby\s)?"
    r"(?:amended|cancelled|deleted|repealed|replaced|revoked|superseded)\b",
    re.IGNORECASE,
)
_OVERRIDE = re.compile(
    r"(?:notwithstanding|by way of (?:derogation|exception)|in derogation|as an exception|contrary to|deviating from|"
    r"abweichend von)\b",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"(?:see\b[^\n]{0,60}\bexceptions?\b|for (?:the )?exceptions?\b[^\n]{0,20}\bsee\b|exceptions?:|"
    r"this does not (?:apply|hold)\b|(?:this|the)(?: \w{1,20}){1,3} (?:does|do) not apply\b)",
    re.IGNORECASE,
)
MIN_SHARED = 0.5  # of a sentence's terms that the one that overrides it has: they speak of the same thing
MIN_SHARED_TERMS = 2


@dataclass(frozen=True, slots=True)
class Amendment:
    """The number of the clause that a sentence amends, and whether it replaces or deletes the whole of it."""

    number: str
    is_whole: bool


def is_marked_superseded(headings: Iterable[str], text: str) -> bool:
    """Return whether a title or heading above a text, or a line of it by itself, says that it is no longer valid.

    A heading that is the mark and nothing else is none: it is the watermark of a page before.
    """
    return any(_MARK.search(heading) and not _WATERMARK.fullmatch(heading.strip()) for heading in headings) or any(
        _WATERMARK.fullmatch(line.strip()) for line in text.split("\n")
    )


def asks_for_former(query_text: str, heading: str) -> bool:
    """Return whether a question is about what was, or names a number that the heading of a superseded page has."""
    numbers = {term for term in extract_terms(query_text) if any(map(str.isdigit, term))}
    return bool(_FORMER.search(query_text)) or not numbers.isdisjoint(extract_terms(heading))


def is_superseded(query_text: str, headings: Sequence[str], text: str) -> bool:
    """Return whether a passage is marked as superseded, by itself or above, and the question is not about what was."""
    return is_marked_superseded(headings, text) and not asks_for_former(query_text, " ".join(headings))


def asks_for_current(query_text: str) -> bool:
    """Return whether a question asks for what holds now."""
    return bool(_CURRENT.search(query_text)) and not _FORMER.search(query_text)


def read_clause_number(sentence: str) -> str:
    """Return the number with which a clause begins, such as "4.2"; "" for none."""
    match = _CLAUSE.match(sentence)
    return match["number"] if match else ""


def read_amendment(sentence: str) -> Amendment | None:
    """Return which clause a sentence such as "Clause 4.2 is replaced by: …" amends; None for another sentence."""
    if whole := _AMENDMENT.match(sentence):
        return Amendment(whole["number"], True)
    within = _AMENDMENT_WITHIN.match(sentence)
    return Amendment(within["number"], False) if within else None


def points_to_exception(sentence: str) -> bool:
    """Return whether a sentence limits the one before it, or says where its exception stands."""
    return bool(_POINTER.match(sentence))


def overrides(exception: str, sentence: str) -> bool:
    """Return whether a sentence such as "Notwithstanding 3.2, …" sets aside another: both speak of the same thing."""
    if not _OVERRIDE.match(exception) or _OVERRIDE.match(sentence):
        return False
    terms = extract_terms(sentence)
    shared = len(terms & extract_terms(exception))
    return shared >= MIN_SHARED_TERMS and shared >= MIN_SHARED * len(terms)
