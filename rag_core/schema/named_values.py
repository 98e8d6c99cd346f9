"""Columns of which a name in the question may be a value although none of the known values is it.

Of most columns only some values are known. "Chinese Grand Prix" is none of them, but is formed as three others of
`races.name` are; and a first and a last name belong together where only one of the two is known.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from rag_core.schema.model import ColumnKey
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.value_matching import ScoredMatch
from rag_core.text.identifiers import find_root
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS

ALIKE_STRENGTH = 0.7  # where a known value has 1
MIN_ALIKE_VALUES = 2  # of a column that begin or end as the name does
MIN_WORD_CHARS = 3
PERSON_NAME_WORDS = range(2, 4)
_WORD = re.compile(r"[^\W_]+")


def find_alike_columns(
    question: QuestionReading, values: Iterable[tuple[ColumnKey, str]], matches: Sequence[ScoredMatch]
) -> dict[ColumnKey, float]:
    """Return the strengths, 0..1, of the columns of which several values begin or end as a name in the question does.

    Names that are values already are left out.
    """
    known = {one.match.words for one in matches}
    firsts, lasts = _list_ends(question, known)
    counts: Counter[tuple[ColumnKey, str]] = Counter()
    for key, value in values:
        words = _WORD.findall(value.casefold())
        if len(words) > 1:
            counts.update({(key, word) for word, ends in ((words[0], firsts), (words[-1], lasts)) if word in ends})
    return {key: ALIKE_STRENGTH for (key, _), count in counts.items() if count >= MIN_ALIKE_VALUES}


def find_person_columns(
    question: QuestionReading, matches: Sequence[ScoredMatch], columns: Collection[ColumnKey], known: Collection[str]
) -> dict[ColumnKey, float]:
    """Return the strengths, 0..1, of `columns` with parts of people's names where the question names a person in full.

    Where one part is a known value, the others are of its table; `known` roots of the schema are no part of a name.
    """
    found: dict[ColumnKey, float] = {}
    for name in question.names:
        words = _WORD.findall(name.casefold())
        if not PERSON_NAME_WORDS.start <= len(words) < PERSON_NAME_WORDS.stop:
            continue
        if any(word.isdecimal() or find_root(word) in known for word in words):
            continue
        matched = [one for one in matches if set(one.match.words.split()) & set(words)]
        tables = {one.column[0] for one in matched if one.column in columns}
        if tables or not matched:
            found |= {key: ALIKE_STRENGTH for key in columns if not tables or key[0] in tables}
    return found


def _list_ends(question: QuestionReading, known: Collection[str]) -> tuple[set[str], set[str]]:
    """Return the first and the last words of the names of several words that are no known value."""
    names = [_WORD.findall(name.casefold()) for name in question.names]
    wanted = [words for words in names if len(words) > 1 and " ".join(words) not in known]
    firsts, lasts = ({words[place] for words in wanted if _says_something(words[place])} for place in (0, -1))
    return firsts, lasts


def _says_something(word: str) -> bool:
    return len(word) >= MIN_WORD_CHARS and not word.isdecimal() and word not in KEY_PHRASE_STOP_WORDS
