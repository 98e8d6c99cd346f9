"""Why a sentence is not verified, as people read it: the command line and the pages show the same words.

Replies have the reasons as "kind: word" as well, for programs.
"""

import re
from collections.abc import Mapping, Sequence

from rag_core.answering.computing.computed_answers import COMPUTED
from rag_core.answering.facts.conflicts import split_reason
from rag_core.answering.facts.polarity import NO_NEGATION
from rag_core.answering.overruling import FACTS, OVERRULED
from rag_core.answering.verification import COPIED_WORDS
from rag_core.core.model import Claim

MAX_LISTED_WORDS = 5  # of one kind: a sentence in other words lacks most of them
SEPARATOR = "; also "
_Template = tuple[str, str, str]  # of a phrase: what stands before and after the place of its words
MISSING_PHRASE, OMISSION_PHRASE = "the passage does not say {}", "leaves out {}, which the passage says"
# by the kind of a reason, {} for its words
PHRASES: Mapping[str, str] = {
    **dict.fromkeys(["number", "unit", "date", "code", "name", "word", "negation", "quantity"], MISSING_PHRASE),
    **dict.fromkeys(["modality", "direction"], MISSING_PHRASE),
    **dict.fromkeys(["left out", "condition"], OMISSION_PHRASE),
    "order": "the passage says {} in another place",
    "length": "too long to be compared with a passage, {}",
}
COMPLETE_PHRASES = {
    "relevance: low": "has the words of a passage that seems to be about something else",
    "word: none": "has no words that can be compared",
}
COMPLETE_KINDS = frozenset(["contradicted", "not stated", "unclear", "language"])  # a phrase follows them
UNQUOTED_KINDS = frozenset(["number", "unit", "date", "code", "length"])
OMISSIBLE_KINDS = frozenset(["negation", "quantity", "modality"])  # said of a word of the claim, or of the passage


def explain_verdict(claim: Claim) -> str:
    """Return why a claim is not verified, in plain words without a full stop; "" for a claim without reasons.

    A reason of another form is repeated as it is: redaction may have replaced a part of it.
    """
    words_by_template: dict[_Template, list[str]] = {}
    for reason in claim.reasons:
        if split_reason(reason)[0] != OVERRULED:
            template, word = _choose_template(reason, claim)
            words_by_template.setdefault(template, []).append(word)
    phrases = [f"{before}{_list_words(words)}{after}" for (before, _, after), words in words_by_template.items()]
    return SEPARATOR.join(phrases) + _name_judge(claim)


def _choose_template(reason: str, claim: Claim) -> tuple[_Template, str]:
    """Return the template for a reason, and the word for its place; "" for a phrase that is complete."""
    kind, word, stated = split_reason(reason)
    if reason in COMPLETE_PHRASES or kind not in PHRASES:
        return (COMPLETE_PHRASES.get(reason, word if kind in COMPLETE_KINDS else reason), "", ""), ""
    if stated:
        return _choose_conflict_template(kind, word, stated)
    phrase = PHRASES[kind]
    if kind in OMISSIBLE_KINDS and not _mentions_word(claim.text, word):
        phrase = OMISSION_PHRASE
    elif kind in OMISSIBLE_KINDS and claim.judgement and _mentions_word(claim.judgement.words, word):
        phrase = PHRASES["order"]
    return phrase.partition("{}"), _quote_word(kind, f"{word} …" if kind in ("left out", "condition") else word)


def _choose_conflict_template(kind: str, word: str, stated: str) -> tuple[_Template, str]:
    """Return the template for a fact in whose place the passage states another, and the word for its place."""
    if kind == "order":
        return ("the passage has the two sides of ", "", " the other way round"), _quote_word(kind, word)
    if kind == "negation" and word == NO_NEGATION:
        return OMISSION_PHRASE.partition("{}"), _quote_word(kind, stated)
    if kind == "negation":
        return MISSING_PHRASE.partition("{}"), _quote_word(kind, word)
    return (f"says {_quote_word(kind, word)}; the passage says {_quote_word(kind, stated)}", "", ""), ""


def _mentions_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def _quote_word(kind: str, word: str) -> str:
    """Return a word in quotation marks, an amount or a date without."""
    return word if kind in UNQUOTED_KINDS else f"“{word}”"


def _list_words(words: Sequence[str]) -> str:
    """Join words by commas and "or", of many only the first ones."""
    listed = list(dict.fromkeys(words))[:MAX_LISTED_WORDS]
    more = len(dict.fromkeys(words)) - len(listed)
    if more:
        return f"{', '.join(listed)} and {more} more"
    return " or ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))


def _name_judge(claim: Claim) -> str:
    """Return the model that judged the claim, or that the facts overruled, in parentheses; "" where none did."""
    overruled = [word for kind, word, _ in map(split_reason, claim.reasons) if kind == OVERRULED]
    if overruled:
        return f" ({overruled[0]}, and is overruled)"
    judge = claim.judgement.judge if claim.judgement and claim.reasons else ""
    return f" (judged by {judge})" if judge not in ("", FACTS, COPIED_WORDS, COMPUTED) else ""
