"""The words of a text by which two texts are compared: folded, endings taken off, small words left out."""

import re
from collections.abc import Sequence

WORD = re.compile(r"\w+")

SMALL_WORDS = """a about all also an and any are as at be been but by can could did do does for from had has have how
however i if in into is it its me my of on or our shall she should so some such than that the their them then there
these they this those thus to us was we were what when where which who why will with would you your"""
SMALL = frozenset(WORD.findall(SMALL_WORDS))


def terms(text: str) -> frozenset[str]:
    """The distinct terms of a text; empty for one of small words or signs only."""
    return frozenset(map(term, _words(text) - SMALL))


def shared(wanted: frozenset[str], texts: Sequence[str]) -> list[int]:
    """How many of the wanted terms each text has; every distinct word of them is compared once."""
    spoken = [_words(text) for text in texts]
    found = {word: shape for word in set().union(*spoken) - SMALL if (shape := term(word)) in wanted}
    return [len({found[word] for word in found.keys() & words}) for words in spoken]


def term(word: str) -> str:
    """One word as it is compared: "Misfiring" and "misfires" are the same, "P0700" stays whole."""
    folded = word.casefold()
    if not folded.endswith(("g", "d", "s", "e")):
        return folded
    if folded.endswith("ies") and len(folded) > 4:
        return folded[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "e"):
        if folded.endswith(ending) and len(folded) - len(ending) > 3:
            return folded.removesuffix(ending)
    return folded


def _words(text: str) -> set[str]:
    return set(map(str.casefold, WORD.findall(text)))
