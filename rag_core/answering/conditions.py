"""What a question asks for by name or under a condition: quotes that have nothing of it are no answer.

"On Polygon", "for Ruby" and "in pregnancy" decide whether a passage on the right subject answers.
"""

import re
from collections.abc import Iterator, Sequence

from rag_core.core.model import Evidence
from rag_core.retrieval.extractive_answers import extract_name_terms
from rag_core.text.periods import remove_periods
from rag_core.text.stop_words import QUESTION_STOP_WORDS, parse_word_list
from rag_core.text.terms import WORD_PATTERN, extract_terms

CONDITION = re.compile(r"\b(?:in|during|for|on|with|under|among|of)\s+((?:[\w'’-]{1,40}\s{0,3}){1,4})", re.IGNORECASE)
DETERMINERS = parse_word_list("a an the my its their his her our your any each one this that these")
CONDITION_ENDS = QUESTION_STOP_WORDS | {"after", "before", "up", "according"}
# what follows a preposition and is no condition: a turn of phrase, or everybody
IDLE_WORDS = parse_word_list(
    "line order place case cases general total all average practice time detail person people someone anyone"
)


def find_unmet_conditions(query_text: str, cited: Sequence[Evidence], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Return the conditions of a question that its cited passages do not have, and the names that no evidence has.

    A condition is what follows a preposition; one word of it in a passage, its title or headings is enough. Periods are
    none: they are compared by what they mean.
    """
    asked = remove_periods(query_text)
    cited_terms, known_terms = extract_evidence_terms(cited), extract_evidence_terms(evidence)
    missing_names = extract_name_terms(asked) - known_terms
    names = [word for word in WORD_PATTERN.findall(asked) if extract_terms(word) & missing_names]
    conditions = [
        phrase
        for phrase in _generate_conditions(asked)
        if (terms := extract_terms(phrase)) and terms.isdisjoint(cited_terms)
    ]
    return tuple(dict.fromkeys([*names, *conditions]))


def extract_evidence_terms(evidence: Sequence[Evidence]) -> frozenset[str]:
    """Return the terms of passages, their titles and headings."""
    parts = (part for e in evidence for part in (e.hit.chunk.title, *e.hit.chunk.heading_path, e.text))
    return extract_terms(" ".join(parts))


def _generate_conditions(query_text: str) -> Iterator[str]:
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
