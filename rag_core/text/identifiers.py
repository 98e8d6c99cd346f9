"""Words of names such as `eyeColourId` or `link_to_event`, in the form in which they are compared with a question."""

import re
from functools import lru_cache

from rag_core.text.stop_words import parse_word_list

_CASE_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_ENDINGS = (  # longer before shorter where one ends in another
    *("ations", "ation", "ments", "ment", "ities", "ity", "ings", "ing", "ions", "ion", "ers", "ors", "er", "or"),
    *("ed", "es", "ly", "al", "ive", "ish", "s", "e", "y"),
)
# that names of columns end in; not "m" or "in", which are seldom meant
UNITS = parse_word_list(
    """mm cm km ft kg mg lb lbs ml ms sec secs seconds minutes hours usd eur gbp chf percent pct celsius fahrenheit kwh
    hz mhz ghz kb mb gb"""
)
# that names of tables begin with to say of what kind they are: a table, a view, a part of a warehouse
TABLE_MARKS = parse_word_list("t tb tbl tab v vw mv dim fct fact stg")
MIN_ROOT_CHARS = 4  # of a root that an ending of several letters is cut from; 3 for a single letter
MAX_ENDINGS = 2  # cut from one word: "publishers" has two


def split_identifier(name: str) -> str:
    """Return the words of a name in lower case, with single spaces: "eyeColour_id" becomes "eye colour id"."""
    return " ".join(_WORD.findall(_CASE_BOUNDARY.sub(" ", name).casefold()))


def split_table_name(name: str) -> str:
    """Return the words of a table's name without a mark of its kind: "tbl_Customer" becomes "customer"."""
    first, _, rest = split_identifier(name).partition(" ")
    return rest if rest and first in TABLE_MARKS else f"{first} {rest}".rstrip()


def find_unit(name: str) -> str:
    """Return the unit that a name ends in, as "cm" of `height_cm`; "" for a name of one word or without a unit."""
    *before, last = split_identifier(name).split() or [""]
    return last if before and last in UNITS else ""


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
