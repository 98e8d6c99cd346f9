"""The header of a mail in a passage: it tells of the mail itself, and answers who wrote it, to whom and when alone."""

import re
from collections.abc import Mapping

from rag_core.text.answer_types import MAX_READ_CHARS
from rag_core.text.terms import WORD_PATTERN

MAIL_FIELDS = ("From", "To", "Cc", "Date", "Subject")
_PERSONS = ("From", "To", "Cc")
_FIELD_LINE = re.compile(rf"({'|'.join(MAIL_FIELDS)}): (.+)")
_MAIL = r"(?:e-?mails?|mails?|messages?)"
_WRITING = r"(?:wr[io]te|writes|written|sen[dt]|sends|e?-?mailed|repl(?:y|ies|ied)|forward(?:s|ed)?)"
_ASKED_FIELDS: Mapping[str, re.Pattern[str]] = {
    "From": re.compile(
        rf"\bwho\b(?! (?:received|receives|got|gets)\b).{{0,80}}\b(?:{_WRITING}|{_MAIL})\b(?!.{{0,80}}\bto$)|"
        r"\bfrom whom\b|\b(?:sender|author)s?\b",
        re.IGNORECASE,
    ),
    "To": re.compile(
        rf"\bto whom\b|\bwhom?\b.{{0,80}}\b(?:{_WRITING}|addressed)\b.{{0,80}}\bto$|\brecipients?\b|"
        rf"\bwho (?:received|receives|got|gets)\b.{{0,80}}\b{_MAIL}\b",
        re.IGNORECASE,
    ),
    "Cc": re.compile(r"\brecipients?\b|\bin copy\b|\bcopied\b|\bcc\b", re.IGNORECASE),
    "Date": re.compile(
        rf"\b(?:when|(?:what|which|on what) (?:date|day|time))\b.{{0,120}}\b(?:{_WRITING}|{_MAIL}|dated)\b|"
        rf"\bdate of\b.{{0,40}}\b{_MAIL}\b",
        re.IGNORECASE,
    ),
    "Subject": re.compile(rf"\bsubject\b.{{0,40}}\b{_MAIL}\b|\b{_MAIL}\b.{{0,40}}\bsubject\b", re.IGNORECASE),
}


def select_asked_fields(question: str, part: str) -> list[str]:
    """Return the fields that a question asks for of a part that is the header of a mail, else the part as it is.

    Whoever is named in the question is not who is asked for, and when Ann wrote is not said by a mail to Ann.
    """
    if (fields := _read_header(part)) is None:
        return [part]
    asked = question.strip().rstrip("?!. ")[:MAX_READ_CHARS]
    named = {word for word in WORD_PATTERN.findall(asked)[1:] if word[:1].isupper()}
    holders = {name for name in _PERSONS if not named.isdisjoint(WORD_PATTERN.findall(fields.get(name, "")))}
    is_to_them = bool(holders) and "From" not in holders and not re.search(r"\bto\b", asked)
    return [
        f"{name}: {value}"
        for name, value in fields.items()
        if _ASKED_FIELDS[name].search(asked) and name not in holders and not (name == "Date" and is_to_them)
    ]


def _read_header(part: str) -> dict[str, str] | None:
    """Return the fields of a mail's header; None for other fields, as those of a journey from a place to another."""
    found = [_FIELD_LINE.fullmatch(line.strip()) for line in part.split("\n")]
    fields = {line[1]: line[2] for line in found if line}
    is_of_mail = "Subject" in fields or "@" in fields.get("From", "") + fields.get("To", "")
    return fields if is_of_mail and len(fields) == len(found) else None
