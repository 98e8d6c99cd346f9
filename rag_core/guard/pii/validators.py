"""Validators of values that look like a card, account, telephone or other number: checksums, issuers and ranges."""

import re
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from rag_core.guard.pii import numbering_plans
from rag_core.guard.pii.dates import is_date

CARD_NUMBER_RANGES = re.compile(  # ranges and lengths of each issuer (ISO/IEC 7812; Wikipedia, Payment card number)
    r"""4(?:\d{12}|\d{15}|\d{18})                                                       # Visa
      | (?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}                # Mastercard
      | 3[47]\d{13}                                                                     # American Express
      | 3(?:0[0-5]|095|[689]\d)\d{11} | 3095\d{10}                                      # Diners Club
      | (?:6011\d\d|64[4-9]\d{3}|65\d{4}|62\d{4})\d{10}(?:\d{3})?                       # Discover, UnionPay
      | 35(?:2[89]|[3-8]\d)\d{12} | (?:1800|2131)\d{11}                                 # JCB
      | (?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}                              # Maestro""",
    re.VERBOSE,
)

YEAR_OR_ROUND_SUM = re.compile(r"(?<!\d)(?:19|20)\d\d$|000$")

RUPAY_RANGE = re.compile(r"(?:60\d\d|8[12]\d\d|508\d)\d{12}")  # wide: believed of digits in groups alone


def is_card_number(value: str) -> bool:
    """Return whether a value is in an issuer's range, of that issuer's length, with the right check digit (Luhn)."""
    digits = _extract_digits(value)
    in_range = CARD_NUMBER_RANGES.fullmatch(digits) or (digits != value and RUPAY_RANGE.fullmatch(digits))
    return bool(in_range) and has_luhn_check_digit(digits)


def has_luhn_check_digit(value: str) -> bool:
    """Return whether the last digit is the Luhn check digit of the others; one in ten random numbers passes."""
    digits = _extract_digits(value)
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(two - 9 * (two > 9) for two in doubled)) % 10 == 0


def is_iban(value: str) -> bool:
    """Return whether the checksum of an IBAN is right.

    ISO 7064, MOD 97-10: with the first four signs moved to the end and letters as numbers, the remainder by 97 is 1.
    """
    plain = re.sub(r"[ -]", "", value).upper()
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def is_polish_account(value: str) -> bool:
    return is_iban(f"PL{value}")


def is_ssn(value: str) -> bool:
    """Return whether the Social Security Administration assigns this area, group and serial number."""
    digits = _extract_digits(value)
    return digits[:3] not in ("000", "666") and digits[0] != "9" and digits[3:5] != "00" and digits[5:] != "0000"


def is_ipv4_address(value: str) -> bool:
    """Return whether a value is an IPv4 address of a host; four single digits are rather a version or a section.

    A loopback address or a mask tells of nobody.
    """
    return (
        _is_ip_address(value, IPv4Address) and not re.match(r"(?:0|127|255)\.", value) and len(value) > len("1.2.3.4")
    )


def is_short_ipv4_address(value: str) -> bool:
    return _is_ip_address(value, IPv4Address)


def is_ipv6_address(value: str) -> bool:
    """Return whether a value is an IPv6 address of at least three groups with a digit; `a::b` is rather code."""
    groups = [group for group in value.split(":") if group]
    return len(groups) > 2 and any(map(str.isdigit, value)) and _is_ip_address(value, IPv6Address)


def _is_ip_address(value: str, kind: type[IPv4Address] | type[IPv6Address]) -> bool:
    try:
        return bool(kind(value))
    except AddressValueError:
        return False


def is_phone_number(value: str) -> bool:
    """Return whether a value has 7 to 15 digits (E.164) and is neither a date nor a decimal number."""
    number = _cut_extension(value)
    decimal = re.fullmatch(r"\+?\d{1,3}\.\d+", number)
    return 7 <= len(_extract_digits(number)) <= 15 and not decimal and not is_date(number)


def is_unevenly_grouped_phone_number(value: str) -> bool:
    """Return whether the digit groups are uneven, unlike thousands (12 345 678) or a volume and year (237 1956)."""
    if re.search(r" (?:19|20)\d\d$", value):
        return False
    lengths = [len(group) for group in value.split(" ")]
    return is_phone_number(value) and len(set(lengths)) > 1 and set(lengths[1:]) != {3}


def is_assigned_phone_number(value: str, regions: Iterable[str]) -> bool:
    """Return whether a value is a number assigned in one of the regions, in the digit groups usual there.

    A value that ends in a year or in three zeros is taken for a date or a round sum.
    """
    if not is_phone_number(value) or YEAR_OR_ROUND_SUM.search(value):
        return False
    digits = _extract_digits(_cut_extension(value))
    return any(
        numbering_plans.is_given_out(value, digits, region)
        and numbering_plans.is_grouped_as_usual(value, digits, region)
        for region in regions
    )


def is_phone_number_of(value: str, regions: Iterable[str]) -> bool:
    """Return whether a value is a number that one of the regions gives out, however it is grouped."""
    digits = _extract_digits(_cut_extension(value))
    return is_phone_number(value) and any(numbering_plans.is_given_out(value, digits, region) for region in regions)


def _cut_extension(number: str) -> str:
    return number.lower().partition("x")[0].partition("e")[0].strip()


def _extract_digits(value: str) -> str:
    return "".join(filter(str.isdigit, value))
