"""What a passage names and what it says, without a model: typed entities and key sentences.

Every expression here takes time in proportion to the text, whatever the text (RELIABILITY C11).
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rag_core.core.model import Entity
from rag_core.text.sentences import sentences

MAX_PHRASES = 4  # key phrases of a chunk
_FIRST = 200_000  # characters that a summary is made from
_SPAN = (4, 40)  # content words of a sentence worth quoting

# SAE J2012: system, 0 to 3, three hexadecimal digits; the failure type of UDS may follow
_TROUBLE_CODE = re.compile(r"(?<![\w-])(?:[PBCU][0-3][0-9A-F]{3}|[pbcu][0-3][0-9]{3})(?:-[0-9A-F]{2})?(?![\w-])")
_PART = re.compile(
    r"(?<![\w-])(?:"
    r"(?=[0-9]{0,2}[A-Z])[0-9A-Z]{3}\s[0-9]{3}\s[0-9]{3}(?:\s[A-Z]{1,2})?"  # 04E 906 016 AB
    r"|(?!(?:ISO|IEC|EN|DIN|SAE|RFC|CVE|CWE|IEEE|ANSI|ASTM|NIST|COVID|FY)-)[A-Z]{2,4}-[0-9]{4,6}(?:-[A-Z0-9]{1,3})?"
    r")(?![\w-])"  # BP-4471-A
)
_ACRONYM = re.compile(r"(?<![\w-])[A-Z](?=[A-Z0-9]{0,4}[A-Z])[A-Z0-9]{1,5}(?![\w-])")
_CAPITALS = re.compile(r"\b[A-Z]+(?: [A-Z]+){2,}\b")  # A GREAT PLACE TO WORK
_DEFINED = re.compile(r"\(([A-Z]{2,6})s?\)")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]|\n\s*\n")
_SHOUTED = (
    "ALL AN AND ARE BUT CAUTION DANGER FOR FROM IF II III IV IX IN IS IT NO NOT NOTE OF OFF OK ON ONE OR OUR OUT "
    "STEP THE THIS TO TODO VI VII VIII WARNING WITH XI XII YES YOU"
)
_NOT_ACRONYMS = frozenset(_SHOUTED.split())
_STOP_WORDS = (
    "a about above after again against all also am an and any are as at be because been before being below between "
    "both but by can cannot could did do does doing down during each either etc even every few for from further get "
    "gets got had has have having he her here hers him his how however i if in into is it its itself just like made "
    "make makes many may me might more most much must my neither no nor not now of off often on once one only or other "
    "others our out over own per rather same see several shall she should since so some such than that the their them "
    "then there these they this those through thus to too two under until up upon us use used using very via was we "
    "well were what when where whether which while who whom whose why will with within without would yes yet you your "
    "he's it's don't first second new way different example"
)
_STOP = frozenset(_STOP_WORDS.split())


def entities(text: str) -> tuple[Entity, ...]:
    """The names in a passage, each once: trouble codes, part numbers, acronyms, and its few key phrases."""
    codes = [Entity("dtc", code.upper()) for code in _TROUBLE_CODE.findall(text)]
    parts = [Entity("part", " ".join(number.split())) for number in _PART.findall(text)]
    lines = _TROUBLE_CODE.sub("", _PART.sub("", text)).split("\n")
    acronyms = [Entity("acronym", letters) for line in filter(None, lines) for letters in _acronyms(line)]
    phrases = [Entity("phrase", phrase) for phrase in _phrases(text)]
    return tuple(dict.fromkeys([*codes, *parts, *acronyms, *phrases]))


def key_sentences(text: str, count: int) -> list[str]:
    """The sentences that say most of what a text says, in its own order, white space made plain.

    A sentence is scored by the frequency in the text of the words it holds, as a mean over its length softened by a
    root, with a little more for an early one (Luhn 1958; Edmundson 1969). One that repeats a better one is passed over,
    and so are titles, list items and what stands in brackets, unless there is nothing else.
    """
    text = text[:_FIRST]
    found = [_prose(text[start:end].split("\n")) for start, end in sentences(text)]
    words = [_content_words(sentence) for sentence in found]
    frequency = Counter(word for sentence in words for word in set(sentence))
    weight = [_weight(found[n], words[n], frequency, n) for n in range(len(found))]
    chosen: list[int] = []
    for n in sorted(range(len(found)), key=lambda n: (-weight[n], n)):
        if len(chosen) == count or (chosen and not weight[n]):
            break
        if not any(_repeats(words[n], words[other]) for other in chosen):
            chosen.append(n)
    return [found[n] for n in sorted(chosen)]


def _acronyms(line: str) -> Iterator[str]:
    """Capitals that stand out: in a line mostly of capitals, and among shouted little words, they are shouting."""
    words = line.split()
    if sum(word.isupper() for word in words) * 2 < len(words):
        spoken = _CAPITALS.sub(lambda run: "" if _STOP & set(run[0].lower().split()) else run[0], line)
        yield from (found for found in _ACRONYM.findall(spoken) if found not in _NOT_ACRONYMS)


def _phrases(text: str) -> list[str]:
    """What acronyms stand for, then the best runs of words; none that repeats most of another."""
    chosen: list[str] = []
    for phrase in (*_defined(text), *_by_degree(text)):
        if len(chosen) < MAX_PHRASES and not any(phrase in other or other in phrase for other in chosen):
            chosen.append(phrase)
    return chosen


def _defined(text: str) -> Iterator[str]:
    """The words before an acronym in brackets, when they begin with its letters: transmission control module (TCM)."""
    for found in _DEFINED.finditer(text):
        letters = found[1].lower()
        before = text[max(0, found.start() - 80) : found.start()].lower().split()[-len(letters) :]
        if [word[0] for word in before] == list(letters):
            yield " ".join(before)


def _by_degree(text: str) -> list[str]:
    """Runs of two or three words by the degree over frequency of each word (RAKE, Rose et al. 2010), times count."""
    runs = Counter(" ".join(run) for run in _runs(text) if 2 <= len(run) <= 3)
    frequency: Counter[str] = Counter()
    degree: Counter[str] = Counter()
    for phrase, times in runs.items():
        words = phrase.split()
        frequency.update(dict.fromkeys(words, times))
        degree.update(dict.fromkeys(words, times * len(words)))
    score = {run: times * sum(degree[w] / frequency[w] for w in run.split()) for run, times in runs.items()}
    return sorted(runs, key=lambda phrase: (-score[phrase], phrase))


def _runs(text: str) -> Iterator[list[str]]:
    """Words in a row with neither a stop word, a number nor a mark between them."""
    run: list[str] = []
    for token in _TOKEN.findall(text):
        word = token.lower()
        if len(word) > 2 and word not in _STOP and _WORD.fullmatch(word):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _content_words(sentence: str) -> list[str]:
    return [word for word in (w.lower() for w in _WORD.findall(sentence)) if word not in _STOP and len(word) > 2]


def _prose(lines: list[str]) -> str:
    """A sentence on one line, without the running head or title above it: short lines before one that begins anew."""
    full = 0.6 * max(map(len, lines))
    while len(lines) > 1 and len(lines[0]) < full and lines[1][:1].isupper():
        lines = lines[1:]
    return " ".join(" ".join(lines).split())


def _weight(sentence: str, words: Sequence[str], frequency: Counter[str], position: int) -> float:
    if not _SPAN[0] <= len(words) <= _SPAN[1] or not sentence[0].isalnum() or sentence[-1] not in '.!?”"':
        return 0.0
    total = sum(math.log1p(frequency[word]) for word in set(words))
    return total / math.sqrt(len(words)) * (1 + 1 / (1 + position))


def _repeats(words: Sequence[str], others: Sequence[str]) -> bool:
    shared = len(set(words) & set(others))
    return shared > 0.6 * max(1, min(len(set(words)), len(set(others))))
