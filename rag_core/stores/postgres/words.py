"""Texts as words that every server takes apart alike, whatever its locale: ASCII letters and digits only."""

import re
from unicodedata import combining, normalize

from rag_core.text.spelling import pieces, plain

_WORD = re.compile(r"[^\W_]+")
LONGEST = 64  # letters of a word: what is longer is no word, and the server takes none beyond 2,046 bytes
MOST_WORDS = 1024  # of a question: as in Lucene; a whole passage has fewer


def words(text: str) -> str:
    """Words without case and accents, then codes without separators and pairs of letters of unspaced scripts."""
    told = plain(text)
    found = [*_WORD.findall(_folded(told)), *pieces(told)]
    return " ".join(_ascii(word) for word in found if len(word) <= LONGEST)


def asked(text: str) -> str:
    """The distinct words of a question."""
    return " ".join(list(dict.fromkeys(words(text).split()))[:MOST_WORDS])


def _folded(text: str) -> str:
    apart = normalize("NFKD", text.casefold())
    return normalize("NFKC", "".join(letter for letter in apart if not combining(letter)))


def _ascii(word: str) -> str:
    return word if word.isascii() else f"x{word.encode().hex()}"
