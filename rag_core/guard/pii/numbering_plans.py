"""Telephone numbers that a country gives out, and the groups of digits usual there.

The tables are those of `phonenumbers`. It finds numbers in any text; here a value of digits is already found, so one
look at the tables of a country answers at a tenth of the time. What a plan cannot tell at one look, such as a number
with an international prefix, is left to the library, and a test compares both.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phonenumbers import NumberFormat, PhoneMetadata

KINDS = (
    *("premium_rate", "toll_free", "shared_cost", "voip", "personal_number", "pager"),
    *("uan", "voicemail", "fixed_line", "mobile"),
)
PLAIN_GROUPS = re.compile(r"\d+(?:[ .-]\d+)*")
FIRST_GROUP_ONLY = re.compile(r"\(?\\1\)?")


@dataclass(frozen=True, slots=True)
class GroupFormat:
    """How numbers with these leading digits are divided, and whether the trunk prefix has to stand before them."""

    leading: re.Pattern[str]
    pattern: re.Pattern[str]
    template: str
    needs_prefix: bool

    def split_digits(self, digits: str) -> list[str]:
        return re.findall(r"\d+", self.pattern.sub(self.template, digits))


@dataclass(frozen=True, slots=True)
class NumberingPlan:
    """The numbers of a country. `form` is what the digits of all have in common, with prefixes; None where these vary.

    `national_groups` tell where a trunk prefix is needed. `groups` are the usual ones, of which the first that fits
    counts; `other_groups` are used as well. All are empty for a region that shares its country code and is not the
    first to be asked about a number.
    """

    form: re.Pattern[str] | None
    trunk: str
    country_code: str
    international: re.Pattern[str]
    lengths: frozenset[int]
    general: re.Pattern[str]
    kinds: tuple[tuple[frozenset[int], re.Pattern[str]], ...]
    national_groups: tuple[GroupFormat, ...]
    groups: tuple[GroupFormat, ...]
    other_groups: tuple[GroupFormat, ...]

    def cut_trunk(self, digits: str) -> str | None:
        """Return the number without its trunk prefix; None where the digits can be read in several ways."""
        if self.form is None or self.international.match(digits):
            return None
        if not self.trunk or not digits.startswith(self.trunk):
            return digits if self._is_of_plan(digits) else None
        rest = digits[len(self.trunk) :]
        return rest if self._is_of_plan(rest) and not digits.startswith(self.country_code) else None

    def is_given_out(self, number: str) -> bool:
        return any(
            (not lengths or len(number) in lengths) and pattern.fullmatch(number) for lengths, pattern in self.kinds
        )

    def _is_of_plan(self, number: str) -> bool:
        return len(number) in self.lengths and bool(self.general.fullmatch(number))


def is_given_out(value: str, digits: str, region: str) -> bool:
    """Return whether a value, of these digits, is a number of the region."""
    plan = load_plan(region) if digits.isascii() and "+" not in value else None
    if plan is not None:
        if plan.form and not plan.form.fullmatch(digits):
            return False
        if (number := plan.cut_trunk(digits)) is not None:
            return plan.is_given_out(number)
    return _parse_given_out(value, region)


def is_grouped_as_usual(value: str, digits: str, region: str) -> bool:
    """Return whether a number that the region gives out is in one block, or in the groups usual there."""
    plan = load_plan(region)
    if plan and plan.groups and digits.isascii() and PLAIN_GROUPS.fullmatch(value) and plan.cut_trunk(digits) == digits:
        return _has_usual_groups(re.split("[ .-]", value), digits, plan)
    return _match_groups(value, region)


def _has_usual_groups(groups: Sequence[str], number: str, plan: NumberingPlan) -> bool:
    usual = _choose_format(plan.national_groups, number)
    if usual and usual.needs_prefix:
        return False
    chosen = _choose_format(plan.groups, number)
    if len(groups) == 1 or _are_grouped(groups, chosen.split_digits(number) if chosen else [number]):
        return True
    others = (other for other in plan.other_groups if other.leading.match(number))
    return any(_are_grouped(groups, other.split_digits(number)) for other in others)


def _choose_format(formats: Iterable[GroupFormat], number: str) -> GroupFormat | None:
    return next((f for f in formats if f.leading.match(number) and f.pattern.fullmatch(number)), None)


def _are_grouped(groups: Sequence[str], expected: Sequence[str]) -> bool:
    """Return whether the groups end in the expected ones, the first of which may be the end of a group."""
    first = len(groups) - len(expected)
    return first >= 0 and [*groups[first + 1 :]] == [*expected[1:]] and groups[first].endswith(expected[0])


def _parse_given_out(value: str, region: str) -> bool:
    from phonenumbers import NumberParseException, is_valid_number_for_region, parse

    try:
        return is_valid_number_for_region(parse(value, region), region)
    except NumberParseException:
        return False


def _match_groups(value: str, region: str) -> bool:
    from phonenumbers import Leniency, PhoneNumberMatcher

    matches = PhoneNumberMatcher(value, region, Leniency.EXACT_GROUPING)
    return any(len(match.raw_string) == len(value) for match in matches)


@cache
def load_plan(region: str) -> NumberingPlan | None:
    """Read the tables of a region when a text first needs them, for a quick cold start."""
    from phonenumbers import PhoneMetadata, region_code_for_country_code
    from phonenumbers.data import _ALT_NUMBER_FORMATS

    metadata = PhoneMetadata.metadata_for_region(region)
    if metadata is None or metadata.general_desc is None:
        return None
    code = metadata.country_code or 0
    is_first = region_code_for_country_code(code) == region and metadata.leading_digits is None
    national = _compile_formats(metadata.number_format) if is_first else ()
    return NumberingPlan(
        form=_compile_form(metadata),
        trunk=metadata.national_prefix_for_parsing or "",
        country_code=str(code),
        international=re.compile(metadata.international_prefix or r"(?!)"),
        lengths=frozenset(metadata.general_desc.possible_length),
        general=re.compile(metadata.general_desc.national_number_pattern or r"(?!)"),
        kinds=_compile_kinds(metadata),
        national_groups=national if any(form.needs_prefix for form in national) else (),
        groups=_compile_formats(metadata.intl_number_format) if is_first and metadata.intl_number_format else national,
        other_groups=_compile_formats(_ALT_NUMBER_FORMATS.get(code, ())) if is_first else (),
    )


def _compile_form(metadata: "PhoneMetadata") -> re.Pattern[str] | None:
    trunk = metadata.national_prefix_for_parsing or ""
    if metadata.general_desc is None or (trunk and not trunk.isdigit()):
        return None
    international = rf"(?:(?:{metadata.international_prefix or ''})?{metadata.country_code})?"
    return re.compile(rf"{international}(?:{trunk})?(?:{metadata.general_desc.national_number_pattern})")


def _compile_kinds(metadata: "PhoneMetadata") -> tuple[tuple[frozenset[int], re.Pattern[str]], ...]:
    kinds = (getattr(metadata, kind) for kind in KINDS)
    return tuple(
        (frozenset(kind.possible_length), re.compile(kind.national_number_pattern))
        for kind in kinds
        if kind is not None and kind.national_number_pattern
    )


def _compile_formats(formats: Iterable["NumberFormat"]) -> tuple[GroupFormat, ...]:
    return tuple(_compile_format(form) for form in formats)


def _compile_format(form: "NumberFormat") -> GroupFormat:
    rule = form.national_prefix_formatting_rule or ""
    return GroupFormat(
        leading=re.compile(form.leading_digits_pattern[-1] if form.leading_digits_pattern else ""),
        pattern=re.compile(form.pattern or r"(?!)"),
        template=form.format or "",
        needs_prefix=bool(
            rule and not form.national_prefix_optional_when_formatting and not FIRST_GROUP_ONLY.fullmatch(rule)
        ),
    )
