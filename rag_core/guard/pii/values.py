"""Patterns of personal data with a fixed format, each with its validator and the words required around it.

No part of a pattern is unbounded, and none can match in two ways, so matching takes linear time. They are applied to a
text of the same length with typographic signs replaced (`TYPOGRAPHY_TO_ASCII`), so that a dash or space hides nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from rag_core.core.model import PiiSpan
from rag_core.guard.pii import checks

BEFORE, AFTER = 48, 24  # characters around a value that are searched for its cue


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern of personal data, with the conditions on its value and the text around it.

    `score`, 0..1, is the certainty of a match. `required_before` must match up to the value and `excluded_before` must
    not; `required_after` must match right after it, `required_near` somewhere around it.
    """

    type: str
    score: float
    pattern: re.Pattern[str]
    valid: Callable[[str], bool] = bool
    before: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    after: re.Pattern[str] | None = None
    near: re.Pattern[str] | None = None

    def spans(self, text: str) -> Iterator[PiiSpan]:
        for match in self.pattern.finditer(text):
            if self._in_place(text, *match.span()) and self.valid(match[0]):
                yield PiiSpan(*match.span(), self.type, self.score)

    def _in_place(self, text: str, start: int, end: int) -> bool:
        first = max(0, start - BEFORE)
        return (
            not (self.unless and self.unless.search(text, first, start))
            and not (self.before and not self.before.search(text, first, start))
            and not (self.after and not self.after.match(text, end))
            and not (self.near and not self.near.search(text, first, end + AFTER))
        )


def _cue(words: str) -> re.Pattern[str]:
    """Compile a pattern of words right before a value, at most three filler words between: "MRN number is: "."""
    lead = r"(?:\W{0,3}\b(?:number|num|nr|no|id|is|was|of|on|at|it'?s|the)\b){0,3}"
    return re.compile(rf"(?i)\b(?:{words}){lead}\W{{0,4}}\Z")


MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
DAY = r"\d{1,2}(?:st|nd|rd|th)?"
DATE = re.compile(
    r"(?i)(?<![\w./-])(?:\d{4}([-/.])\d{1,2}\1\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?"
    r"|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})"
    rf"|{DAY} (?:of )?{MONTH}\.?,? \d{{4}}|{MONTH}\.? {DAY},? \d{{4}})(?![\w/-])"
)
IBAN_LENGTHS = {  # letters and digits after the first four, by country (SWIFT IBAN registry, release 99)
    11: "NO",
    12: "BE",
    14: "DK FI FK FO GL NL SD",
    15: "MK SI",
    16: "AT BA EE KZ LT LU MN XK",
    17: "CH CR HR LI LV",
    18: "BG BH DE GB GE IE ME RS SO VA",
    19: "AE GI IL IQ OM TL",
    20: "AD CZ ES MD PK RO SA SE SK TN VG",
    21: "LY PT ST",
    22: "IS TR",
    23: "BI DJ FR GR IT MC MR SM",
    24: "AL AZ BY CY DO GT HU LB NI PL SV",
    25: "BR EG PS QA UA",
    26: "JO KW MU YE",
    27: "MT SC",
    28: "LC",
    29: "RU",
}
IBAN = "|".join(
    rf"(?:{'|'.join(countries.split())})\d\d(?:[ -]?[A-Z0-9]){{{length}}}" for length, countries in IBAN_LENGTHS.items()
)
EXTENSION = r"(?: ?(?:x|ext\.?) ?\d{1,6})?(?!\w)"
HOST = r"(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}"
CARD = re.compile(
    r"(?<![\w.])(?<![0-9a-f]{4}-)(?:\d{14,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{4,5})(?!\w|\.\d)"
)
ARTICLE = "part|serial|order|sku|model|invoice|tracking|imei|isbn|ean|upc|item|ticket|case|build|version"
NUMBERED = _cue(ARTICLE)
COUNTED = _cue(rf"{ARTICLE}|suite|apt|apartment|unit|flat|room|eur|usd|gbp")
NOT_MEASURED = re.compile(  # not followed by a street, a unit or a currency
    r"(?i)(?! (?:[\w.']{1,24} ){0,3}(?:street|avenue|road|boulevard|lane|rue|calle|rua)\b)"
    r"(?! ?(?:[€£$%]|(?:eur|usd|gbp|euros?|dollars|pounds|bytes|people|rows)\b))"
)
PHONE_WORDS = (
    r"(?:tele)?phones?|tel|mobile|fax|whats ?app|sms|cell(?: ?phone|:| no| number)|desk:|office:|home:|work:"
    r"|contact (?:number|no)|(?:call|text|reach|ring|phone|dial)(?: me| us| him| her| them)?(?: back)?(?: at| on)"
)
SHORT_CARD = re.compile(r"(?<![\w.-])\d{12,19}(?![\w-]|\.\d)")  # needs a cue: an article may have as many
CARD_WORDS = re.compile(
    r"(?i)\b(?:cards?|visa|maestro|master ?card|amex|jcb|credit|debit|pay|paid|payments?|charged?|billing|billed|bank"
    r"|withdraw|accounts?|purchases?|transactions?|cvv|cvc|expir(?:y|es|ed))\b"
)
LOOSE_PHONE = r"(?<![\w+.-])\+?\(?\d(?:[ .()/-]{0,2}\d){6,14}"
ALONE = r"(?<![\w+./:,$€£-])(?<![\d,$€£] )"  # not within a longer number, nor a sum of money
NO_MORE = rf"(?![%/:-]|[ .,]\d){EXTENSION}"
NATIONAL = re.compile(
    rf"{ALONE}(?:\(\d{{2,4}}\) ?)?\d{{2,5}}(?:(?:[ -]\d{{2,8}}){{1,4}}|(?:\.\d{{2,8}}){{2,4}}){NO_MORE}"
)
# regions without a trunk prefix; elsewhere a number begins with 0, which a pattern below finds
REGIONS = ("US", "MX", "ES", "PT", "IT", "PL", "CZ", "GR", "DK", "NO", "SG", "HK")
TALK = re.compile(
    r"(?i)\b(?:(?:tele)?phones?|call(?:s|ed|ing)?|contact|reach|dial(?:ed)?|text(?:ed)?|mobile|cell|tel|fax|hotline|sms"
    r"|helpline|whats ?app|voicemail|(?:my|your|his|her|their|our|new) (?:\w{1,12} )?number)\b"
)
STREET = (
    "Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Way|Terrace|Highway|Hwy|Parkway"
    "|Pkwy|Crescent|Mews"
)
STATE = (
    "A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY]"
)

SHAPES = (
    Shape("LOGIN_URL", 1.0, re.compile(r"\b[A-Za-z][a-z0-9+.-]{1,15}://[^\s/@?#]{1,128}@[^\s<>\"')\]]{1,256}")),
    Shape("EMAIL", 1.0, re.compile(rf"(?<!\w)\w[\w.+%'-]{{0,63}}+@{HOST}(?![\w-])")),
    Shape("IBAN", 1.0, re.compile(rf"(?i)(?<![^\W_])(?:{IBAN})(?![^\W_])"), checks.iban),
    Shape("CREDIT_CARD", 0.95, CARD, checks.card, unless=NUMBERED),
    Shape("CREDIT_CARD", 0.95, SHORT_CARD, checks.luhn, near=CARD_WORDS, unless=NUMBERED),
    Shape("SSN", 0.9, re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"), checks.ssn, unless=NUMBERED),
    Shape(
        "SSN",
        0.95,
        re.compile(r"(?<![\w-])\d{3}[ .-]?\d{2}[ .-]?\d{4}(?![\w-])"),
        checks.ssn,
        before=_cue(r"ssns?|s\.s\.n\.|social(?: security)?"),
    ),
    Shape(
        "IP",
        0.9,
        re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)"),
        checks.ipv4,
        unless=re.compile(r"(?i)\b(?:v|ver|version|release|build|section|chapter|clause|sec)\.? ?\Z"),
    ),
    Shape(
        "IP",
        0.9,
        re.compile(r"(?<![\w.-])(?:\d\.){3}\d(?![\w-]|\.\d)"),
        checks.ipv4_short,
        before=_cue(r"ip(?:v4)?(?: address)?|dns|host|ping|gateway"),
    ),
    Shape("IP", 0.95, re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:]|\.\d)"), checks.ipv6),
    Shape(
        "PHONE",
        0.9,
        re.compile(rf"(?<![\w+.])\+[1-9](?:[ .-]?(?:\(\d{{1,4}}\)|\d)){{6,14}}{EXTENSION}"),
        checks.phone,
    ),
    Shape(
        "PHONE",
        0.8,
        re.compile(rf"(?<![\w+.-])00[ -]?[1-9]\d{{0,2}}(?:[ .-]\d{{2,5}}){{2,5}}{EXTENSION}"),
        checks.phone,
        unless=NUMBERED,
    ),
    Shape(
        "PHONE",
        0.8,
        re.compile(
            rf"(?<![\w+./-])(?:1[ .-])?"
            rf"(?:\([2-9]\d\d\) ?[2-9]\d\d[ .-]\d{{4}}|[2-9]\d\d([.-])[2-9]\d\d\1\d{{4}}){EXTENSION}"
        ),
        checks.phone,
        unless=NUMBERED,
    ),
    Shape(
        "PHONE",
        0.85,
        re.compile(LOOSE_PHONE + EXTENSION),
        checks.phone,
        before=_cue(PHONE_WORDS),
    ),
    Shape(
        "PHONE",
        0.85,
        re.compile(LOOSE_PHONE),
        checks.phone,
        after=re.compile(r"(?i) ?[-(] ?(?:office|fax|mobile|home|work|cell)\b"),
    ),
    Shape("PHONE", 0.6, re.compile(LOOSE_PHONE + EXTENSION), checks.phone, near=TALK, unless=NUMBERED),
    Shape(
        "PHONE",
        0.6,
        re.compile(  # national format: area code in parentheses, or a leading zero
            rf"(?<![\w+./-])(?:\(0?\d{{2,3}}\) ?\d{{3,4}}[ -]\d{{3,4}}"
            rf"|0\d{{2,4}}(?: \d{{2,4}}){{2,4}}|0\d{{2,4}} \d{{6,8}}|0\d(?:\.\d\d){{4}}|\d\d(?:-\d\d){{3}}){EXTENSION}"
        ),
        checks.phone,
        unless=NUMBERED,
    ),
    Shape(
        "PHONE",
        0.5,
        re.compile(rf"(?<![\w+./-])(?<!\d )\d{{2,3}}(?: \d{{2,4}}){{1,3}}(?! \d){EXTENSION}"),
        checks.uneven,
        unless=COUNTED,
        after=NOT_MEASURED,
    ),
    Shape(
        "PHONE",
        0.5,
        re.compile(rf"{ALONE}[2-9]\d{{9}}{NO_MORE}"),
        partial(checks.dialled, regions=("US",)),  # in other regions nearly any ten digits are an assigned number
        unless=COUNTED,
        after=NOT_MEASURED,
    ),
    Shape(
        "MRN",
        0.9,
        re.compile(r"(?<![\w-])[A-Za-z]{0,4}-?\d{4,12}(?![\w-])"),
        before=_cue(r"mrn|medical record|(?:patient|hospital|chart)(?= (?:id|number|no)\b)|nhs|health card"),
    ),
    Shape(
        "DRIVER_LICENSE",
        0.85,
        re.compile(r"(?<![\w-])[A-Za-z]{0,2}\d[\d-]{4,15}\d(?![\w-])"),
        before=_cue(r"driv(?:er'?s?'?|ing) licen[cs]e|dl(?= ?(?:number|no\b|#))"),
    ),
    Shape("DOB", 0.95, DATE, checks.date, before=_cue(r"d\.?o\.?b\.?|date of birth|birth ?date|birthday|born")),
    Shape("DATE", 0.6, DATE, checks.date),
    Shape("URL", 0.6, re.compile(rf"(?i)\b(?:https?://|www\.){HOST}(?::\d{{1,5}})?(?:[/?#][^\s<>\"')\]]{{0,512}})?")),
    Shape(
        "ADDRESS",
        0.7,
        re.compile(
            rf"(?<![\w.])\d{{2,6}}[A-Za-z]? (?:[NSEW]\.? )?(?:[A-Z][a-z'-]{{1,24}} ){{1,3}}(?:{STREET})\b\.?"
            rf"(?:,? (?:Apt|Suite|Unit|Apartment)\.? ?#?\w{{1,6}})?"
            rf"(?:,? [A-Z][a-z'-]{{1,24}}(?: [A-Z][a-z'-]{{1,24}})?,? (?:{STATE}) \d{{5}}(?:-\d{{4}})?)?"
        ),
    ),
    Shape("ADDRESS", 0.7, re.compile(r"(?i)\bP\.? ?O\.? ?Box \d{1,6}\b")),
)


def national(regions: Iterable[str]) -> Shape:
    """Return the pattern of a telephone number in the national format of the regions, found without a cue."""
    valid = partial(checks.dialled, regions=regions)
    return Shape("PHONE", 0.5, NATIONAL, valid, unless=COUNTED, after=NOT_MEASURED)
