"""Codes, discovered from the texts: E023 is one where E024 and E031 are written too, or where a word announces it.

The shape of a code is its letters with "#" for each run of digits, so the codes E023 and E1107 have the shape E#.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from rag_core.ingestion.entities.spans import EntitySpan, place_match
from rag_core.text.periods import is_period

MIN_VALUES_OF_SHAPE = 2  # distinct codes that make a shape one of codes

# SAE J2012: system, 0 to 3, three hexadecimal digits; the failure type of UDS may follow
_TROUBLE_CODE = re.compile(r"(?<![\w-])(?:[PBCU][0-3][0-9A-F]{3}|[pbcu][0-3][0-9]{3})(?:-[0-9A-F]{2})?(?![\w-])")
_CANDIDATE = re.compile(r"(?<![\w./@-])(?=[A-Z0-9./-]{0,12}\d)[A-Z0-9](?:[./-]?[A-Z0-9]){2,23}(?![\w@/-]|\.\w)")
_SPACED_PART_NUMBER = re.compile(  # 04E 906 016 AB
    r"(?<![\w-])(?=[0-9]{0,2}[A-Z])[0-9A-Z]{3}\s[0-9]{3}\s[0-9]{3}(?:\s[A-Z]{1,2})?(?![\w-])"
)
_STATES = (  # of the United States: CO 80202 is a postal code
    "AL|AK|AZ|AR|CA|CO|CT|DE|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR|PA"
    "|RI|SC|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY|DC"
)
_STANDARD = re.compile(  # ISO 9001, EN 60335-2-75, NFPA 13
    rf"(?!(?:{_STATES})\s\d{{5}}(?![\w-]))"
    r"(?<![\w-])(?!(?:FY|CY|USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|AM|PM|IN|OF|TO|NO|ON|AT|BY|FOR|AND|THE"
    r"|PAGE|TABLE|STEP|TEL|FAX|BOX|APT|LEVEL|PART|NOTE|ITEM|ROOM|PLUS|ID|USA|UK|JAN|FEB|MAR|APR|MAY|JUN|JUNE|JUL|JULY|AUG|SEP|SEPT|OCT|NOV|DEC)\s)"
    r"((?:[A-Z]{2,6}|VdS)\s(?!(?:19|20)\d\d(?![\w.-]))\d{1,6}(?:[.-]\d{1,4}){0,3})(?![\w%°€£]|[.,-]\w|\s(?:%|\d))"
)
_ANNOUNCED = re.compile(
    r"(?i:\b(?:order|invoice|ticket|case|claim|contract|document|doc|part|serial|model|article|item|reference|ref|error|fault"
    r"|alarm|code|form|policy|account|batch|lot|permit|patent|drawing|report|leaflet|guideline|standard)"
    r"(?:\s(?:number|no\.?|nr\.?|code|id))?:?\s#?)"
    r"((?=[A-Z0-9./-]{0,12}\d)(?=[\d./-]{0,12}[A-Z])[A-Z0-9](?:[./-]?[A-Z0-9]){1,23})(?![\w/-]|\.\w)"
)
_DIGITS = re.compile(r"\d+")
_PREFIXED_NUMBER = re.compile(r"[A-Z]{2,5}-\d{2,8}(?:-[A-Z0-9]{1,4}){0,2}")  # INV-88213
_NOT_CODES = re.compile(  # numbers, dates, shares, measures, words with a number and identifiers of machines
    r"[\d./-]{1,24}|[\d.]{1,24}[A-Z]{1,3}|(?:19|20)\d\d-.{1,20}|[A-Z]{7,24}.{0,20}|(?:[0-9A-F]{4,12}-){2,4}[0-9A-F]{1,12}"
    r"|[A-Z]|\d{1,24}(?:ST|ND|RD|TH)|(?:COVID|UTF|SHA|HTTP|MP|WW|MI|G|A|B|C|H|Q|K)-?\d{1,2}"
    r"|(?:COVID|CVE|CWE|RFC)-.{1,20}"
)


def find_code_spans(text: str, shapes: frozenset[str]) -> Iterator[EntitySpan]:
    """Yield the codes of a text: trouble codes of cars as "dtc", all others as "code"."""
    yield from (
        EntitySpan(match.start(), match.end(), "dtc", match[0].upper()) for match in _TROUBLE_CODE.finditer(text)
    )
    for match in _CANDIDATE.finditer(text):
        if not _NOT_CODES.fullmatch(match[0]) and (
            name_shape(match[0]) in shapes or _PREFIXED_NUMBER.fullmatch(match[0])
        ):
            yield place_match(match, "code", 1)
    yield from (place_match(match, "code", 2) for match in _SPACED_PART_NUMBER.finditer(text))
    yield from (place_match(match, "code", 2, 1) for match in _STANDARD.finditer(text))
    for match in _ANNOUNCED.finditer(text):
        if not is_period(match[1]):
            yield place_match(match, "code", 2, 1)


def name_code(value: str) -> tuple[str, str]:
    """Return the type and the usual spelling of what is known to be a code."""
    return ("dtc", value.upper()) if _TROUBLE_CODE.fullmatch(value) else ("code", value)


def discover_shapes(texts: Iterable[str], known_codes: Iterable[str] = ()) -> frozenset[str]:
    """Return the shapes of which the texts have several values; a code that is known from other texts counts too."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    for code in known_codes:
        values[name_shape(code)].add(code)
    for text in texts:
        for match in _CANDIDATE.finditer(text):
            if not _NOT_CODES.fullmatch(match[0]) and not is_period(match[0]):
                values[name_shape(match[0])].add(match[0])
    return frozenset(shape for shape, codes in values.items() if len(codes) >= MIN_VALUES_OF_SHAPE)


def name_shape(code: str) -> str:
    """Return the shape of a code, such as E# of E023."""
    return _DIGITS.sub("#", code)
