"""Words of names such as `eyeColourId` or `link_to_event`, in the form in which they are compared with a question."""

import re
from functools import lru_cache

_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_ENDINGS = (  # longer before shorter where one ends in another
    *("ations", "ation", "ments", "ment", "ities", "ity", "ings", "ing", "ions", "ion", "ers", "ors", "er", "or"),
    *("ed", "es", "ly", "al", "ive", "ish", "s", "e", "y"),
)
MIN_ROOT_CHARS = 4  # of a root that an ending of several letters is cut from; 3 for a single letter
MAX_ENDINGS = 2  # cut from one word: "publishers" has two


def split_identifier(name: str) -> str:
    """Return the words of a name in lower case, with single spaces: "eyeColour_id" becomes "eye colour id"."""
    return " ".join(_WORD.findall(_CASE_BOUNDARY.sub(" ", name).casefold()))


def list_roots(text: str) -> list[str]:
    """Return the roots of the words and numbers of a text, in order and with repetitions."""
    return [find_root(word) for word in _WORD.findall(text.casefold())]


@lru_cache(maxsize=20_000)  # words of the schemas and questions in use
def find_root(word: str) -> str:
    """Return what is left of a word without its endings, so that "published" and "publisher" are the same.

    It is coarser than `stem_word`, which compares sentences: the names of a schema are few, and a wrong match costs
    little beside a missing one.
    """
    for _ in range(MAX_ENDINGS):
        ending = next((e for e in _ENDINGS if _can_cut(word, e)), "")
        if not ending:
            break
        word = word.removesuffix(ending)
    return word


def _can_cut(word: str, ending: str) -> bool:
    min_chars = MIN_ROOT_CHARS if len(ending) > 1 else MIN_ROOT_CHARS - 1
    return word.endswith(ending) and len(word) - len(ending) >= min_chars and not word.endswith("ss")
