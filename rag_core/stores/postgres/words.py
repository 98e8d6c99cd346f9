"""Texts as words of ASCII letters and digits, which every server tokenizes alike, whatever its locale."""

import re
from unicodedata import combining, normalize

from rag_core.text.spelling import pieces, plain

_WORD = re.compile(r"[^\W_]+")
LONGEST = 64  # longer strings are not words, and the server accepts at most 2,046 bytes
MOST_WORDS = 1024  # of a query, as in Lucene; a whole passage has fewer


def words(text: str) -> str:
    """Normalize a text to lower-case, accent-free words, codes without separators, and bigrams of unspaced scripts."""
    plain_text = plain(text)
    tokens = [*_WORD.findall(_folded(plain_text)), *pieces(plain_text)]
    return " ".join(_ascii(word) for word in tokens if len(word) <= LONGEST)


def asked(text: str) -> str:
    """Normalize a query text to its distinct words."""
    return " ".join(list(dict.fromkeys(words(text).split()))[:MOST_WORDS])


def _folded(text: str) -> str:
    decomposed = normalize("NFKD", text.casefold())
    return normalize("NFKC", "".join(character for character in decomposed if not combining(character)))


def _ascii(word: str) -> str:
    return word if word.isascii() else f"x{word.encode().hex()}"
