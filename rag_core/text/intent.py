"""Intents of questions: the kind of answer that is wanted, and passages of that kind, by patterns for English."""

import re
from collections.abc import Mapping
from types import MappingProxyType

DEFAULT_INTENT = "FACT"
MAX_INTENT_CHARS = 50  # S0-86

# by intent: the pattern of questions, the pattern of passages; the first intent that matches is the question's
_INTENT_FORMS: Mapping[str, tuple[str, str]] = {
    "COMPARISON": (
        r"\b(?:differ\w*|compar\w+|versus|vs|distinguish\w*|(?:better|worse|rather) than)\b",
        r"\b(?:whereas|unlike|in contrast|compared (?:to|with)|differs? from|(?:more|less|better|worse) than)\b",
    ),
    "PROCEDURE": (
        r"^how (?:to|(?:do|can|should|would|must) (?:i|we|you|one))\b|\b(?:steps?|procedure|instructions?)\b",
        r"\b(?:steps? \d|first,|then,|finally,|follow these|procedure)\b|^[ \t]*\d{1,2}[.)]\s",
    ),
    "CAUSE": (
        r"^why\b|\b(?:causes?|caused|reasons?) \b|\b(?:what|which) (?:leads? to|triggers?|sets)\b",
        r"\b(?:because|caused? by|causes|due to|results? (?:in|from)|leads? to|therefore)\b",
    ),
    "EVIDENCE": (
        r"\b(?:evidence|stud(?:y|ies)|research|experiments?|trials?|proof|proven)\b",
        r"\b(?:stud(?:y|ies)|experiments?|participants|found that|trials?|significant\w*|evidence)\b",
    ),
    "MECHANISM": (
        r"^how (?:does|do|is|are|did)\b|\b(?:mechanisms?|works?|functions?|process(?:es)?)\b",
        r"\b(?:mechanisms?|process(?:es)?|works? by|by means of|consists? of|in turn|so that)\b",
    ),
    "APPLICATION": (
        r"\b(?:applications?|applied|apply|used? (?:for|in|to)|uses|examples?|in practice)\b",
        r"\b(?:for (?:example|instance)|such as|used? (?:for|in|to)|applied to|in practice)\b",
    ),
    "DEFINITION": (
        r"^(?:define|what (?:is|are) (?!the\b)(?:an? )?[\w'’-]+(?:\s+[\w'’-]+){0,3}\s*\??$)"
        r"|\b(?:mean|meaning|definition)\b",
        r"\b(?:is|are) (?:an?|the) \w+|\b(?:refers? to|defined as|means|is called|known as|stands for)\b",
    ),
}
INTENTS = (*_INTENT_FORMS, DEFAULT_INTENT)
_QUESTION_PATTERNS, _PASSAGE_PATTERNS = (
    MappingProxyType(
        {name: re.compile(forms[n], re.IGNORECASE | re.MULTILINE) for name, forms in _INTENT_FORMS.items()}
    )
    for n in (0, 1)
)


def classify_intent(question: str) -> str:
    """Return the intent of a question by its form; FACT where no pattern matches."""
    stripped = question.strip()
    return next((name for name, pattern in _QUESTION_PATTERNS.items() if pattern.search(stripped)), DEFAULT_INTENT)


def normalize_intent(intent: str) -> str:
    """Return a known intent in upper case, any other text as given, cut to MAX_INTENT_CHARS."""
    word = intent.strip(" \t\n.*_`'\"")[:MAX_INTENT_CHARS]
    return word.upper() if word.upper() in INTENTS else word


def matches_intent(intent: str, passage: str) -> bool:
    """Return whether a passage matches the pattern of an intent; False for FACT and unknown intents."""
    pattern = _PASSAGE_PATTERNS.get(intent)
    return pattern is not None and pattern.search(passage) is not None
