"""Terms of a text for comparing texts: case-folded and stemmed words without stop words."""

import re
from collections.abc import Sequence

WORD = re.compile(r"\w+")

SMALL_WORDS = """a about all also an and any are as at be been but by can could did do does for from had has have how
however i if in into is it its me my of on or our shall she should so some such than that the their them then there
these they this those thus to us was we were what when where which who why will with would you your"""
SMALL = frozenset(WORD.findall(SMALL_WORDS))


def terms(text: str) -> frozenset[str]:
    """Return the distinct terms of a text; empty for a text of stop words or signs only."""
    return frozenset(map(term, _words(text) - SMALL))


def shared(wanted: frozenset[str], texts: Sequence[str]) -> list[int]:
    """Return for each text how many of the wanted terms it has; each distinct word is stemmed once."""
    text_words = [_words(text) for text in texts]
    wanted_stems = {word: stem for word in set().union(*text_words) - SMALL if (stem := term(word)) in wanted}
    return [len({wanted_stems[word] for word in wanted_stems.keys() & words}) for words in text_words]


def term(word: str) -> str:
    """Return the stem of a word: "Misfiring" and "misfires" have the same, "P0700" is kept in full."""
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
    """Return the distinct case-folded words of a text."""
    return set(map(str.casefold, WORD.findall(text)))
