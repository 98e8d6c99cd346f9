"""Ways to say a sentence again, true or false: what the checking of citations is tried with.

A kind takes a sentence and gives a claim, or None where it does not fit. Every choice is the given random generator's.

Before any check was tuned, half of the false kinds and half of the true ones were held back: their results were looked
at once, in the final run. The same hand wrote the kinds and the checks, so this keeps from tuning, not from knowing.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from rag_core.text.codes import find_codes

HELD_BACK = frozenset(
    [
        "number_borrowed",
        "number_word",
        "date",
        "code",
        "roles",
        "not_removed",
        "no_inserted",
        "antonym",
        "quantifier",
        "cross_document",
        "clauses_reordered",
        "date_format",
        "abbreviation",
    ]
)
# Groups that have a target: false accepts of these at most 5 %
NUMBERS = frozenset(
    ["number_altered", "number_borrowed", "number_word", "number_swapped", "number_scaled", "unit", "date"]
)
NEGATIONS = frozenset(["not_inserted", "not_removed", "no_inserted", "antonym", "prefixed"])


@dataclass(frozen=True, slots=True)
class Source:
    """A sentence and what may be mixed into it: the next sentence, and the text around (its chunk)."""

    text: str
    following: str
    around: str


Kind = Callable[[Source, Random], str | None]

NUMBER = re.compile(r"(?<![\w.,/:-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/:-]|[.,]\d)")
SMALL_NUMBERS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w'’-]+(?: (?:[A-Z][\w'’-]+|of(?= [A-Z])))*")
AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|can|will|has|have|had|must|should|may|would|could|do|does|did)\b(?! not\b)"
)

MAGNITUDES = {"hundred": "thousand", "thousand": "million", "million": "billion", "billion": "million"}
UNITS = {
    "days": "weeks",
    "weeks": "months",
    "months": "years",
    "years": "months",
    "hours": "days",
    "minutes": "hours",
    "seconds": "minutes",
    "miles": "kilometers",
    "kilometers": "miles",
    "km": "miles",
    "feet": "inches",
    "percent": "points",
    "%": " dollars",
    "tokens": "words",
    "pages": "books",
    "MB": "GB",
    "kg": "pounds",
    "degrees": "radians",
    "inches": "feet",
    "metres": "feet",
    "meters": "feet",
    "acres": "hectares",
}
ANTONYMS = [
    *["increase decrease", "increases decreases", "increased decreased", "increasing decreasing", "before after"],
    *["minimum maximum", "required optional", "covered excluded", "above below", "first last", "high low"],
    *["most least", "higher lower", "larger smaller", "early late", "include exclude", "includes excludes"],
    *["internal external", "won lost", "more fewer", "allow forbid", "allows forbids", "accept reject"],
    *["always never", "with without"],
    *["success failure", "north south", "east west", "inside outside", "older younger", "positive negative"],
]
PREFIXED = [
    *["possible impossible", "able unable", "likely unlikely", "available unavailable", "known unknown"],
    *["similar dissimilar", "appropriate inappropriate", "effective ineffective", "necessary unnecessary"],
    *["compressible incompressible", "stable unstable", "steady unsteady", "complete incomplete", "direct indirect"],
    *["dependent independent", "regular irregular", "legal illegal", "successful unsuccessful", "healthy unhealthy"],
]
QUANTIFIERS = [
    *["all some", "every some", "each no", "most few", "many few", "several all", "at least|at most"],
    *["more than|less than", "up to|at least", "only also", "both neither", "some all", "any every"],
]
MODALITY = ["may must", "can must", "should must", "must may", "might will", "could will", "will may", "would must"]
SYNONYMS = [
    *["begin start", "began started", "show demonstrate", "shows demonstrates", "to use|to employ", "used employed"],
    *["help assist", "helps assists", "get obtain", "buy purchase", "large big", "whole entire", "about approximately"],
    *["however nevertheless", "many numerous", "often frequently", "important significant"],
    *["provide supply", "provides supplies", "choose select", "need require", "needs requires", "ensure guarantee"],
    *["various different", "method technique", "obtained gained", "also additionally", "quickly rapidly"],
    *["such as|for example", "as well as|and", "additional further", "build construct", "built constructed"],
    *["area region", "complete finish", "allow permit", "allows permits", "create make", "creates makes"],
]
ABBREVIATED = [
    *[
        "United States|US",
        "United Kingdom|UK",
        "percent|%",
        "per cent|%",
        "kilometers|km",
        "kilograms|kg",
        "minutes|min",
    ],
    *["for example|e.g.", "that is|i.e.", "versus|vs.", "Doctor|Dr.", "and|&", "is not|isn't", "do not|don't"],
    *["does not|doesn't", "cannot|can't", "was not|wasn't", "did not|didn't", "are not|aren't", "United Nations|UN"],
    *["hours|h", "square miles|sq mi", "dollars|USD", "Saint|St.", "Mount|Mt.", "number|no.", "fiscal year|FY"],
    *["will not|won't", "were not|weren't", "January|Jan.", "September|Sept.", "December|Dec.", "October|Oct."],
]


def exchange_words(pairs: list[str], *, both_ways: bool = False) -> Kind:
    """Return a kind that puts the second of a pair for the first where it first stands, or the other way round."""
    given = [tuple(pair.split("|" if "|" in pair else " ", 1)) for pair in pairs]
    table = given + [(after, before) for before, after in given if both_ways]

    def exchange_one(source: Source, random: Random) -> str | None:
        fitting = [(a, b) for a, b in table if re.search(_build_word_pattern(a), source.text)]
        if not fitting:
            return None
        before, after = random.choice(fitting)
        return re.sub(_build_word_pattern(before), after, source.text, count=1)

    return exchange_one


def _build_word_pattern(text: str) -> str:
    return rf"(?<!\w){re.escape(text)}(?!\w)"


def _replace_match(text: str, found: re.Match[str], by: str) -> str:
    return text[: found.start()] + by + text[found.end() :]


def _pick_match(pattern: re.Pattern[str], text: str, random: Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return random.choice(found) if found else None


def repeat_sentence(source: Source, random: Random) -> str | None:
    return source.text


def drop_adjunct(source: Source, random: Random) -> str | None:
    """Drop a parenthesis, or a last or first part set off by a comma that begins with a preposition."""
    text = source.text
    brackets = re.search(r" \([^()]*\)", text)
    last = re.search(r", (?:in|at|on|by|during|since|including|such as|along with)\b[^,;:]*(?=\s?\.$)", text)
    first = re.match(r"(?:In|At|On|During|By|For|After|Since) [^,;:]{3,60}, (?=[A-Za-z])", text)
    found = [match for match in (brackets, last, first) if match]
    if not found:
        return None
    left = _replace_match(text, random.choice(found), "").strip()
    return left[:1].upper() + left[1:] if len(left.split()) > 3 else None


def reorder_clauses(source: Source, random: Random) -> str | None:
    """Move what stood before the first comma to the end."""
    parts = re.fullmatch(
        r"((?:In|At|On|During|By|After|Since|When|While|Because|For|From|With)\b [^,;:]{3,60}), ([^;:?!]{20,}?)\s?\.",
        source.text,
    )
    if not parts:
        return None
    moved, rest = parts[1], parts[2]
    return f"{rest[:1].upper()}{rest[1:]} {moved[:1].lower()}{moved[1:]}."


def reformat_number(source: Source, random: Random) -> str | None:
    """Write 1,000 as 1000 and back, four as 4 and back, 2 million as 2,000,000."""
    text = source.text
    if million := re.search(r"(?<![\d.,])(\d{1,3}) million\b", text):
        return _replace_match(text, million, f"{million[1]},000,000")
    if comma := re.search(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d.,])", text):
        return _replace_match(text, comma, comma[0].replace(",", ""))
    if word := re.search(rf"\b(?:{'|'.join(SMALL_NUMBERS)})\b(?!-)", text):
        return _replace_match(text, word, str(SMALL_NUMBERS.index(word[0]) + 2))
    if digit := re.search(r"(?<![\w.,:/$£€-])(?:[2-9]|1[0-2])(?= [a-z])", text):
        return _replace_match(text, digit, SMALL_NUMBERS[int(digit[0]) - 2])
    return None


def reformat_date(source: Source, random: Random) -> str | None:
    """Write March 5, 2024 as 5 March 2024, 2024-03-05 or Mar 5, 2024, and the like back."""
    months = "|".join(MONTHS)
    if found := re.search(rf"\b({months}) (\d{{1,2}}), (\d{{4}})\b", source.text):
        month, day, year = found.groups()
    elif found := re.search(rf"\b(\d{{1,2}}) ({months}) (\d{{4}})\b", source.text):
        day, month, year = found.groups()
    elif found := re.search(rf"\b({months}) (\d{{4}})\b", source.text):
        return _replace_match(
            source.text, found, random.choice([f"{found[1][:3]} {found[2]}", f"{found[1]} of {found[2]}"])
        )
    else:
        return None
    number = MONTHS.index(month) + 1
    forms = [
        f"{month} {day}, {year}",
        f"{day} {month} {year}",
        f"{year}-{number:02}-{int(day):02}",
        f"{month[:3]} {day}, {year}",
    ]
    return _replace_match(source.text, found, random.choice([form for form in forms if form != found[0]]))


def alter_digit(source: Source, random: Random) -> str | None:
    """Change one digit of a number."""
    found = _pick_match(NUMBER, source.text, random)
    if not found:
        return None
    at = random.choice([place for place, sign in enumerate(found[0]) if sign.isdigit()])
    other = random.choice([digit for digit in "123456789" if digit != found[0][at]])
    return _replace_match(source.text, found, found[0][:at] + other + found[0][at + 1 :])


def borrow_number(source: Source, random: Random) -> str | None:
    """Replace a number by another number of the text around it."""
    found = _pick_match(NUMBER, source.text, random)
    others = sorted({n[0] for n in NUMBER.finditer(source.around)} - {found[0]}) if found else []
    return _replace_match(source.text, found, random.choice(others)) if found and others else None


def change_number_word(source: Source, random: Random) -> str | None:
    """Replace a number that is spelled out by another."""
    found = _pick_match(re.compile(rf"\b(?:{'|'.join(SMALL_NUMBERS)})\b"), source.text, random)
    others = [word for word in SMALL_NUMBERS if found and word != found[0]]
    return _replace_match(source.text, found, random.choice(others)) if found else None


def swap_numbers(source: Source, random: Random) -> str | None:
    """Let two numbers change places."""
    return _swap_matches(NUMBER, source.text, random)


def scale_number(source: Source, random: Random) -> str | None:
    """Put a million for a thousand and the like, or ten times as much."""
    if found := re.search(rf"\b(?:{'|'.join(MAGNITUDES)})\b", source.text):
        return _replace_match(source.text, found, MAGNITUDES[found[0]])
    found = _pick_match(NUMBER, source.text, random)
    return (
        _replace_match(source.text, found, f"{found[0].replace(',', '')}0")
        if found and found[0].strip("0") and "." not in found[0]
        else None
    )


def change_unit(source: Source, random: Random) -> str | None:
    """Give a number another unit or currency."""
    found = _pick_match(re.compile(rf"(?<=\d)\s?({'|'.join(UNITS)})(?!\w)|[$£€](?=\d)"), source.text, random)
    if not found:
        return None
    if found[0] in "$£€":
        return _replace_match(source.text, found, random.choice([sign for sign in "$£€" if sign != found[0]]))
    return _replace_match(source.text, found, found[0].replace(found[1], UNITS[found[1]]))


def change_date(source: Source, random: Random) -> str | None:
    """Change a month or a year."""
    found = _pick_match(re.compile(rf"\b(?:{'|'.join(MONTHS)})\b|\b(?:1[5-9]|20)\d\d\b"), source.text, random)
    if not found:
        return None
    if found[0].isdigit():
        return _replace_match(source.text, found, str(int(found[0]) + random.choice([-10, -2, -1, 1, 2, 10])))
    return _replace_match(source.text, found, random.choice([month for month in MONTHS if month != found[0]]))


def change_code(source: Source, random: Random) -> str | None:
    """Change a digit of a code."""
    known = find_codes(source.text)
    found = [match for match in re.finditer(r"\w+", source.text) if match[0].casefold() in known]
    if not found:
        return None
    chosen = random.choice(found)
    at = random.choice([place for place, sign in enumerate(chosen[0]) if sign.isdigit()])
    other = random.choice([digit for digit in "0123456789" if digit != chosen[0][at]])
    return _replace_match(source.text, chosen, chosen[0][:at] + other + chosen[0][at + 1 :])


def change_entity(source: Source, random: Random) -> str | None:
    """Replace a name by another name of the text around it."""
    found = _pick_match(NAME, source.text, random)
    others = sorted({n[0] for n in NAME.finditer(source.around) if n[0] not in source.text}) if found else []
    return _replace_match(source.text, found, random.choice(others)) if found and others else None


def swap_names(source: Source, random: Random) -> str | None:
    """Let two names change places."""
    return _swap_matches(NAME, source.text, random)


def _swap_matches(pattern: re.Pattern[str], text: str, random: Random) -> str | None:
    found = list(pattern.finditer(text))
    pairs = [
        (a, b)
        for a in found
        for b in found
        if a.end() < b.start() and a[0] != b[0] and not _are_list_members(text, a, b)
    ]
    if not pairs:
        return None
    a, b = random.choice(pairs)
    return text[: a.start()] + b[0] + text[a.end() : b.start()] + a[0] + text[b.end() :]


def _are_list_members(text: str, a: re.Match[str], b: re.Match[str]) -> bool:
    """Return whether the two are members of one list, in which places mean nothing."""
    return bool(re.fullmatch(r"[\s,&]*(?:and|or|to|[\w,'’ -]*,(?: and| or)?)?[\s,]*", text[a.end() : b.start()]))


def insert_not(source: Source, random: Random) -> str | None:
    found = AUXILIARY.search(source.text)
    return _replace_match(source.text, found, f"{found[0]} not") if found else None


def remove_negation(source: Source, random: Random) -> str | None:
    """Remove the negation, if there is only one."""
    found = list(re.finditer(r" not\b(?! only)| never\b|(?<=can)not\b|n['’]t\b| no(?= [a-z])", source.text))
    return _replace_match(source.text, found[0], "") if len(found) == 1 else None


def insert_no(source: Source, random: Random) -> str | None:
    """Replace an article by "no"."""
    found = _pick_match(re.compile(r"(?<=[a-z] )an?(?= [a-z])"), source.text, random)
    return _replace_match(source.text, found, "no") if found else None


def conflate_sentences(source: Source, random: Random) -> str | None:
    """Join the beginning of a sentence, to its verb, with what the next one says of something else."""
    first, second = AUXILIARY.search(source.text), AUXILIARY.search(source.following)
    if not first or not second or re.match(r"(?:It|They|He|She|This|These|That|Those|There)\b", source.following):
        return None
    subject = source.text[: first.start()]
    return (
        None
        if subject.strip().casefold() in source.following.casefold()
        else subject + source.following[second.start() :]
    )


SUPPORTED: Mapping[str, Kind] = {
    "verbatim": repeat_sentence,
    "adjunct_dropped": drop_adjunct,
    "clauses_reordered": reorder_clauses,
    "synonym": exchange_words(SYNONYMS, both_ways=True),
    "number_format": reformat_number,
    "date_format": reformat_date,
    "abbreviation": exchange_words(ABBREVIATED),
}
FALSE: Mapping[str, Kind] = {
    "number_altered": alter_digit,
    "number_borrowed": borrow_number,
    "number_word": change_number_word,
    "number_swapped": swap_numbers,
    "number_scaled": scale_number,
    "unit": change_unit,
    "date": change_date,
    "code": change_code,
    "entity": change_entity,
    "roles": swap_names,
    "not_inserted": insert_not,
    "not_removed": remove_negation,
    "no_inserted": insert_no,
    "antonym": exchange_words(ANTONYMS, both_ways=True),
    "prefixed": exchange_words(PREFIXED, both_ways=True),
    "quantifier": exchange_words(QUANTIFIERS, both_ways=True),
    "modality": exchange_words(MODALITY),
    "conflated": conflate_sentences,
    "cross_document": repeat_sentence,
}
