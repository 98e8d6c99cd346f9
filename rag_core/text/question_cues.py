"""Words of questions that ask for a kind of column: "oldest" for a date of birth, "where" for a place.

Written by hand from how questions are asked in English; no line was taken from a set of questions.
"""

from collections.abc import Iterable

from rag_core.text.identifiers import list_roots
from rag_core.text.stop_words import parse_word_list

_CUES = """oldest youngest older younger age aged born birthday birth | birth birthday dob age born
female male woman women man men girl boy gender sex | gender sex
where located location coordinates place live lives lived | location latitude longitude lat lng lon place address city
 country state county region district
when date day month year years | date time year month day
expensive cheap cheapest cost costs price paid pay pays spend spent money expenditure budget fund | amount cost price
 payment spent paid total
fast fastest slow slowest quick quickest speed | speed time duration
tall taller tallest short shortest height | height
heavy heavier heaviest light weight | weight
champion winner won win rank ranked ranking place | position rank order place
phone call telephone | phone telephone tel
website webpage page link | url website link
popular popularity viewed view views | view count
nationality nation country | nationality country
name names who called named | name surname forename title first last
title titled called | title name
kind type category sort | type category kind
salary earn earns income wage | salary income wage
email mail contact | email mail
biggest largest smallest many much total number amount sum average | number count amount total
result results score scored scores points | score point result
status open closed active | status state"""


def _build_cue_table() -> list[tuple[frozenset[str], frozenset[str]]]:
    sides = (line.split("|") for line in _CUES.replace("\n ", " ").splitlines())
    return [(frozenset(list_roots(asked)), frozenset(list_roots(meant))) for asked, meant in sides]


_CUE_TABLE = _build_cue_table()
DATE_ROOTS = frozenset(list_roots("date year time"))
NAME_ROOTS = frozenset(list_roots("name surname forename title"))
PERSON_NAME_ROOTS = frozenset(list_roots("first forename surname last"))
PLACE_ROOTS = frozenset(list_roots("city county country state district region location town address place"))
# words that compare numbers, put dates in order, or ask for a person, case-folded
COMPARING_WORDS = parse_word_list(
    """more less over under above below exceed exceeds exceeding exceeded greater fewer highest lowest most least
    average total sum between top maximum minimum largest smallest longest shortest percent percentage"""
)
ORDERING_WORDS = parse_word_list(
    """first last latest earliest oldest youngest recent recently newest before after since until when year month day
    date"""
)
INTRODUCING_WORDS = frozenset(("named", "called", "titled", "name", "title", "the"))  # before a name
PERSON_WORDS = frozenset(("who", "whose", "whom", "name", "names"))
# words that ask for something to be computed, and not for a column
COMPUTING_ROOTS = frozenset(
    list_roots(
        """average avg mean median many much total sum count number amount percentage percent ratio share difference
        most least more less fewer fewest greater highest lowest maximum minimum max min top bottom list show give find
        tell state name identify provide calculate compare rank order sort distinct different each every"""
    )
)
COUNT_CUES = ("how many", "number of", "percent", "count", "ratio", "no. of")


def find_cued_roots(roots: Iterable[str]) -> frozenset[str]:
    """Return the roots of the column names that the words of a question, given as roots, ask for."""
    asked = set(roots)
    return frozenset().union(*(meant for cues, meant in _CUE_TABLE if cues & asked))


def asks_for_count(text: str) -> bool:
    """Return whether a question asks for a number of things or a share of them."""
    folded = text.casefold()
    return any(cue in folded for cue in COUNT_CUES)
