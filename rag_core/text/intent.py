"""What kind of answer a question wants, and whether a passage is of that kind: rules of wording, for English."""

import re
from collections.abc import Mapping
from types import MappingProxyType

OTHERWISE = "FACT"
INTENT_CHARS = 50  # S0-86

# by intent, how a question asks for it and how a passage gives it; the first that fits is a question's intent
_FORMS: Mapping[str, tuple[str, str]] = {
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
INTENTS = (*_FORMS, OTHERWISE)
_ASKED, _SAID = (
    MappingProxyType({name: re.compile(forms[n], re.IGNORECASE | re.MULTILINE) for name, forms in _FORMS.items()})
    for n in (0, 1)
)


def intent_of(question: str) -> str:
    """The intent by the form of the question; FACT where no form fits."""
    asked = question.strip()
    return next((name for name, form in _ASKED.items() if form.search(asked)), OTHERWISE)


def named(said: str) -> str:
    """An intent as it is kept: a known one in its own spelling, any other word as given, cut to INTENT_CHARS."""
    word = said.strip(" \t\n.*_`'\"")[:INTENT_CHARS]
    return word.upper() if word.upper() in INTENTS else word


def gives(intent: str, passage: str) -> bool:
    """Whether a passage speaks in the way of this intent; of FACT and of unknown ones none does."""
    form = _SAID.get(intent)
    return form is not None and form.search(passage) is not None
