"""Redacted text without its placeholders: "[PERSON]" is written in no document, and misleads embedder and ranker."""

import re
from itertools import pairwise

from rag_core.text.stop_words import QUESTION_STOP_WORDS

_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr)\b\.?\s{1,3}(?=\[[A-Z])")
_PLACEHOLDER = re.compile(r"\[[A-Z]{2,20}(?:_[A-Z]{1,20}){0,4}\](?:['’]s\b)?")
# words that announce a person's data, and say nothing of a subject
_ANNOUNCEMENTS = (
    "account address aged answer birth birthday born call called client contact date dob email fax hello here hi home "
    "id lives living mail mobile mrn name named nhs no nr number patient patients phone please pt record reach reached "
    "regarding reply send ssn tel telephone tell write"
)
_EMPTY_WORDS = QUESTION_STOP_WORDS | frozenset(_ANNOUNCEMENTS.split())
_ANNOUNCED_PLACEHOLDER = re.compile(
    rf"(?:\b(?:{'|'.join(_ANNOUNCEMENTS.split())}|at|by|for|from|of|on|to|with)\b[\s.:#]{{1,3}}){{0,5}}"
    rf"{_PLACEHOLDER.pattern}",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\([^()]{0,200}\)")
_CLAUSE_END = re.compile(r"[,;:.!?](?=\s|$)|\n|\s[-–—]\s")
_WORD = re.compile(r"[^\W_]+")
_BLANK_BEFORE_SIGN = re.compile(r"(?<=\S)[ \t]{1,3}(?=[,;:.!?](?:\s|$))")


def remove_placeholders(text: str) -> str:
    """Return a redacted text without its placeholders and the words that announce them; see `_is_announcement`.

    A text without placeholders, or with nothing else, is returned as it is. Time is linear in the text.
    """
    if not _PLACEHOLDER.search(text):
        return text
    text = _BRACKETS.sub(lambda part: "" if _is_announcement(part[0]) else part[0], _TITLE.sub("", text))
    ends = [0, *(end.end() for end in _CLAUSE_END.finditer(text)), len(text)]
    kept: list[str] = []
    dropped = False
    for clause in reversed([text[start:end] for start, end in pairwise(ends)]):
        leads_in = dropped and clause.rstrip().endswith((",", ":", ";")) and _has_empty_words(clause)  # "born: [DOB]"
        dropped = leads_in or _is_announcement(clause)
        if not dropped:
            kept.append(clause)
    tidy = " ".join(
        _BLANK_BEFORE_SIGN.sub("", _ANNOUNCED_PLACEHOLDER.sub("", " ".join(reversed(kept)))).split()
    ).rstrip(" ,;:-")
    question_mark = "?" if text.rstrip().endswith("?") and tidy and not tidy.endswith("?") else ""
    return tidy + question_mark or text


def _is_announcement(clause: str) -> bool:
    """Return whether a clause has a placeholder and, beside it, only words that announce one: "born [DOB]"."""
    rest = _PLACEHOLDER.sub(" ", clause)
    return rest != clause and _has_empty_words(rest)


def _has_empty_words(text: str) -> bool:
    return _EMPTY_WORDS.issuperset(word.casefold() for word in _WORD.findall(text))
