"""Organizations, places, products and persons, by the form of their names and the words beside them.

Nothing is found that only begins with capitals: a heading does, too. Time is linear in the text.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag_core.ingestion.entities.spans import EntitySpan
from rag_core.text import person_names
from rag_core.text.person_names import UPPERCASE
from rag_core.text.places import load_places
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS, parse_word_list

MAX_NAME_WORDS = 9
MAX_PLACE_WORDS = 4
_JOINED_LINE_CHARS = 50  # a name goes on in the next line only after a line of prose

_TOKEN = re.compile(r"(?:St|Mt|Ft)\.(?=\s[^\W\d_])|(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’&.-][^\W_]+)*|\n|[^\w\s]")
_LOWER_CASE_WORD = re.compile(r"(?<![^\W_])[a-z]{3,}(?![^\W_])")
_UPPER_FIRST = re.compile(rf"[{UPPERCASE}]")
_OPENING_WORDS = frozenset(["The", "In", "From", "To", "At", "Outside"])  # of a sentence, before a place
_LEGAL_FORM = re.compile(
    r",?\s(?:Inc|LLC|L\.L\.C|Ltd|Limited|PLC|plc|GmbH(?:\s&\sCo\.?\sKG)?|AG|KG|SE|S\.?p\.?A|S\.A|S\.r\.l|B\.V|BV|N\.V|NV|A/S|ApS"
    r"|AB|ASA|Oyj?|LLP|N\.A|Corp|Corporation|Co|Pty\sLtd|Pte\sLtd|KK|Sp\.\sz\so\.o|d\.o\.o|Sàrl|SAS|SARL)(?![\w/])\.?"
)
_WHOLE_FORMS = parse_word_list("Corporation Limited LLC LLP GmbH AG PLC plc KG SE AB ASA Oy Oyj BV NV SAS SARL")
_HEADS = parse_word_list(  # that an organization's name ends in
    """university institute bank hospital ministry agency administration authority commission association society
    foundation council museum college clinic federation consortium bureau electronics industries holdings
    insurance organization organisation airlines airways motors pharmaceuticals laboratories logistics bancorp
    archives academy parliament"""
)
_HEADS_WITH_OBJECT = parse_word_list(
    "university institute society association department bureau administration commission"
)
_WEAK_HEADS = parse_word_list("service department office group committee technologies")
_ALL_HEADS = _HEADS | _WEAK_HEADS | _HEADS_WITH_OBJECT | parse_word_list("center centre republic church federation")
_LEADING_HEADS = re.compile(  # that begin it: Bank of Scotland
    r"(?:university|bank|ministry|institute|department|bureau|society|association|office|council|federation|college|academy"
    r"|church|republic)\s(?:of|for|on)\s",
    re.IGNORECASE,
)
_COMMON_MODIFIERS = parse_word_list(  # with a weak head, a part of any firm: the Sales Department
    """customer sales human resources emergency research development product general annual executive working
    national local lead business health safety medicines legal quality marketing support technical audit
    finance operations front back head main post home box ticket microsoft security information operating
    control management steering"""
)
_CONNECTORS = parse_word_list("of for and & the de la del des du von van der den y e")
_BY_MAKERS = re.compile(
    r"\b(?:built|made|manufactured|supplied|produced|operated|owned|insured|distributed|sold|delivered|founded|acquired)"
    r"\sby\s(?:the\s)?$"
)
_BEFORE_PLACE = re.compile(r"\b(?:in|near|via|outside|reach)\s$", re.IGNORECASE)
_CAMEL_CASE = re.compile(r"(?!Mc|Mac|De[A-Z]|La[A-Z]|Van|Di[A-Z]|Le[A-Z])[A-Z][a-z]+[A-Z][a-z]+")
_CAMEL_CASE_PART = re.compile(r"[A-Z][a-z]+")
_MODEL_NUMBER = re.compile(r"(?!(?:19|20)\d\d$)\d{1,4}|(?=[A-Z]{0,3}\d)[A-Z]{1,3}\d{1,4}[A-Z]?|\d{1,4}[A-Z]")
_WITHIN_ADDRESS = frozenset("/.@#=_`&-")  # that stand before or behind a part of an address or of a program
_SERIES = parse_word_list("series suite")
_LABELS = parse_word_list(  # that stand before a number and name no product
    """layer page pages step steps level levels table tables figure figures fig section sections chapter chapters ward
    lift room phase part parts item items note notes version volume stage group class type category appendix
    annex article articles form grade line unit block floor gate zone team day week month year option rule
    clause schedule exhibit building bowl war question answer example equation chart box case title division
    region district route highway street road avenue apt suite tier channel port slot station track bay dock
    terminal court order model number no nos issue edition revision release release's rev update lesson module
    task exercise problem act amendment resolution proposal top under over about only all some these those
    between within per plus minus least most than approximately exactly january february march april may june
    july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec monday
    tuesday wednesday thursday friday saturday sunday spring summer autumn winter quarter fiscal fy age aged row
    column cell lines field fields size pm am usd eur gbp chf dkk"""
)
_BEFORE_PART = re.compile(
    r"\b(?:San|Los|Las|Santa|Saint|St\.|Fort|New|Mount)\s$"
)  # of a name that goes on: San Luis Obispo
_SIGNATURE = re.compile(
    r"(?m)^(?:>\s)?(?:From|To|Cc|Bcc|Author|Sender|Recipient|Prepared by|Contact):[ \t]"
    rf"{person_names.FULL_PERSON_NAME}(?=[ \t]*(?:<|$))"
)
_ACRONYM_IN_BRACKETS = re.compile(r"\s\((?:the\s)?[\"“]?([A-Z][A-Z&]{1,7})s?[\"”]?\)")


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def is_capitalized(self) -> bool:
        return bool(_UPPER_FIRST.match(self.text))


@dataclass(frozen=True, slots=True)
class NameBook:
    """What the texts of a document establish: names by their type, and what each text shows by itself."""

    types: dict[str, str]
    shown: dict[str, list[EntitySpan]]


def collect_names(texts: Sequence[str]) -> NameBook:
    """Return what each text shows, and the organizations and products that some place in the texts shows to be such."""
    lower = frozenset(word for text in texts for word in _LOWER_CASE_WORD.findall(text))
    shown = {text: list(_find_shown_names(text, lower)) for text in dict.fromkeys(texts)}
    found = Counter((span.value, span.type) for text in texts for span in shown[text])
    types: dict[str, str] = {}
    for (name, type), count in found.most_common():
        if type == "organization" or (type == "product" and (count > 1 or _is_certain_product(name))):
            types.setdefault(name, type)
    return NameBook(types, shown)


def find_names(text: str, book: NameBook) -> list[EntitySpan]:
    """Return the names in one of the book's texts: those that it shows, and those that another of them shows."""
    known = [span for run in _find_runs(text) for span in _find_known_names(text, run, book)] if book.types else []
    return [*book.shown[text], *known]


def _find_shown_names(text: str, lower_case_words: frozenset[str]) -> Iterator[EntitySpan]:
    yield from _find_persons(text, lower_case_words)
    for run in _find_runs(text):
        yield from _find_organizations(text, run)
        yield from _find_places(text, run)
        yield from _find_products(text, run, lower_case_words)


def _find_persons(text: str, lower_case_words: frozenset[str]) -> Iterator[EntitySpan]:
    for match in _SIGNATURE.finditer(text):
        yield EntitySpan(match.start(1), match.end(1), "person", match[1], 0)
    for start, end, score in person_names.find_person_names(text):
        name = " ".join(text[start:end].split())
        while name.casefold().split()[-1:] and name.casefold().split()[-1].strip(".") in _LABELS:
            name = name.rpartition(" ")[0]
        end, words = start + len(name), name.casefold().split()
        is_plain = lower_case_words.isdisjoint(words) and "\n" not in text[start:end]
        is_alone = not _BEFORE_PART.search(text, max(0, start - 8), start)
        if len(words) > 1 and is_plain and is_alone and (score > 0.7 or _ends_like_name(name)):
            yield EntitySpan(start, end, "person", name, 2)


def _ends_like_name(name: str) -> bool:
    last, places = name.split()[-1], load_places()
    is_place = name in places or places.get(last, False)
    return not is_place and last.casefold() not in _HEADS | _WEAK_HEADS | KEY_PHRASE_STOP_WORDS


def _find_runs(text: str) -> Iterator[list[_Token]]:
    """Yield runs of words that begin with a capital letter or a digit, and of the small words between them."""
    run: list[_Token] = []
    line_start = 0
    for match in _TOKEN.finditer(text):
        token = _Token(match[0], match.start(), match.end())
        if token.text == "\n":
            is_prose = token.start - line_start >= _JOINED_LINE_CHARS
            line_start = token.end
            if is_prose:
                continue
        is_part = token.is_capitalized or token.text[0].isdigit() or (bool(run) and token.text in _CONNECTORS)
        is_near = bool(run) and text[run[-1].end : token.start].strip(" \n") == "" and token.start - run[-1].end <= 2
        if run and not (is_part and is_near and len(run) < 3 * MAX_NAME_WORDS):
            yield run
            run = []
        if token.is_capitalized or (token.text[0].isdigit() and run) or (is_part and run):
            run.append(token)
    if run:
        yield run


def _trim(run: Sequence[_Token]) -> list[_Token]:
    """Return a run without the small words at its ends, such as "The"."""
    tokens = list(run)
    while tokens and (tokens[0].text.casefold() in KEY_PHRASE_STOP_WORDS or tokens[0].text in _CONNECTORS):
        tokens = tokens[1:]
    while tokens and tokens[-1].text in _CONNECTORS:
        tokens.pop()
    return tokens


def _span(text: str, tokens: Sequence[_Token], type: str, rank: int, end: int | None = None) -> EntitySpan:
    start, end = tokens[0].start, end or tokens[-1].end
    return EntitySpan(start, end, type, " ".join(text[start:end].split()), rank)


def _find_organizations(text: str, run: Sequence[_Token]) -> Iterator[EntitySpan]:
    tokens = _trim(run)
    if not tokens:
        return
    yield from _find_firm(text, tokens)
    yield from _find_institutions(text, tokens)
    if _BY_MAKERS.search(text, max(0, tokens[0].start - 30), tokens[0].start) and _is_plain_name(tokens):
        yield _span(text, tokens, "organization", 4)


def _find_firm(text: str, tokens: Sequence[_Token]) -> Iterator[EntitySpan]:
    """Yield the names before a legal form, which the run may contain or be followed by."""
    for at in range(min(len(tokens), 3 * MAX_NAME_WORDS)):
        form = _LEGAL_FORM.match(text, tokens[at].end)
        if form and tokens[at].is_capitalized:
            first = max((n + 1 for n in range(at) if tokens[n].text in ("and", "for", "of", "the")), default=0)
            name = tokens[max(first, at + 1 - MAX_NAME_WORDS) : at + 1]
            is_abbreviated = form[0].count(".") == 1 and form[0][:-1].lstrip(", ") not in _WHOLE_FORMS
            has_own_dot = is_abbreviated and text[form.end() : form.end() + 1] not in ("", "\n")
            ends_sentence = form[0].endswith(".") and form[0].count(".") == 1 and not has_own_dot
            yield _span(text, name, "organization", 1, form.end() - ends_sentence)
            return


def _find_institutions(text: str, tokens: Sequence[_Token]) -> Iterator[EntitySpan]:
    """Yield the institutions on both sides of an "and" where each side is one, else those with it in their name."""
    for whole in _split(tokens, {"The"}):
        parts = [list(_find_institution(text, part)) for part in _split(whole, {"and", "&"})]
        found = [part for part in parts if part]
        yield from (span for part in found for span in part)
        if len(found) < 2 and not any(a.text == "and" and b.text == "the" for a, b in pairwise(whole)):
            yield from _find_institution(text, whole)


def _find_institution(text: str, tokens: Sequence[_Token]) -> Iterator[EntitySpan]:
    tokens = _trim(_skip_role(_trim(tokens)))
    words = [token.text.casefold() for token in tokens]
    if (
        _ALL_HEADS.union(_CONNECTORS).issuperset(words)
        or not 2 <= len(tokens) <= MAX_NAME_WORDS
        or any(token.text[0].isdigit() for token in tokens)
    ):
        return
    phrase = " ".join(words)
    is_led = bool(_LEADING_HEADS.match(phrase)) or any(
        word in _HEADS_WITH_OBJECT and other in ("of", "for") for word, other in pairwise(words)
    )
    is_headed = words[-1] in _HEADS and words[0] not in _COMMON_MODIFIERS - {"national", "general", "health"}
    own = [word for word in words[:-1] if word not in _COMMON_MODIFIERS and word not in _CONNECTORS]
    is_weakly_headed = words[-1] in _WEAK_HEADS and len(own) > 1
    if is_led or is_headed or is_weakly_headed:
        yield _span(text, tokens, "organization", 3)
        if acronym := _ACRONYM_IN_BRACKETS.match(text, tokens[-1].end):
            yield EntitySpan(acronym.start(1), acronym.end(1), "organization", acronym[1], 3)


def _skip_role(tokens: list[_Token]) -> list[_Token]:
    """Return what a role is held in: "Acme Bank" of "Director of Sales for Acme Bank"."""
    for at, token in enumerate(tokens):
        before = {other.text.casefold() for other in tokens[:at]}
        is_joint = token.text == "for" or (token.text == "the" and at > 0 and tokens[at - 1].text in ("of", "and"))
        if is_joint and _ALL_HEADS.isdisjoint(before):
            return _skip_role(tokens[at + 1 :])
    return tokens


def _is_plain_name(tokens: Sequence[_Token]) -> bool:
    return len(tokens) <= 4 and all(token.is_capitalized or token.text in _CONNECTORS for token in tokens)


def _split(tokens: Sequence[_Token], separators: set[str]) -> Iterator[list[_Token]]:
    part: list[_Token] = []
    for token in tokens:
        if token.text in separators:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _find_places(text: str, run: Sequence[_Token]) -> Iterator[EntitySpan]:
    """Yield the known places that stand alone between the small words of a run."""
    places = load_places()
    for part in _split(run, {*_CONNECTORS, *_OPENING_WORDS, *(t.text for t in run if t.text[0].isdigit())}):
        if not 1 <= len(part) <= MAX_PLACE_WORDS:
            continue
        span = _span(text, part, "place", 5)
        end = span.end + (text[span.end : span.end + 1] == "." and f"{span.value}." in places)
        name = span.value if end == span.end else f"{span.value}."
        if name in places and (places[name] or _is_called_place(text, span, places)):
            yield EntitySpan(span.start, end, "place", name, 5)


def _is_called_place(text: str, span: EntitySpan, places: dict[str, bool]) -> bool:
    """Return whether the words around say that a doubtful name is a place: "in Reading", "Reading, England"."""
    if _BEFORE_PLACE.search(text, max(0, span.start - 16), span.start):
        return True
    following = re.match(r",\s([^\W\d_]+(?:\s[^\W\d_]+)?)", text[span.end : span.end + 40])
    return bool(following) and (following[1] in places or following[1].split()[0] in places)  # type: ignore[index]


def _find_products(text: str, run: Sequence[_Token], lower_case_words: frozenset[str]) -> Iterator[EntitySpan]:
    """Yield words with a model number, words in CamelCase, and names of series."""
    for at, token in enumerate(run):
        if (
            _CAMEL_CASE.fullmatch(token.text)
            and not _is_within_address(text, token)
            and not _is_joined(token, lower_case_words)
        ):
            number = run[at + 1] if at + 1 < len(run) and _MODEL_NUMBER.fullmatch(run[at + 1].text) else None
            yield _span(text, [token, number] if number else [token], "product", 4 if number else 6)
        elif at and token.text.casefold() in _SERIES and token.is_capitalized:
            named = _take_product_words(run[:at], lower_case_words)
            if len(named) > 1 or (named and named[0].text.isupper()):
                yield _span(text, [*named, token], "product", 4)
        elif at and _MODEL_NUMBER.fullmatch(token.text):
            named = _take_product_words(run[:at], lower_case_words)
            if (len(token.text) > 2 or not token.text.isdigit()) and named and not named[-1].text.isupper():
                yield _span(text, [*named, token], "product", 7)


def _is_joined(token: _Token, lower_case_words: frozenset[str]) -> bool:
    """Return whether a word in CamelCase is two of the document's words, between which a space was lost."""
    return lower_case_words.issuperset(part.casefold() for part in _CAMEL_CASE_PART.findall(token.text))


def _is_within_address(text: str, token: _Token) -> bool:
    """Return whether a word stands in an address, a path or a program."""
    before, behind = text[max(0, token.start - 1) : token.start], text[token.end : token.end + 2]
    if behind.startswith("."):
        return behind[1:].isalnum()
    return before in _WITHIN_ADDRESS or behind[:1] in _WITHIN_ADDRESS or behind.startswith("(")


def _take_product_words(before: Sequence[_Token], lower_case_words: frozenset[str]) -> list[_Token]:
    """Return the words before a model number that may be a product's name: no label, and never written small."""
    named: list[_Token] = []
    for token in reversed(before[-3:]):
        word = token.text.casefold()
        if not token.is_capitalized or word in _LABELS or word in KEY_PHRASE_STOP_WORDS or len(word) < 2:
            break
        if word in lower_case_words or any(map(str.isdigit, word)):
            break
        named.insert(0, token)
    return named


def _is_certain_product(name: str) -> bool:
    """Return whether a name is a product's though it occurs once: CamelCase with a number, or words with a long one."""
    *words, last = name.split()
    if words and last.casefold() in _SERIES:
        return True
    if any(_CAMEL_CASE.fullmatch(word) for word in words):
        return bool(_MODEL_NUMBER.fullmatch(last))
    return len(words) > 1 and (len(last) > 2 and any(map(str.isdigit, last)))


def _find_known_names(text: str, run: Sequence[_Token], book: NameBook) -> Iterator[EntitySpan]:
    """Yield the longest parts of a run that are names in the book."""
    at = 0
    while at < len(run):
        for end in range(min(len(run), at + MAX_NAME_WORDS), at, -1):
            span = _span(text, run[at:end], "", 2)
            if type := book.types.get(span.value):
                yield EntitySpan(span.start, span.end, type, span.value, 2)
                at = end - 1
                break
        at += 1


def keep_confirmed(spans: Iterable[EntitySpan], book: NameBook) -> Iterator[EntitySpan]:
    """Yield the spans without the products that the book does not have: seen once, they may be anything."""
    return (span for span in spans if span.type != "product" or span.value in book.types)
