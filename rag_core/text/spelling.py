"""What a word index does not see by itself: one spelling of each character, and codes however they are written."""

import re
from itertools import groupby
from unicodedata import combining, normalize

_WORD = r"[^\W_]"
_START = r"(?<![^\W_])"  # without it a long word would be tried from each of its letters
_JOINED = re.compile(rf"{_START}{_WORD}+(?:[_\-./:]{_WORD}+)+")  # snake_case, 1.2.3, P-0700
_SPACED = re.compile(rf"{_START}(?=[^\W\d_]*\d){_WORD}{{2,}}(?:[ \-](?=[^\W\d_]*\d){_WORD}{{2,}})+")  # 04E 906 016
_MIXED = re.compile(rf"{_START}(?={_WORD}*\d)(?={_WORD}*[^\W\d_]){_WORD}{{3,}}")  # P0700, 04E906016
# Thai, Lao, Burmese, Khmer, kana, Han, Hangul: written without spaces between words, or with words run together
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_SEPARATORS = re.compile(r"[\W_]+")


def plain(text: str) -> str:
    """The text in one spelling of each character; half surrogates, which nothing can store, become '?'."""
    return normalize("NFKC", text).encode("utf-8", "replace").decode()


def pieces(text: str) -> list[str]:
    """Codes and numbers with their separators taken out, and pairs of letters where no spaces part the words.

    So "04E 906 016" is found by "04E906016" and the other way round, and a code counts as one term.
    """
    lower = text.lower()
    coded = _coded(lower)
    joined = [_SEPARATORS.sub("", code) for pattern in (_JOINED, _SPACED) for code in pattern.findall(coded)]
    unspaced = [] if lower.isascii() else _UNSPACED.findall(lower)
    return joined + _MIXED.findall(coded) + [pair for run in unspaced for pair in _pairs(run)]


def _coded(text: str) -> str:
    """The text with a comma for each run of words that are letters alone: no code begins, ends or goes on in one.

    Three of the patterns then read a sixth of it, which is most of what building a word index takes.
    """
    runs = groupby(text.replace("\n", " \n ").split(" "), str.isalpha)
    return ",".join(" ".join(run) for letters, run in runs if not letters)


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


def unaccented(text: str) -> list[str]:
    """The words of the text that are spelt otherwise without accents and wide letters, spelt so."""
    words = [(word, normalize("NFKD", word)) for word in re.findall(r"[\w\u0300-\u036f]+", text.lower())]
    bare = [(word, "".join(c for c in taken_apart if not combining(c))) for word, taken_apart in words]
    return [folded for word, folded in bare if folded != word]
