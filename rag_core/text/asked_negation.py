"""Whether a question asks for what is not, and whether a sentence says what is not.

"What is not covered?" is answered by nothing but what a document denies, excludes or forbids. English words.
"""

import re

from rag_core.text.stop_words import parse_word_list

ASKING_WORDS = parse_word_list("what which who whom where when name list give tell show")
CLAUSE_STARTS = parse_word_list(  # what stands after them is a condition, or about something else
    "if when while unless because since after before until so who whom whose where that which"
)
RELATIVES = parse_word_list("that which")  # among the first words: of the thing itself, as in "things that are not"
FIRST_WORDS = 4
MAX_WORDS_BEFORE = 10  # a negation
PREPOSITIONS = parse_word_list("for of by with about from in on at")  # "for not paying" says what is done
WORD = re.compile(r"[\w'’-]+")
NEGATIONS = parse_word_list("not never cannot refuse refuses exclude excludes excluded")
EMPTY_NEGATION = re.compile(r"\bnot (?:limited to|only|just|to mention)\b", re.IGNORECASE)
DENIAL = re.compile(
    r"\b(?:not|no|never|none|nor|neither|nothing|nobody|cannot|without|except(?:ions?|ing|ed)?|exclu(?:de|sion|siv)\w*|"
    r"prohibit\w*|forbid\w*|banned|bans?|den(?:y|ies|ied)|refus\w+|reject\w*|unless|ineligible|invalid|unable|"
    r"avoid\w*|omit\w*|lacks?|other than|non-\w+|un(?:cover|support|avail|reimburs)\w+)\b|n['’]t\b",
    re.IGNORECASE,
)


def asks_for_what_is_not(question: str) -> bool:
    """Return whether a question for a thing, place or time negates its own verb: "What does X not pay for?"."""
    words = [word.lower().replace("’", "'") for word in WORD.findall(question[:200])]
    if not words or words[0] not in ASKING_WORDS:
        return False
    number = next((n for n, word in enumerate(words) if word in NEGATIONS or word.endswith("n't")), MAX_WORDS_BEFORE)
    if number >= MAX_WORDS_BEFORE or words[number - 1] in PREPOSITIONS or words[number : number + 2] == ["not", "to"]:
        return False
    starts = [n for n in range(1, number) if words[n] in CLAUSE_STARTS]
    return all(n < FIRST_WORDS and words[n] in RELATIVES for n in starts)


def says_what_is_not(text: str) -> bool:
    """Return whether a text denies, excludes or forbids something; "including but not limited to" does not."""
    return bool(DENIAL.search(EMPTY_NEGATION.sub(" ", text)))
