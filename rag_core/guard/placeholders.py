"""Redacted text without its placeholders: "[PERSON]" is written in no document, and misleads embedder and ranker."""

import re
from itertools import pairwise

from rag_core.text.stop_words import QUESTION_STOP_WORDS

_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr)\b\.?\s{1,3}(?=\[[A-Z])")
_PLACEHOLDER = re.compile(r"\[[A-Z]{2,20}(?:_[A-Z]{1,20}){0,4}\](?:['’]s\b)?")
# words that announce a person's data, or open and close a letter, and say nothing of a subject
_ANNOUNCEMENTS = (
    "account address advise afternoon aged answer ask asked asks best birth birthday born brother call called client "
    "colleague concerning contact date daughter dear dob doctor dr email evening father fax following friend good "
    "greetings he hello her here hi his home husband id insurance kind know lives living m mail mobile morning mother "
    "mrn name named nhs no nr number patient patients phone please pt question reach reached record regarding regards "
    "reply resident send she sincerely sister son ssn team tel telephone tell thank thanks wants wife write"
)
_EMPTY_WORDS = QUESTION_STOP_WORDS | frozenset(_ANNOUNCEMENTS.split())
_ANNOUNCED_PLACEHOLDER = re.compile(
    rf"(?:\b(?i:{'|'.join(_ANNOUNCEMENTS.split())}|at|b|by|for|from|in|of|on|to|with)\b(?:['’]s)?[\s.:#]{{1,3}}){{0,5}}"
    rf"{_PLACEHOLDER.pattern}"
)
_BRACKETS = re.compile(r"\([^()]{0,200}\)")
_CLAUSE_END = re.compile(r"(?:[,;:!?]|(?<![\s(]b)\.)(?=\s|$)|\n|\s[-–—]\s")
_WORD = re.compile(r"[^\W_]+")
_BLANK_BEFORE_SIGN = re.compile(r"(?<=\S)[ \t]{1,3}(?=[,;:.!?](?:\s|$))")
_SIGN_IN_BRACKET = re.compile(r"(?<=\()[\s,;:]{1,5}|[\s,;:]{1,5}(?=\))")
_EMPTY_BRACKETS = re.compile(r"\s{0,2}\(\)")
# whose telephone it is stands before: "care home phone [PHONE]"
_ANNOUNCED_PHONE = re.compile(
    r"(?:\S{1,20}\s){0,3}(?i:phone|telephone|tel|mobile|fax)[.:]{0,2}\s\[PHONE\][\s.,;:]{0,3}"
)


def remove_placeholders(text: str) -> str:
    """Return a redacted text without its placeholders and the words that announce them; see `_is_announcement`.

    A text without placeholders, or with nothing else, is returned as it is. Time is linear in the text.
    """
    if not _PLACEHOLDER.search(text):
        return text
    text = _BRACKETS.sub(lambda part: "" if _is_announcement(part[0]) else part[0], _TITLE.sub("", text))
    ends = [0, *(end.end() for end in _CLAUSE_END.finditer(text)), len(text)]
    clauses = [text[start:end] for start, end in pairwise(ends)]
    kept = [_keep_open_brackets(clause) if _is_announcement(clause) else clause for clause in clauses]
    rest = _BLANK_BEFORE_SIGN.sub("", _ANNOUNCED_PLACEHOLDER.sub("", " ".join(kept)))
    tidy = " ".join(_EMPTY_BRACKETS.sub("", _SIGN_IN_BRACKET.sub("", rest)).split()).strip(" ,;:-")
    question_mark = "?" if text.rstrip().endswith("?") and tidy and not tidy.endswith("?") else ""
    return tidy + question_mark or text


def _keep_open_brackets(clause: str) -> str:
    """Return of a clause a bracket that another one closes or opens, "" without any."""
    opened, closed = clause.count("("), clause.count(")")
    return "(" if opened > closed else ")" if closed > opened else ""


def _is_announcement(part: str) -> bool:
    """Return whether a part of a redacted text has only words that announce a placeholder: "born: ", "[DOB],".

    A question in such words is none, unless it has a placeholder, too.
    """
    rest = _PLACEHOLDER.sub(" ", part)
    if _ANNOUNCED_PHONE.fullmatch(part.strip()):
        return True
    is_question = rest == part and part.rstrip().endswith("?")
    return not is_question and _EMPTY_WORDS.issuperset(word.casefold() for word in _WORD.findall(rest))
