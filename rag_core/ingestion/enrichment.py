"""Enrichment of chunks without a model: typed entities and key sentences.

Every regular expression here runs in time linear in the length of the text, whatever the text.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rag_core.core.model import Entity
from rag_core.text.sentences import find_sentences
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS

MAX_KEY_PHRASES = 4  # key phrases of a chunk
_MAX_SUMMARY_SOURCE_CHARS = 200_000  # of a text
_QUOTABLE_WORD_COUNTS = (4, 40)  # least and most content words of a sentence worth quoting

# SAE J2012: system, 0 to 3, three hexadecimal digits; the failure type of UDS may follow
_TROUBLE_CODE = re.compile(r"(?<![\w-])(?:[PBCU][0-3][0-9A-F]{3}|[pbcu][0-3][0-9]{3})(?:-[0-9A-F]{2})?(?![\w-])")
_PART_NUMBER = re.compile(
    r"(?<![\w-])(?:"
    r"(?=[0-9]{0,2}[A-Z])[0-9A-Z]{3}\s[0-9]{3}\s[0-9]{3}(?:\s[A-Z]{1,2})?"  # 04E 906 016 AB
    r"|(?!(?:ISO|IEC|EN|DIN|SAE|RFC|CVE|CWE|IEEE|ANSI|ASTM|NIST|COVID|FY)-)[A-Z]{2,4}-[0-9]{4,6}(?:-[A-Z0-9]{1,3})?"
    r")(?![\w-])"  # BP-4471-A
)
_ACRONYM = re.compile(r"(?<![\w-])[A-Z](?=[A-Z0-9]{0,4}[A-Z])[A-Z0-9]{1,5}(?![\w-])")
_CAPITALS_RUN = re.compile(r"\b[A-Z]+(?: [A-Z]+){2,}\b")  # A GREAT PLACE TO WORK
_ACRONYM_IN_BRACKETS = re.compile(r"\(([A-Z]{2,6})s?\)")
_PROSE_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_WORD_OR_MARK = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|\n\s*\n")
_SHOUTED_WORDS = (
    "ALL AN AND ARE BUT CAUTION DANGER FOR FROM IF II III IV IX IN IS IT NO NOT NOTE OF OFF OK ON ONE OR OUR OUT "
    "STEP THE THIS TO TODO VI VII VIII WARNING WITH XI XII YES YOU"
)
_NOT_ACRONYMS = frozenset(_SHOUTED_WORDS.split())


def extract_entities(text: str) -> tuple[Entity, ...]:
    """Return the entities of a text, each once: trouble codes, part numbers, acronyms and a few key phrases."""
    codes = [Entity("dtc", code.upper()) for code in _TROUBLE_CODE.findall(text)]
    parts = [Entity("part", " ".join(number.split())) for number in _PART_NUMBER.findall(text)]
    lines = _TROUBLE_CODE.sub("", _PART_NUMBER.sub("", text)).split("\n")
    acronyms = [Entity("acronym", letters) for line in filter(None, lines) for letters in _find_acronyms(line)]
    phrases = [Entity("phrase", phrase) for phrase in _select_key_phrases(text)]
    return tuple(dict.fromkeys([*codes, *parts, *acronyms, *phrases]))


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


def _find_acronyms(line: str) -> Iterator[str]:
    """Yield the acronyms of a line; none from a line mostly in capitals or from runs of capitals with stop words."""
    words = line.split()
    if sum(word.isupper() for word in words) * 2 < len(words):
        line = _CAPITALS_RUN.sub(
            lambda run: "" if KEY_PHRASE_STOP_WORDS & set(run[0].lower().split()) else run[0], line
        )
        yield from (acronym for acronym in _ACRONYM.findall(line) if acronym not in _NOT_ACRONYMS)


def _select_key_phrases(text: str) -> list[str]:
    """Return the expansions of acronyms, then the best word runs; none contains another."""
    chosen: list[str] = []
    for phrase in (*_find_defined_terms(text), *_rank_phrases_by_degree(text)):
        if len(chosen) < MAX_KEY_PHRASES and not any(phrase in other or other in phrase for other in chosen):
            chosen.append(phrase)
    return chosen


def _find_defined_terms(text: str) -> Iterator[str]:
    """Yield the expansions of bracketed acronyms whose letters begin its words: transmission control module (TCM)."""
    for match in _ACRONYM_IN_BRACKETS.finditer(text):
        letters = match[1].lower()
        words = text[max(0, match.start() - 80) : match.start()].lower().split()[-len(letters) :]
        if [word[0] for word in words] == list(letters):
            yield " ".join(words)


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
