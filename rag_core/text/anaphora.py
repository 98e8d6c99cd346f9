"""Whether a question says by itself what it is about, or leans on what was said before it: "And in winter?"."""

import re

from rag_core.text.terms import extract_terms

MIN_OWN_TERMS = 2  # of a question that stands alone: "What about the price?" has one
_REFERENCE = re.compile(
    r"^(?:and|but|or|so|also|then|why|what about|how about|what if)\b"
    r"|\b(?:it|its|itself|they|them|their|theirs|he|him|his|she|her|hers|this|these|those|such)\b"
    r"|\b(?:the|any) (?:same|others?|latter|former|rest)\b|\b(?:another|else|instead|ones?)\b"
    r"|\b(?:about|of|for|is|was|do|does|did|than|with|to|after|before) that\b|\bthat[ ?]*$",
    re.IGNORECASE,
)


def stands_alone(question: str) -> bool:
    """Return whether a question has two terms of its own and no word that stands for something said before."""
    text = question.strip()
    return not _REFERENCE.search(text) and len(extract_terms(text)) >= MIN_OWN_TERMS
