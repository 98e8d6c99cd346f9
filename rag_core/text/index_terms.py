"""Index terms that a tokenizer does not find: normalized characters, codes in any spelling, unspaced scripts."""

import re
from itertools import groupby
from unicodedata import combining

from rag_core.text.raised_marks import write_exponents_plain
from rag_core.text.unicode_forms import normalize_unicode

_WORD_CHARACTER = r"[^\W_]"
_WORD_START = r"(?<![^\W_])"  # without it, a long word would be tried from each of its letters
_JOINED_CODE = re.compile(
    rf"{_WORD_START}{_WORD_CHARACTER}+(?:[_\-./:]{_WORD_CHARACTER}+)+"
)  # snake_case, 1.2.3, P-0700
_SPACED_CODE = re.compile(
    rf"{_WORD_START}(?=[^\W\d_]*\d){_WORD_CHARACTER}{{2,}}(?:[ \-](?=[^\W\d_]*\d){_WORD_CHARACTER}{{2,}})+"
)  # 04E 906 016
_MIXED_CODE = re.compile(
    rf"{_WORD_START}(?={_WORD_CHARACTER}*\d)(?={_WORD_CHARACTER}*[^\W\d_]){_WORD_CHARACTER}{{3,}}"
)  # P0700, 04E906016
# Thai, Lao, Burmese, Khmer, kana, Han, Hangul: scripts without spaces between words
_UNSPACED_SCRIPT = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
_SEPARATORS = re.compile(r"[\W_]+")


def normalize_characters(text: str) -> str:
    """Return the text in Unicode form NFKC without footnote marks; lone surrogates, which no store accepts, become "?".

    A form with its raised digits made plain would be another code: 106 for 10⁶.
    """
    return normalize_unicode("NFKC", write_exponents_plain(text)).encode("utf-8", "replace").decode()


def extract_code_terms(text: str) -> list[str]:
    """Return codes and numbers without separators, and the letter pairs of scripts without spaces between words.

    "04E 906 016" is then found by "04E906016" and the reverse, and a code counts as one term.
    """
    lower = text.lower()
    code_text = _mask_plain_words(lower)
    joined = [
        _SEPARATORS.sub("", code) for pattern in (_JOINED_CODE, _SPACED_CODE) for code in pattern.findall(code_text)
    ]
    unspaced = [] if lower.isascii() else _UNSPACED_SCRIPT.findall(lower)
    return joined + _MIXED_CODE.findall(code_text) + [pair for run in unspaced for pair in _split_letter_pairs(run)]


def _mask_plain_words(text: str) -> str:
    """Replace each run of words of letters alone by a comma, as no code contains such a word.

    The three patterns of codes then read a sixth of the text; they take most of the time of lexical indexing.
    """
    runs = groupby(text.replace("\n", " \n ").split(" "), str.isalpha)
    return ",".join(" ".join(run) for letters, run in runs if not letters)


def _split_letter_pairs(run: str) -> list[str]:
    """Return the overlapping pairs of letters; a single letter as it is."""
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


def list_unaccented_words(text: str) -> list[str]:
    """Return, in lower case without accents and wide letters, those words of the text that have such letters."""
    words = [(word, normalize_unicode("NFKD", word)) for word in re.findall(r"[\w\u0300-\u036f]+", text.lower())]
    stripped = [(word, "".join(c for c in decomposed if not combining(c))) for word, decomposed in words]
    return [unaccented_word for word, unaccented_word in stripped if unaccented_word != word]
