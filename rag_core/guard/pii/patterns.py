"""Patterns of personal data with a fixed format, each with its validator and the words required around it.

No part of a pattern is unbounded, and none can match in two ways, so matching takes linear time. They are applied to a
text of the same length with typographic signs replaced (`TYPOGRAPHY_TO_ASCII`), so that a dash or space hides nothing.
"""

import bisect
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

from rag_core.core.model import PiiSpan
from rag_core.guard.pii import national_ids, validators
from rag_core.guard.pii.dates import DATE, is_date

CUE_CHARS_BEFORE, CUE_CHARS_AFTER = 48, 24  # characters around a value that are searched for its cue
MAX_SIGNS_AFTER_CUE = 6  # four of `_compile_cue`, and those with which a cue ends, as in "desk:"
LONG_NUMBER = re.compile(r"\d(?:[ .()/+-]{0,3}\d){6}")
LONG_NUMBER_TYPES = frozenset({"CREDIT_CARD", "PHONE", "SSN"})  # a text without such a number has none of these


@dataclass(frozen=True, slots=True)
class PiiPattern:
    """A pattern of personal data, with the conditions on its value and the text around it.

    `score`, 0..1, is the certainty of a match. `required_before` must match up to the value and `excluded_before` must
    not; `required_after` must match right after it, the group of `required_near` somewhere around it. A text without
    each of the `signs` has no match.
    """

    type: str
    score: float
    pattern: re.Pattern[str]
    is_valid: Callable[[str], bool] = bool
    required_before: re.Pattern[str] | None = None
    excluded_before: re.Pattern[str] | None = None
    required_after: re.Pattern[str] | None = None
    required_near: re.Pattern[str] | None = None
    signs: str = ""

    def find_spans(self, text: str, hidden: Sequence[tuple[int, int]] = ()) -> Iterator[PiiSpan]:
        """Yield the matches that are not altogether in one of the `hidden` ranges, which are in order."""
        near: list[tuple[int, int]] | None = None
        for match in self.pattern.finditer(text):
            start, end = match.span()
            at = bisect.bisect_right(hidden, start, key=itemgetter(0)) - 1
            if at >= 0 and end <= hidden[at][1]:
                continue
            if self.required_near:
                near = near if near is not None else [cue.span(1) for cue in self.required_near.finditer(text)]
                if not _is_any_near(near, start, end):
                    continue
            if self._has_context(text, start, end) and self.is_valid(match[0]):
                yield PiiSpan(start, end, self.type, self.score)

    def _has_context(self, text: str, start: int, end: int) -> bool:
        first = max(0, start - CUE_CHARS_BEFORE)
        after_word = (self.excluded_before or self.required_before) and _follows_word(text, start)
        return (
            not (self.required_after and not self.required_after.match(text, end))
            and not (self.required_before and not (after_word and self.required_before.search(text, first, start)))
            and not (self.excluded_before and after_word and self.excluded_before.search(text, first, start))
        )


def _is_any_near(cues: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Return whether one of the cues, in order, lies in what is searched around a value."""
    first = bisect.bisect_left(cues, start - CUE_CHARS_BEFORE, key=itemgetter(0))
    nearby = itertools.takewhile(lambda cue: cue[0] < end + CUE_CHARS_AFTER, itertools.islice(cues, first, None))
    return any(cue_end <= end + CUE_CHARS_AFTER for _, cue_end in nearby)


def _follows_word(text: str, start: int) -> bool:
    """Return whether a word is before a place in a text, with a few signs at most between: no cue can be elsewhere."""
    for at in range(start - 1, max(-1, start - MAX_SIGNS_AFTER_CUE - 2), -1):
        if text[at].isalnum():
            # the last sign of a cue may be a digit, as in "ipv4"
            return text[at].isalpha() or text[at - 1 : at].isalpha()
    return False


def _compile_cue(words: str) -> re.Pattern[str]:
    """Compile a pattern of words right before a value, at most three filler words between: "MRN number is: "."""
    lead = r"(?:\W{0,3}\b(?:number|num|nr|no|id|is|was|of|on|at|it'?s|the)\b){0,3}"
    return re.compile(rf"(?i)\b(?:{words}){lead}\W{{0,4}}\Z")


BBAN_LENGTHS = {  # letters and digits after the first four, by country (SWIFT IBAN registry, release 99)
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
    rf"(?:{'|'.join(countries.split())})\d\d(?:[ -]?[A-Z0-9]){{{length}}}" for length, countries in BBAN_LENGTHS.items()
)
PHONE_EXTENSION = r"(?: ?(?:x|ext\.?) ?\d{1,6})?(?!\w)"
HOST_NAME = r"(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}"
CARD_NUMBER = re.compile(
    r"(?<![\w.])(?<![0-9a-f]{4}-)"
    r"(?:\d{14,19}|\d{4}([ ./-]| {2,3}| [./-] )\d{4}\1\d{4}\1\d{3,4}|\d{4}([ -])\d{6}\2\d{4,5})(?!\w|\.\d| \d{3})"
)
ARTICLE_WORDS = (
    r"part|serial|order|sku|model|invoice|tracking|imei|isbn|ean|upc|item|ticket|case|build|version|artikel(?:nummer)?"
    r"|\w{0,12}teile?(?:nummer)?|(?:material|katalog|sach|typ|bestell|auftrags)(?:nummer|nr)?|rechnung|réf(?:érence)?"
    "|commande|facture|pièce|lot|pedido|ref(?:erencia)?|pieza|factura"
    "|ordine|articolo|fattura|ordernummer|onderdeel|zamówienie|część|faktura|peça|fatura|nota fiscal|ärende"
    "|diarienummer|batch"
)
ARTICLE_CUE = _compile_cue(ARTICLE_WORDS)
COUNT_CUE = _compile_cue(rf"{ARTICLE_WORDS}|suite|apt|apartment|unit|flat|room|eur|usd|gbp")
NO_STREET_OR_SUM = re.compile(  # not followed by a street, a unit or a currency
    r"(?i)(?! (?:[\w.']{1,24} ){0,3}(?:street|avenue|road|boulevard|lane|rue|calle|rua)\b)"
    r"(?! ?(?:[€£$%]|(?:eur|usd|gbp|euros?|dollars|pounds|bytes|people|rows)\b))"
)
PHONE_WORDS = (
    r"(?:tele)?phones?|tel|mobile|fax|whats ?app|sms|cell(?: ?phone|:| no| number)|desk:|office:|home:|work:"
    r"|contact (?:number|no)|(?:call|text|reach|ring|phone|dial)(?: me| us| him| her| them)?(?: back)?(?: at| on)"
)
UNGROUPED_CARD_NUMBER = re.compile(
    r"(?<![\w.-])(?:\d{12,19}|\d{4}(?:[ -]\d{4}){3})(?![\w-]|\.\d)"
)  # needs a cue: an article may have as many
CARD_CUE = re.compile(  # at each place, since one may begin within another
    r"(?i)(?=(\b(?:cards?|visa|maestro|master ?card|amex|jcb|credit|debit|pay|paid|payments?|charged?|billing|billed"
    r"|bank|withdraw|accounts?|purchases?|transactions?|cvv|cvc|expir(?:y|es|ed)|karten?|kreditkarten?|kartennummer|cartes?"
    r"|bancaire|tarjetas?|carta|kaart|creditcard|kart[ay]|cartão|elo|rupay|kort|kreditkort)\b|カード|कार्ड))"
)
LOOSE_PHONE = r"(?<![\w+.-])\+?\(?\d(?:[ .()/-]{0,2}\d){6,14}"
STANDALONE_START = r"(?<![\w+./:,$€£-])(?<![\d,$€£] )"  # not within a longer number, nor a sum of money
STANDALONE_END = rf"(?![%/:-]|[ .,]\d){PHONE_EXTENSION}"
NATIONAL_PHONE = re.compile(
    rf"{STANDALONE_START}(?:\(\d{{2,4}}\) ?)?\d{{2,5}}"
    rf"(?:(?:[ -]\d{{2,8}}){{1,4}}|(?:\.\d{{2,8}}){{2,4}}){STANDALONE_END}"
)
# regions without a trunk prefix; elsewhere a number begins with 0, which a pattern below finds
PHONE_REGIONS = ("US", "MX", "ES", "PT", "IT", "PL", "CZ", "GR", "DK", "NO", "SG", "HK")
PHONE_CUE = re.compile(
    r"(?i)(?=(\b(?:(?:tele)?phones?|call(?:s|ed|ing)?|contact|reach|dial(?:ed)?|text(?:ed)?|mobile|cell|tel|fax|hotline|sms"
    r"|helpline|whats ?app|voicemail|(?:my|your|his|her|their|our|new) (?:\w{1,12} )?number)\b))"
)

VERSION_CUE = re.compile(r"(?i)\b(?:v|ver|version|release|build|firmware|section|chapter|clause|sec)\.? ?\Z")
VERSION_WORD = re.compile(
    r"(?i)\b(?:ver|versions?|versión|versione|versão|wersj[aię]|versie|releases?|build|patch|firmware|up(?:date|grade))\b"
    rf"|{VERSION_CUE.pattern[4:]}"
)

PII_PATTERNS = (
    PiiPattern(
        "LOGIN_URL",
        1.0,
        re.compile(r"\b[A-Za-z][a-z0-9+.-]{1,15}://[^\s/@?#]{1,128}@[^\s<>\"')\]]{1,256}"),
        signs="@:/",
    ),
    PiiPattern("EMAIL", 1.0, re.compile(rf"(?<!\w)\w[\w.+%'-]{{0,63}}+@{HOST_NAME}(?![\w-])"), signs="@"),
    PiiPattern("IBAN", 1.0, re.compile(rf"(?i)(?<![^\W_])(?=[A-Z]{{2}}\d\d)(?:{IBAN})(?![^\W_])"), validators.is_iban),
    PiiPattern(  # a Polish account without its country
        "IBAN",
        0.95,
        re.compile(r"(?<![\w-])\d\d(?:[ -]?\d{4}){6}(?![\w-])"),
        validators.is_polish_account,
    ),
    PiiPattern("CREDIT_CARD", 0.95, CARD_NUMBER, validators.is_card_number, excluded_before=ARTICLE_CUE),
    PiiPattern(
        "CREDIT_CARD",
        0.95,
        UNGROUPED_CARD_NUMBER,
        validators.has_luhn_check_digit,
        required_near=CARD_CUE,
        excluded_before=ARTICLE_CUE,
    ),
    PiiPattern(
        "SSN",
        0.9,
        re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"),
        validators.is_ssn,
        excluded_before=ARTICLE_CUE,
        signs="-",
    ),
    PiiPattern(
        "SSN",
        0.95,
        re.compile(r"(?<![\w-])\d{3}[ .-]?\d{2}[ .-]?\d{4}(?![\w-])"),
        validators.is_ssn,
        required_before=_compile_cue(r"ssns?|s\.s\.n\.|social(?: security)?"),
    ),
    PiiPattern(
        "IP",
        0.9,
        re.compile(r"(?<![\w.-])(?=\d\d)(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)"),
        validators.is_ipv4_address,
        excluded_before=VERSION_CUE,
        signs=".",
    ),
    PiiPattern(  # so begin few addresses, and versions as well
        "IP",
        0.9,
        re.compile(r"(?<![\w.-])\d\.(?:\d{1,3}\.){2}\d{1,3}(?![\w-]|\.\d)"),
        validators.is_ipv4_address,
        excluded_before=VERSION_WORD,
        signs=".",
    ),
    PiiPattern(
        "IP",
        0.9,
        re.compile(r"(?<![\w.-])(?:\d\.){3}\d(?![\w-]|\.\d)"),
        validators.is_short_ipv4_address,
        required_before=_compile_cue(r"ip(?:v4)?(?: address)?|dns|host|ping|gateway"),
        signs=".",
    ),
    PiiPattern(
        "IP",
        0.95,
        re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:]|\.\d)"),
        validators.is_ipv6_address,
        signs=":",
    ),
    PiiPattern(
        "PHONE",
        0.9,
        re.compile(rf"(?<![\w+.])\+{{1,2}}[1-9](?: ?[./-]? ?(?:\(\d{{1,4}}\)|\d)){{6,14}}{PHONE_EXTENSION}"),
        validators.is_phone_number,
        signs="+",
    ),
    PiiPattern(
        "PHONE",
        0.8,
        re.compile(rf"(?<![\w+.-])00[ -]?[1-9]\d{{0,2}}(?:[ .-]\d{{2,5}}){{2,5}}{PHONE_EXTENSION}"),
        validators.is_phone_number,
        excluded_before=ARTICLE_CUE,
    ),
    PiiPattern(
        "PHONE",
        0.8,
        re.compile(
            rf"(?<![\w+./-])(?:1[ .-])?"
            rf"(?:\([2-9]\d\d\) ?[2-9]\d\d[ .-]\d{{4}}|[2-9]\d\d([.-])[2-9]\d\d\1\d{{4}}){PHONE_EXTENSION}"
        ),
        validators.is_phone_number,
        excluded_before=ARTICLE_CUE,
    ),
    PiiPattern(
        "PHONE",
        0.85,
        re.compile(LOOSE_PHONE + PHONE_EXTENSION),
        validators.is_phone_number,
        required_before=_compile_cue(PHONE_WORDS),
    ),
    PiiPattern(
        "PHONE",
        0.85,
        re.compile(LOOSE_PHONE),
        validators.is_phone_number,
        required_after=re.compile(r"(?i) ?[-(] ?(?:office|fax|mobile|home|work|cell)\b"),
    ),
    PiiPattern(
        "PHONE",
        0.6,
        re.compile(LOOSE_PHONE + PHONE_EXTENSION),
        validators.is_phone_number,
        required_near=PHONE_CUE,
        excluded_before=ARTICLE_CUE,
    ),
    PiiPattern(
        "PHONE",
        0.6,
        re.compile(  # national format: area code in parentheses, or a leading zero
            rf"(?<![\w+./-])(?:\(0?\d{{2,3}}\) ?\d{{3,4}}[ -]\d{{3,4}}"
            rf"|(?!(?<=\d )0\d\d(?: \d{{3}}){{2,4}}(?![ \d]))0\d{{2,4}}(?: \d{{2,4}}){{2,4}}"
            rf"|0\d{{2,4}} \d{{6,8}}|0\d(?:\.\d\d){{4}}|\d\d(?:-\d\d){{3}})"
            rf"{PHONE_EXTENSION}"
        ),
        validators.is_phone_number,
        excluded_before=ARTICLE_CUE,
        required_after=NO_STREET_OR_SUM,
    ),
    PiiPattern(
        "PHONE",
        0.5,
        re.compile(rf"(?<![\w+./-])(?<!\d[ ,])\d{{2,3}}(?: \d{{2,4}}){{1,3}}(?! \d){PHONE_EXTENSION}"),
        validators.is_unevenly_grouped_phone_number,
        excluded_before=COUNT_CUE,
        required_after=NO_STREET_OR_SUM,
    ),
    PiiPattern(
        "PHONE",
        0.5,
        re.compile(rf"{STANDALONE_START}[2-9]\d{{9}}{STANDALONE_END}"),
        partial(
            validators.is_assigned_phone_number, regions=("US",)
        ),  # in other regions nearly any ten digits are an assigned number
        excluded_before=COUNT_CUE,
        required_after=NO_STREET_OR_SUM,
    ),
    PiiPattern(
        "MRN",
        0.9,
        re.compile(r"(?<![\w-])[A-Za-z]{0,4}-?\d{4,12}(?![\w-])"),
        required_before=_compile_cue(
            r"mrn|medical record|(?:patient|hospital|chart)(?= (?:id|number|no)\b)|nhs|health card"
        ),
    ),
    PiiPattern(
        "DRIVER_LICENSE", 0.85, re.compile(r"(?<![\w-])[A-Z9]{5}\d[0156]\d[0-3]\d\d[A-Z9]{2}[A-Z\d]{3}(?![\w-])")
    ),
    PiiPattern("VIN", 0.95, re.compile(r"(?<![\w-])[A-HJ-NPR-Z0-9]{17}(?![\w-])"), national_ids.is_vin),
    PiiPattern("MAC", 1.0, re.compile(r"(?i)(?<![\w:-])[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}(?![\w:-])")),
    PiiPattern("MAC", 0.9, re.compile(r"(?i)(?<![\w.])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![\w.])"), signs="."),
    PiiPattern(
        "NATIONAL_ID",
        0.95,
        re.compile(r"(?<![\w-])[A-Z]{3} ?[A-Z]{3} ?\d\d ?[A-EHLMPR-T] ?\d\d ?[A-Z] ?\d{3} ?[A-Z](?![\w-])"),
        national_ids.is_codice_fiscale,
    ),
    PiiPattern(
        "NATIONAL_ID",
        0.95,
        re.compile(r"(?<![\w-])[12] ?\d\d ?\d\d ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d(?![\w-]| ?\d)"),
        national_ids.is_nir,
    ),
    PiiPattern(
        "NATIONAL_ID",
        0.95,
        re.compile(r"(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d\d(?![\w-])"),
        national_ids.is_cpf,
        signs=".-",
    ),
    PiiPattern("NATIONAL_ID", 0.9, re.compile(r"(?<![\w-])[XYZ][ -]?\d{7}[ -]?[A-Z](?![\w-])"), national_ids.is_nie),
    PiiPattern(
        "NATIONAL_ID",
        0.8,
        re.compile(r"(?<![\w/-])(?:19|20)?\d{6}[-+]\d{4}(?![\w-])"),
        national_ids.is_personnummer,
        excluded_before=ARTICLE_CUE,
    ),
    PiiPattern(
        "NATIONAL_ID",
        0.8,
        re.compile(r"(?<![\w-])(?![DFIQUV])[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] \d\d \d\d \d\d [A-D](?![\w-])"),
    ),
    PiiPattern(
        "NATIONAL_ID",
        0.85,
        re.compile(r"(?<![\w-])[A-Z]{3}P[A-Z]\d{4}[A-Z](?![\w-])"),
        excluded_before=ARTICLE_CUE,
    ),
    PiiPattern("DATE", 0.6, DATE, is_date),
    PiiPattern(
        "URL", 0.6, re.compile(rf"(?i)\b(?:https?://|www\.){HOST_NAME}(?::\d{{1,5}})?(?:[/?#][^\s<>\"')\]]{{0,512}})?")
    ),
)


TRUNK_PHONE = (
    PiiPattern(  # a national number with its trunk prefix or area code, for the countries that a text points to
        "PHONE",
        0.65,
        re.compile(rf"{STANDALONE_START}(?:\(?0\d|\d{{2}} ?9?\d{{4}}-)(?:[ ()/.-]{{0,2}}\d){{7,10}}{STANDALONE_END}"),
        validators.is_phone_number,
        excluded_before=COUNT_CUE,
    )
)


def list_possible_patterns(text: str, types: Collection[str]) -> list[PiiPattern]:
    """Return the patterns of the types that can match in a text, by what it has to hold for each."""
    has_long_number = LONG_NUMBER.search(text) is not None
    return [
        pattern
        for pattern in PII_PATTERNS
        if pattern.type in types
        and (has_long_number or pattern.type not in LONG_NUMBER_TYPES)
        and all(sign in text for sign in pattern.signs)
    ]


def build_national_phone_pattern(regions: Iterable[str]) -> PiiPattern:
    """Return the pattern of a telephone number in the national format of the regions, found without a cue."""
    valid = partial(validators.is_assigned_phone_number, regions=regions)
    return PiiPattern("PHONE", 0.5, NATIONAL_PHONE, valid, excluded_before=COUNT_CUE, required_after=NO_STREET_OR_SUM)
