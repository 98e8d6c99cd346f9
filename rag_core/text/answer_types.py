"""What kind of thing a question asks for, and whether an answer has it: a number, money, a time, a person, a reason.

Patterns for English. A question that shows none of these kinds asks for nothing in particular.
"""

import re
from collections.abc import Mapping

from rag_core.text.months import MONTH_PATTERN
from rag_core.text.terms import WORD_PATTERN

NUMBER_PATTERN = re.compile(r"\d[\d,.]*")
_NUMBER_WORDS = (
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|third|quarter|dozen|hundred|thousand|"
    r"million|billion|none|twice|once|percent|daily|weekly|monthly|annually|yearly|never|always|every)\b"
)
_QUESTION_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "money": re.compile(
        r"\bhow much\b.{0,80}\b(?:costs?|prices?|fees?|premiums?|charged?|charges|salary|pay|paid|budget|money)\b|"
        r"\b(?:what|which)\b.{0,40}\b(?:costs?|prices?|fees?|premiums?|charges?|salar(?:y|ies)|budget)\b|"
        r"\b(?:price|cost) of\b|\bin (?:usd|dollars|euros|pounds)\b|\bhow much money\b",
        re.IGNORECASE,
    ),
    "number": re.compile(
        r"\bhow (?:many|much|old|long|large|big|high|far|tall|often|fast|common|wide|deep|frequently)\b|"
        r"\b(?:what|which|the) (?:share|percent(?:age)?|number|amount|proportion|fraction|rate|ratio|accuracy|size|"
        r"limit|maximum|minimum|threshold)\b|%|\bnumber of\b|\bshare of\b|\bby what\b",
        re.IGNORECASE,
    ),
    "time": re.compile(
        r"(?:^|^(?:and|but|so) |[,;:] )when (?:is|was|did|does|do|will|are|were|has|have|can|should|must)\b|"
        r"\bby when\b|"
        r"^when\b(?! i\b| we\b| you\b| using)(?!.*,)|\b(?:what|which) (?:date|day|month|year|time)\b|\bdeadline\b|"
        r"\bhow long\b|\bsince when\b",
        re.IGNORECASE,
    ),
    "date": re.compile(r"\b(?:what|which) (?:date|day)\b", re.IGNORECASE),
    "person": re.compile(  # by name: who may or pays is answered by a group or an office as well
        r"\bwho(?:'s|’s| is| was| are| were)(?: currently| now)? (?:the|an?|our|your|my|his|her|its|their|head|named|"
        r"called|known)\b|\bwho (?:first|runs|leads|invented|[a-z]{2,20}ed|wrote|won|led|ran|began|took|made|gave|"
        r"found|built|became|said|drew|taught|bought|sold|shot|spoke|chose)\b|"
        r"\bname of (?:the|its|a)\b|\bperson'?s name\b",
        re.IGNORECASE,
    ),
    "reason": re.compile(
        r"^why\b|\bwhy (?:did|does|do|is|was|were|are|has|have)\b|\bwhat (?:was )?(?:the )?reason\b", re.IGNORECASE
    ),
}
_ANSWER_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "money": re.compile(
        r"[$€£¥]\s?\d|\b\d[\d,.]{0,20}\s?(?:k|m|million|billion)?\s?(?:dollars|usd|euros?|eur|gbp|cents|[A-Z]{3,5})\b|"
        r"\bfree\b|\bno (?:cost|charge|fee)"
    ),
    "number": re.compile(rf"\d|{_NUMBER_WORDS}", re.IGNORECASE),
    "time": re.compile(
        r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|"
        r"wednesday|thursday|friday|saturday|sunday|annual|daily|week|month|year|day|hour|minute|after|before|until|"
        r"once|as soon|immediately)",
        re.IGNORECASE,
    ),
    "date": re.compile(
        rf"\b(?:{MONTH_PATTERN})\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:19|20)\d\d\b|"
        r"\b\d{1,2}[./]\d{1,2}\b|\b\d{1,2}(?:st|nd|rd|th)\b|"
        r"\b(?:today|tomorrow|yesterday|daily|every|weekdays?|workdays?|days?|weeks?|months?|years?)\b",
        re.IGNORECASE,
    ),
    "person": re.compile(r"\b[A-Z][a-zé]{1,30}\s{1,3}(?:[A-Z]\.\s?)?[A-Z][a-zé]{1,30}"),
    "reason": re.compile(
        r"\bbecause|\bdue to|\bsince\b|\bso that\b|\bin order\b|\btherefore|\breason|\bcaus|\bresult|"
        r"\bas (?:it|they)\b|\bto (?:ensure|avoid|prevent|allow|help|make|keep|reduce|protect)|\bowing\b|\bthus\b|"
        r"\bensur",
        re.IGNORECASE,
    ),
}
_VALUE_PATTERN = re.compile(r"\bwhat (?:is|was|are|were|did)\b", re.IGNORECASE)
_MEASURE_PATTERN = re.compile(  # what is computed from figures
    r"\b(?:ratios?|margins?|turnover|percentages?|percent|proportions?|"
    r"return on (?:\w{1,20} )?(?:assets|equity|capital|investments?|sales)|days (?:\w{1,20} )?outstanding)\b",
    re.IGNORECASE,
)
MAX_READ_CHARS = 2000  # of a question


def asks_for_figure(question: str) -> bool:
    """Return whether a question may ask for a figure: how much or many, what share or ratio, or what something was."""
    read = question[:MAX_READ_CHARS]
    patterns = (*(_QUESTION_PATTERNS[kind] for kind in ("money", "number")), _VALUE_PATTERN, _MEASURE_PATTERN)
    return any(pattern.search(read) for pattern in patterns)


def find_missing_kinds(question: str, answer: str) -> tuple[str, ...]:
    """Return the kinds that the question asks for and the answer has none of: "money", "number", "time", "date", ….

    A number or name that stands in the question is none of the answer.
    """
    read = question.strip()[:MAX_READ_CHARS]
    asked = [kind for kind, pattern in _QUESTION_PATTERNS.items() if pattern.search(read)]
    return tuple(kind for kind in asked if not _has_kind(kind, read, answer))


def _has_kind(kind: str, question: str, answer: str) -> bool:
    if kind == "person":
        known = set(WORD_PATTERN.findall(question))
        return any(not known.issuperset(name.split()) for name in _ANSWER_PATTERNS[kind].findall(answer))
    if kind != "reason":
        known = {number.rstrip(".,") for number in NUMBER_PATTERN.findall(question)}
        answer = NUMBER_PATTERN.sub(lambda number: "" if number[0].rstrip(".,") in known else number[0], answer)
    return bool(_ANSWER_PATTERNS[kind].search(answer))
