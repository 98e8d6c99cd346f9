"""What a question asks to be computed: the operation, its direction, and conditions such as "more than 20"."""

import re
from dataclasses import dataclass
from decimal import Decimal

from rag_core.answering.computing.degrees import (
    COMPARATIVES,
    MEASURING_VERBS,
    SUPERLATIVES,
    Scale,
    find_degrees,
    points_down,
)
from rag_core.answering.computing.operations import OperationKind
from rag_core.text.figures import Figure, parse_figure
from rag_core.text.terms import extract_terms

PAIRED = ("compare", "difference", "ratio", "share")  # operations on two cells
CONDITIONED = ("count", "filter", "sum", "average", "extreme")  # operations on the rows that meet conditions
MAX_OPERATION_CHARS = 1000  # of a question: one that asks for an operation is short
_COMPARING = "|".join((*COMPARATIVES, "above", "below"))
_MORE_THAN, _LESS_THAN = (
    "|".join(f"{word} than" for word, is_more in COMPARATIVES.items() if is_more == wanted) for wanted in (True, False)
)
_CHANGE = r"(?:grow|grew|growth|increas\w*|decreas\w*|rise|rose|fall|fell|chang\w*|drop\w*|declin\w*)"
_COMPARISONS = {
    ">=": "at least|no less than|no fewer than|since",
    "<=": "at most|no more than|up to",
    ">": f"{_MORE_THAN}|over|above|exceeding|after",
    "<": f"{_LESS_THAN}|under|below|before",
}
_COMPARISON = re.compile(
    "|".join(rf"(?P<{name}>\b(?:{words})\b)" for name, words in zip("abcd", _COMPARISONS.values(), strict=True)),
    re.IGNORECASE,
)
_CURRENCY = r"(?:(?:USD|EUR|GBP|CHF|JPY) |[$€£¥] ?)?"
_FIGURE_AFTER = re.compile(rf" ({_CURRENCY}\d[\d,]{{0,20}}(?:\.\d{{1,9}})? ?%?)(?!\w)")
_CHANGED = re.compile(rf"\b{_CHANGE}\b", re.IGNORECASE)
_PERCENT = re.compile(r"\bpercent(?:age)?\b(?! of\b)", re.IGNORECASE)
_DIFFERENCE = re.compile(
    rf"\bby how (?:much|many)\b|\bdifference between\b|\bhow (?:much|many) (?:{_COMPARING})\b"
    rf"|\bhow much (?:did|do|does|has|have)\b.{{1,80}}\b{_CHANGE}\b"
    r"|\bhow (?:much|many|far)\b.{1,80}\b(?:separates?|separated|apart|ahead of|behind)\b"
    r"|\bhow many years (?:after|before|later|earlier)\b",
    re.IGNORECASE,
)
_PLAN = r"(?:budget|plan|target|forecast|estimate)\b"
_AGAINST_PLAN = re.compile(
    r"\b(?:(?:go|goes|gone|went|come|comes|came)(?: in)? )?(?:over|under|above|below|exceed\w{0,3}) "
    rf"(?:(?:the|its|their|our) )?{_PLAN}"
    r"|\bthan (?:(?:was|were|had been|we|they) )?(?:planned|budgeted|expected|forecast|estimated)\b"
    r"|\b(?:over|under)sp(?:ent|end\w{0,3})\b",
    re.IGNORECASE,
)
_UNDER_PLAN = re.compile(rf"\b(?:under|below) (?:(?:the|its|their|our) )?{_PLAN}|\bundersp", re.IGNORECASE)
_AVERAGE = re.compile(r"(?<!above )(?<!below )(?<!than )\b(?:(?:the|on) )?average\b|\bthe mean\b", re.IGNORECASE)
_SPENDING = extract_terms("cost costs spend spent spending")
_HAVING = re.compile(
    r"\b(?:do|does|did|can|could) (?:we|you|they|I|it|he|she) (?:have|keep|hold|own|offer)\b", re.IGNORECASE
)
_LASTING = re.compile(r"\b(?:has|have|had)\b.{1,60}\blongest(?:$| (?:in|at|with|on|as)\b)", re.IGNORECASE)
_EITHER = re.compile(rf"\b({'|'.join(COMPARATIVES)}) or ({'|'.join(COMPARATIVES)})\b", re.IGNORECASE)
_COMPARED = re.compile(rf"\b(?:{_COMPARING})\b(?! than {_CURRENCY}\d)", re.IGNORECASE)
_COUNTED = re.compile(r"\bhow (?:many|often)\b", re.IGNORECASE)
_HOW_OFTEN = re.compile(r"how (?:often|many times)\b", re.IGNORECASE)
_ADDED = re.compile(r"\b(?:total|sum|combined|together|altogether|in all|between them)\b", re.IGNORECASE)
_OCCURRING = re.compile(
    r"\bhow (?:often|many times)\b|\b(?:meet|met|happen|happened|occur|occurred|appear|appeared)\b", re.IGNORECASE
)
_SHARE = re.compile(r"(?:what|which) (?:share|proportion|percentage|percent|part|fraction) of\b", re.IGNORECASE)
_YEARS_APART = re.compile(r"\bhow many years (?:after|before|later|earlier)\b", re.IGNORECASE)
_ENDING_WITH = re.compile(r"\b(?:finish(?:ed)?|end(?:ed)? up) with\b", re.IGNORECASE)
_HAVING_ANY = re.compile(r"^(?:which|what) \w+ (?:still )?(?:have|has)\b", re.IGNORECASE)
_HELD = re.compile(r"\b(?:are|is|were|was|have|has|had) (?:still |currently |now )?in (\w+)", re.IGNORECASE)
_LACKED = re.compile(r"\b(?:out of|ha(?:ve|s|d) no|without(?: any)?) (\w+)", re.IGNORECASE)
_EACH_ROW = re.compile(
    r"\b(\w+) (more|fewer|less) (?:(\w+) )?than (?:they|it|he|she|we|you) (?:(?:have|has|had) )?(\w+)", re.IGNORECASE
)
_RISING = re.compile(
    r"\b(?:(?:went|gone|go|goes) up|increase[ds]?|rise|rises|rose|growth|grew|gains?)\b", re.IGNORECASE
)
_FALLING = re.compile(
    r"\b(?:(?:went|gone|go|goes) down|decrease[ds]?|falls?|fell|drop(?:s|ped)?|declined?|declines|reduction)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\b(\w+) (?:the )?(?:most|fewest|least|more|fewer|less) (\w+)", re.IGNORECASE)
_BEST = re.compile(rf"\b(?:{'|'.join(SUPERLATIVES)}|maximum|minimum)\b", re.IGNORECASE)
_LIMITED = re.compile(rf"\b(?:{'|'.join(_COMPARISONS.values())}) {_CURRENCY}\d", re.IGNORECASE)
_CHOICE = re.compile(r"(?:(?:on|in|at|for|by|from) )?(?:which|what|who)\b", re.IGNORECASE)
_LISTING = re.compile(r"(?:which|what|list|name|show)\b", re.IGNORECASE)
_SELECTION = re.compile(r"(?:which|list|name|show)\b|what \w+s (?:are|were|do|does|did|have|has|had)\b", re.IGNORECASE)
_FACT = re.compile(
    r"(?:what|when|where|who|which|how (?:much|many|long|far|big|high|heavy|old|often))\b", re.IGNORECASE
)
_NEGATION = re.compile(r"\b(?:not|no|without|never)\b|n[’']t\b", re.IGNORECASE)
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBERS)})\b(?= [a-z])")  # before what is counted
_LOSE = re.compile(r"\b(?:lose|loses|lost)\b", re.IGNORECASE)
_LOSS = re.compile(rf"{_LOSE.pattern}|\b(?:loss|losses|deficits?)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"[’']s\b", re.IGNORECASE)
_AMOUNT = re.compile(r"(?:what|how much)\b", re.IGNORECASE)
_HOW_FAR = re.compile(r"how (?:much|many|far)\b", re.IGNORECASE)
_YES_OR_NO = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had)\b", re.IGNORECASE)
_WHAT_IS_COUNTED = re.compile(
    r"\b(?:how many|which|what|list|name|show)(?: (?:me|all|the)\b)* (.{1,80}?)"
    r"(?= (?:are|is|was|were|do|does|did|have|has|had|with|in|of|opened)\b|$)",
    re.IGNORECASE,
)
COST_TERM = "cost"
_OPERATION_TERMS = extract_terms(
    f"{' '.join(_COMPARISONS.values())} maximum minimum".replace("|", " ")
    + " how many much percent percentage difference between change changed changes grow grew growth increase decrease"
    " increased decreased rise rose fall fell drop dropped decline declined total sum combined altogether all number"
    " list name show there each or than from since during compared still now currently which what who one value amount"
    " together lose loses lost give gave take took get got make made need pay bring use used not no without never"
    " different distinct separate separates separated apart ahead behind far"
    " go goes went gone come comes came work works worked still"
)
# as heads of columns write a unit that a question says in full
UNIT_SIGNS = {
    **dict.fromkeys(("metre", "metres", "meter", "meters"), "m"),
    **dict.fromkeys(("kilometre", "kilometres", "kilometer", "kilometers"), "km"),
    **dict.fromkeys(("centimetre", "centimetres", "centimeter", "centimeters"), "cm"),
    **dict.fromkeys(("kilo", "kilos", "kilogram", "kilograms"), "kg"),
    **dict.fromkeys(("gram", "grams"), "g"),
    **dict.fromkeys(("litre", "litres", "liter", "liters"), "l"),
    **dict.fromkeys(("hour", "hours"), "h"),
    **dict.fromkeys(("minute", "minutes"), "min"),
    **dict.fromkeys(("second", "seconds"), "s"),
    **dict.fromkeys(("euro", "euros"), "eur"),
    **dict.fromkeys(("franc", "francs"), "chf"),
    **dict.fromkeys(("dollar", "dollars"), "usd"),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison with a figure: `words` are those before and after it, which may name the column.

    `counted` is the word right after it, unless that is a unit.
    """

    comparison: str
    figure: Figure
    text: str
    words_before: str
    words_after: str
    counted: str

    def holds(self, value: Decimal) -> bool:
        limit = self.figure.value
        return {">": value > limit, "<": value < limit, ">=": value >= limit, "<=": value <= limit}[self.comparison]


@dataclass(frozen=True, slots=True)
class AskedOperation:
    """The operation that a question asks for; `terms` are those of its subject, which a table has to have.

    `counted` are the terms of what is counted or listed. `is_negated` says that a condition without a figure is not to
    hold: "not heated". `adds_up` says that figures are to be added: "how many places in all".
    """

    kind: OperationKind
    text: str
    is_highest: bool
    conditions: tuple[Condition, ...]
    terms: frozenset[str]
    scales: tuple[Scale, ...]
    counted: frozenset[str]
    is_negated: bool = False
    adds_up: bool = False

    @property
    def implied(self) -> frozenset[str]:
        """The terms of columns that the question means without saying them: a weight by "heavy", a price by "cost"."""
        named = frozenset[str]().union(*(scale.columns for scale in self.scales))
        return named.union(*(MEASURING_VERBS[verb].columns for verb in self.measuring_verbs))

    @property
    def asks_time(self) -> bool:
        return any(scale.is_time for scale in self.scales)

    @property
    def asks_how_often(self) -> bool:
        return bool(_HOW_OFTEN.match(self.text))

    @property
    def compares_each_row(self) -> tuple[str, bool, str, str] | None:
        """What is compared in each row: its verb, whether it is to be more, the noun, and the other verb."""
        found = _EACH_ROW.search(self.text) if self.kind in ("count", "filter") else None
        return (found[1], found[2].casefold() == "more", found[3] or "", found[4]) if found else None

    @property
    def seeks_more(self) -> bool:
        """Return whether rows are asked for that rose, or that have more of the first than of the second."""
        return (
            self.change > 0
            or (self.asks_having and not self.change and not self.compares_each_row)
            or bool(self.compares_each_row and self.compares_each_row[1])
        )

    @property
    def change(self) -> int:
        """1 where rows that rose are asked for, or the biggest rise, -1 where those that fell, else 0."""
        if self.kind not in ("extreme", "filter", "count"):
            return 0
        return bool(_RISING.search(self.text)) - bool(_FALLING.search(self.text))

    @property
    def numbered(self) -> tuple[tuple[str, str], ...]:
        """The verbs of which it is asked for much or little, each with the noun: "seats the fewest people"."""
        return tuple((verb, noun) for verb, noun in _NUMBERED.findall(self.text))

    @property
    def measuring_verbs(self) -> frozenset[str]:
        return self.terms & MEASURING_VERBS.keys()

    @property
    def asks_having(self) -> bool:
        """Return whether rows are asked for that have any of something."""
        return bool(_HAVING_ANY.search(self.text))

    @property
    def held(self) -> tuple[str, str]:
        """What rows are to have any of, and what none of, as in "in stock", "out of stock"; "" for neither."""
        found = [pattern.search(self.text) if self.kind in CONDITIONED else None for pattern in (_HELD, _LACKED)]
        return (found[0][1] if found[0] else "", found[1][1] if found[1] else "")

    @property
    def asks_duration(self) -> bool:
        """Return whether it is asked who has had or done something for the longest time: since the earliest year."""
        return self.kind == "extreme" and bool(_LASTING.search(self.text))

    @property
    def is_against_plan(self) -> bool:
        """Return whether what was planned is compared with what it became: "over budget", "than expected"."""
        return bool(_AGAINST_PLAN.search(self.text))

    def choose_comparative(self, *, is_high: bool) -> str:
        """Return the one of two opposite comparatives that says whether the first is higher; "" where it has no two."""
        either = _EITHER.search(self.text)
        words = either.groups() if either else ()
        return next((word for word in words if COMPARATIVES[word.casefold()] == is_high), "")

    @property
    def is_of_losses(self) -> bool:
        return bool(_LOSS.search(self.text))

    @property
    def loses(self) -> bool:
        """Return whether a verb says that figures have to be losses: no table needs to have the word."""
        return bool(_LOSE.search(self.text))

    def points_up(self, column: str, *, is_of_years: bool) -> bool:
        """Return whether the highest of a column is meant: "oldest" is the highest age, and the lowest year."""
        names = extract_terms(column)
        if is_of_years and self.asks_duration:
            return False
        measured = [
            s for s in self.scales if s.is_time == is_of_years and (s.is_time or not names.isdisjoint(s.columns))
        ]
        return measured[0].is_high if measured else self.is_highest


def parse_lookup(question: str) -> AskedOperation | None:
    """Return the cell that a question for a fact may ask for; None for a question of another form."""
    text = " ".join(question.split()).rstrip("? ")
    return _describe_operation("lookup", text) if len(text) <= MAX_OPERATION_CHARS and _FACT.match(text) else None


def parse_operation(question: str) -> AskedOperation | None:
    """Return what a question asks to be computed; None for a question that asks for no such thing."""
    text = " ".join(question.split()).rstrip("? ")
    if len(text) > MAX_OPERATION_CHARS:
        return None
    text = _NUMBER_WORD.sub(lambda match: str(_NUMBERS.index(match[0]) + 2), text)
    kind = _find_kind(text)
    return None if kind is None else _describe_operation(kind, text)


def _describe_operation(kind: OperationKind, text: str) -> AskedOperation:
    conditions = tuple(_find_conditions(text)) if kind in CONDITIONED else ()
    degrees = find_degrees(text)
    spoken = frozenset(" ".join(condition.text for condition in conditions).replace(",", "").lower().split())
    is_against_plan = bool(_AGAINST_PLAN.search(text))
    left = _HAVING.sub(" ", _AGAINST_PLAN.sub(" ", _POSSESSIVE.sub("", text)))
    if kind in ("extreme", "filter", "count") and (_RISING.search(left) or _FALLING.search(left)):
        left = _RISING.sub(" ", _FALLING.sub(" ", left))
    left = _SHARE.sub(" ", left) if kind == "share" else left
    left = _YEARS_APART.sub(" ", _ENDING_WITH.sub(" ", left))
    left = _OCCURRING.sub(" ", left) if _HOW_OFTEN.match(text) else left
    left = _AVERAGE.sub(" ", left) if kind == "average" else left
    for condition in conditions:
        left = left.replace(condition.text, " ")
    counted = _WHAT_IS_COUNTED.search(left)
    for said, _ in degrees:
        left = left.replace(said, " ")
    return AskedOperation(
        kind,
        text,
        not points_down(text) and not _UNDER_PLAN.search(text),
        conditions,
        extract_terms(left) - _OPERATION_TERMS - spoken - (_SPENDING if is_against_plan else frozenset()),
        tuple(scale for _, scales in degrees for scale in scales),
        extract_terms(counted[1]) - _OPERATION_TERMS if counted else frozenset(),
        bool(_NEGATION.search(left)),
        bool(_ADDED.search(left)),
    )


def _find_kind(text: str) -> OperationKind | None:
    has_comparison, is_against_plan = bool(_COMPARED.search(text)), bool(_AGAINST_PLAN.search(text))
    kinds: tuple[tuple[OperationKind, bool], ...] = (
        ("share", bool(_SHARE.match(text))),
        ("ratio", bool(_CHANGED.search(text) and _PERCENT.search(text))),
        ("difference", bool(_DIFFERENCE.search(text) or (is_against_plan and _HOW_FAR.match(text)))),
        ("compare", is_against_plan and bool(_YES_OR_NO.match(text))),
        ("compare", has_comparison and " or " in text and bool(_CHOICE.match(text) or _YES_OR_NO.match(text))),
        ("compare", has_comparison and " than " in text and bool(_YES_OR_NO.match(text))),
        ("average", bool(_AVERAGE.search(text) and _FACT.match(text))),
        ("count", bool(_COUNTED.search(text))),
        ("sum", bool(_AMOUNT.match(text) and _ADDED.search(text))),
        ("extreme", bool(_CHOICE.match(text) and _BEST.search(text))),
        ("filter", bool(_LISTING.match(text) and _LIMITED.search(text))),
        ("filter", bool(_SELECTION.match(text))),
    )
    return next((kind for kind, is_asked in kinds if is_asked), None)


def _find_conditions(text: str) -> list[Condition]:
    found = []
    for match in _COMPARISON.finditer(text):
        figure_match = _FIGURE_AFTER.match(text, match.end())
        figure = parse_figure(figure_match[1]) if figure_match else None
        if figure_match and figure:
            comparison = dict(zip("abcd", _COMPARISONS, strict=True))[match.lastgroup or "c"]
            after = text[figure_match.end() :].split()
            sign = UNIT_SIGNS.get(after[0].casefold(), "") if after else ""
            is_unit = after and (sign or (len(after[0]) <= 3 and after[0].isalpha() and extract_terms(after[0])))
            unit = after[0] if is_unit else ""
            end = figure_match.end() + (len(unit) + 1 if unit else 0)
            found.append(
                Condition(
                    comparison,
                    figure,
                    text[match.start() : end],
                    text[: match.start()],
                    f"{sign or unit} {' '.join(after[:4])}",
                    "" if unit or not after else after[0],
                )
            )
    return found
