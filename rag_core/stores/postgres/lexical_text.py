"""Texts as words of ASCII letters and digits, which every server tokenizes alike, whatever its locale."""

import re
from unicodedata import combining

from rag_core.text.index_terms import extract_code_terms, normalize_characters
from rag_core.text.unicode_forms import normalize_unicode

_WORD_PATTERN = re.compile(r"[^\W_]+")
MAX_WORD_CHARS = 64  # longer strings are not words, and the server accepts at most 2,046 bytes
MAX_QUERY_WORDS = 1024  # of a query, as in Lucene; a whole passage has fewer


def normalize_lexical_text(text: str) -> str:
    """Normalize a text to lower-case, accent-free words, codes without separators, and bigrams of unspaced scripts."""
    plain_text = normalize_characters(text)
    tokens = [*_WORD_PATTERN.findall(_fold_case_and_accents(plain_text)), *extract_code_terms(plain_text)]
    return " ".join(_encode_word_as_ascii(word) for word in tokens if len(word) <= MAX_WORD_CHARS)


def normalize_lexical_query(text: str) -> str:
    """Normalize a query text to its distinct words."""
    return " ".join(list(dict.fromkeys(normalize_lexical_text(text).split()))[:MAX_QUERY_WORDS])


def _fold_case_and_accents(text: str) -> str:
    decomposed = normalize_unicode("NFKD", text.casefold())
    return normalize_unicode("NFKC", "".join(character for character in decomposed if not combining(character)))


def _encode_word_as_ascii(word: str) -> str:
    return word if word.isascii() else f"x{word.encode().hex()}"
