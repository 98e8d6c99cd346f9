"""Key sentences of a text and keywords of a question, without a model.

Every regular expression here runs in time linear in the length of the text, whatever the text.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rag_core.ingestion.entities.acronyms import find_acronyms, find_defined_terms
from rag_core.text.sentences import find_sentences
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS

MAX_KEY_PHRASES = 4  # key phrases of a chunk
_MAX_SUMMARY_SOURCE_CHARS = 200_000  # of a text
_QUOTABLE_WORD_COUNTS = (4, 40)  # least and most content words of a sentence worth quoting

_PROSE_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_WORD_OR_MARK = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|\n\s*\n")


def extract_keywords(question: str) -> tuple[str, ...]:
    """Return what a question names, each once: its entities, its acronyms and a few key phrases (S0-71)."""
    from rag_core.ingestion.entities.extraction import extract_entities  # loaded late: it compiles patterns of names

    entities = [entity.value for entity in extract_entities(question)]
    return tuple(dict.fromkeys([*entities, *find_acronyms(question), *_select_key_phrases(question)]))


def select_key_sentences(text: str, count: int) -> list[str]:
    """Return the `count` most representative sentences of a text, in its order, with white space collapsed.

    A sentence's score is the sum of log(1 + frequency in the text) over its distinct words, divided by the square root
    of its length, times a bonus for an early position (Luhn 1958; Edmundson 1969). A sentence that repeats a better one
    is passed over. Titles, list items and text in brackets score 0 and are returned only when there is nothing else.
    """
    text = text[:_MAX_SUMMARY_SOURCE_CHARS]
    texts = [_join_prose_lines(text[start:end].split("\n")) for start, end in find_sentences(text)]
    words = [_extract_content_words(sentence) for sentence in texts]
    frequency = Counter(word for sentence in words for word in set(sentence))
    scores = [_score_sentence(texts[n], words[n], frequency, n) for n in range(len(texts))]
    chosen: list[int] = []
    for n in sorted(range(len(texts)), key=lambda n: (-scores[n], n)):
        if len(chosen) == count or (chosen and not scores[n]):
            break
        if not any(_is_repetition(words[n], words[other]) for other in chosen):
            chosen.append(n)
    return [texts[n] for n in sorted(chosen)]


def _select_key_phrases(text: str) -> list[str]:
    """Return the expansions of acronyms, then the best word runs; none contains another."""
    chosen: list[str] = []
    for phrase in (*find_defined_terms(text), *_rank_phrases_by_degree(text)):
        if len(chosen) < MAX_KEY_PHRASES and not any(phrase in other or other in phrase for other in chosen):
            chosen.append(phrase)
    return chosen


def _rank_phrases_by_degree(text: str) -> list[str]:
    """Return runs of two or three words, best first by RAKE score (Rose et al. 2010) times the run's count."""
    runs = Counter(" ".join(run) for run in _split_word_runs(text) if 2 <= len(run) <= 3)
    frequency: Counter[str] = Counter()
    degree: Counter[str] = Counter()
    for phrase, times in runs.items():
        words = phrase.split()
        frequency.update(dict.fromkeys(words, times))
        degree.update(dict.fromkeys(words, times * len(words)))
    scores = {run: times * sum(degree[w] / frequency[w] for w in run.split()) for run, times in runs.items()}
    return sorted(runs, key=lambda phrase: (-scores[phrase], phrase))


def _split_word_runs(text: str) -> Iterator[list[str]]:
    """Yield runs of adjacent words without a stop word, number or punctuation mark between them."""
    run: list[str] = []
    for token in _WORD_OR_MARK.findall(text):
        word = token.lower()
        if len(word) > 2 and word not in KEY_PHRASE_STOP_WORDS and _PROSE_WORD.fullmatch(word):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _extract_content_words(sentence: str) -> list[str]:
    return [
        word
        for word in (w.lower() for w in _PROSE_WORD.findall(sentence))
        if word not in KEY_PHRASE_STOP_WORDS and len(word) > 2
    ]


def _join_prose_lines(lines: list[str]) -> str:
    """Join a sentence's lines, without a title above it: leading short lines followed by a capitalized line."""
    full_length = 0.6 * max(map(len, lines))
    while len(lines) > 1 and len(lines[0]) < full_length and lines[1][:1].isupper():
        lines = lines[1:]
    return " ".join(" ".join(lines).split())


def _score_sentence(sentence: str, words: Sequence[str], frequency: Counter[str], position: int) -> float:
    if (
        not _QUOTABLE_WORD_COUNTS[0] <= len(words) <= _QUOTABLE_WORD_COUNTS[1]
        or not sentence[0].isalnum()
        or sentence[-1] not in '.!?”"'
    ):
        return 0.0
    total = sum(math.log1p(frequency[word]) for word in set(words))
    return total / math.sqrt(len(words)) * (1 + 1 / (1 + position))


def _is_repetition(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return True when more than 60 % of the shorter sentence's words are in the other."""
    shared = len(set(words) & set(others))
    return shared > 0.6 * max(1, min(len(set(words)), len(set(others))))
