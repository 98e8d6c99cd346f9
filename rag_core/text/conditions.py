"""The conditions of a question: what follows a preposition, such as "on Polygon" or "in pregnancy"."""

import re
from collections.abc import Iterator

from rag_core.text.stop_words import QUESTION_STOP_WORDS, parse_word_list

CONDITION = re.compile(r"\b(?:in|during|for|on|with|under|among|of)\s+((?:[\w'’-]{1,40}\s{0,3}){1,4})", re.IGNORECASE)
DETERMINERS = parse_word_list("a an the my its their his her our your any each one this that these")
CONDITION_ENDS = QUESTION_STOP_WORDS | {"after", "before", "up", "according"}
# what follows a preposition and is no condition: a turn of phrase, or everybody
IDLE_WORDS = parse_word_list(
    "line order place case cases general total all average practice time detail person people someone anyone"
)


def list_conditions(query_text: str) -> Iterator[str]:
    """Yield what follows each preposition of a question, up to the next word without a meaning of its own."""
    for match in CONDITION.finditer(query_text):
        words: list[str] = []
        for word in match[1].split():
            if word.lower() in DETERMINERS and not words:
                continue
            if word.lower() in CONDITION_ENDS:
                break
            words.append(word)
        if words and not IDLE_WORDS.issuperset(word.lower() for word in words):
            yield " ".join(words)
