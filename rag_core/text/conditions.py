"""The conditions of a question: what follows a preposition, such as "on Polygon" or "in pregnancy"."""

import re
from collections.abc import Iterator

from rag_core.text.stop_words import QUESTION_STOP_WORDS, parse_word_list

CONDITION = re.compile(r"\b(?:in|during|for|on|with|under|among|of)\s+((?:[\w'’-]{1,40}\s{0,3}){1,4})", re.IGNORECASE)
DETERMINERS = parse_word_list("a an the my its their his her our your any each one this that these")
CONDITION_ENDS = QUESTION_STOP_WORDS | {"after", "before", "up", "according"}
FURTHER_PREPOSITIONS = parse_word_list("regarding concerning considering including")  # "aware of regarding the plan"
# what follows a preposition and is no condition: a turn of phrase, everybody, the noun of a complex preposition
# ("in terms of"), a light verb ("for making the most of"), or what is read ("mentioned in the text")
IDLE_WORDS = parse_word_list(
    "line order place case cases general total all average practice time detail person people someone anyone "
    "terms regard regards respect relation addition connection view light spite behalf account favour favor lieu "
    "accordance comparison contrast response reference "
    "making doing having getting using being taking giving text passage document article context"
)


def list_conditions(query_text: str) -> Iterator[str]:
    """Yield what follows each preposition of a question, up to the next word without a meaning of its own."""
    for match in CONDITION.finditer(query_text):
        words: list[str] = []
        for word in match[1].split():
            if word.lower() in DETERMINERS | FURTHER_PREPOSITIONS and not words:
                continue
            if word.lower() in CONDITION_ENDS:
                break
            words.append(word)
        if words and not IDLE_WORDS.issuperset(word.lower() for word in words):
            yield " ".join(words)
