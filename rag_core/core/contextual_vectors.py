"""Vectors of passages that know their document: where a text lacks the title, a part of the vector is the title's.

Only the title of a document of a series counts, which has a year or a period in it: its pages have the same words year
after year, and in each of several companies. Other titles were no gain, and a loss where documents share one.

The content hash of such a passage is that of title and text, so a vector is reused only while both stay as they are. A
passage that was stored before has the hash of its text alone, and keeps a vector of its text alone.
"""

import math
import re
from collections.abc import Sequence
from hashlib import sha256

from rag_core.core.model import Chunk, EmbeddableText, Vector
from rag_core.core.ports import Embedder
from rag_core.text.periods import find_periods

TITLE_SHARE = 0.25  # of the title's vector; 0.2 and 0.3 do nearly as well (docs/decisions/0050)
MIN_MISSING_SHARE = 0.5  # of the title's words: a text that has more of them says itself what it is about
MIN_TITLE_WORDS = 2  # of letters: "scan_2017" and an id do not say what a document is about
_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def hash_passage(content: str, title: str) -> str:
    """Return the content hash of a new passage of a document with this title."""
    return _hash_text(f"{title}\n\n{content}" if _lacks_title(content, title) else content)


def build_embeddable_text(content: str, title: str, content_hash: str) -> EmbeddableText:
    """Return what a passage's vector is made of, as its content hash says."""
    is_in_context = content_hash == _hash_text(f"{title}\n\n{content}")
    return EmbeddableText(content, title if is_in_context else "")


def build_chunk_text(chunk: Chunk) -> EmbeddableText:
    """Return what a chunk's vector is made of."""
    return build_embeddable_text(chunk.content, chunk.title, chunk.content_hash)


async def embed_passages(passages: Sequence[EmbeddableText], embedder: Embedder) -> list[Vector]:
    """Return the vectors of passages, in order; each text and title is sent once. Raises Unavailable."""
    texts = list_sent_texts(passages)
    vectors = dict(zip(texts, await embedder.embed_documents(texts), strict=True))
    return [_blend(vectors[one.content], vectors[one.title]) if one.title else vectors[one.content] for one in passages]


def list_sent_texts(passages: Sequence[EmbeddableText]) -> list[str]:
    """Return the texts that are sent to the embedder for these passages, each once."""
    return list(dict.fromkeys([*(one.content for one in passages), *(one.title for one in passages if one.title)]))


def _lacks_title(content: str, title: str) -> bool:
    if len(_LETTERS.findall(title)) < MIN_TITLE_WORDS or not (_YEAR.search(title) or find_periods(title)):
        return False
    words = set(_WORD.findall(title.casefold()))
    return len(words - set(_WORD.findall(content.casefold()))) >= MIN_MISSING_SHARE * len(words)


def _blend(content: Vector, title: Vector) -> Vector:
    """Return the weighted mean of two vectors of the same length, with length 1 as embedders give them."""
    mean = [(1 - TITLE_SHARE) * x + TITLE_SHARE * y for x, y in zip(content, title, strict=True)]
    length = math.hypot(*mean)
    return [x / length for x in mean] if length else content


def _hash_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()
