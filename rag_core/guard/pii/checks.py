"""Whether a value that looks like a number of some kind is one: checksums, issuers, ranges."""

import re
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv6Address

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ISSUERS = re.compile(  # the ranges of each issuer, with the lengths that it gives out (ISO/IEC 7812, Wikipedia's table)
    r"""4(?:\d{12}|\d{15}|\d{18})                                                       # Visa
      | (?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}                # Mastercard
      | 3[47]\d{13}                                                                     # American Express
      | 3(?:0[0-5]|095|[689]\d)\d{11} | 3095\d{10}                                      # Diners Club
      | (?:6011\d\d|64[4-9]\d{3}|65\d{4}|62\d{4})\d{10}(?:\d{3})?                       # Discover, UnionPay
      | 35(?:2[89]|[3-8]\d)\d{12} | (?:1800|2131)\d{11}                                 # JCB
      | (?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}                              # Maestro""",
    re.VERBOSE,
)


def card(value: str) -> bool:
    """An issuer's number of that issuer's length whose last digit is right (Luhn)."""
    digits = _digits(value)
    return bool(ISSUERS.fullmatch(digits)) and luhn(digits)


def luhn(digits: str) -> bool:
    """Whether the last digit is right: that of one in ten numbers is."""
    doubled = (2 * int(digit) for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(two - 9 * (two > 9) for two in doubled)) % 10 == 0


def iban(value: str) -> bool:
    """ISO 7064: the number of the rearranged letters and digits leaves 1 when divided by 97."""
    plain = re.sub(r"[ -]", "", value).upper()
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def ssn(value: str) -> bool:
    """An area, group and serial that the Social Security Administration gives out."""
    digits = _digits(value)
    return digits[:3] not in ("000", "666") and digits[0] != "9" and digits[3:5] != "00" and digits[5:] != "0000"


def ipv4(value: str) -> bool:
    """An address of a machine; four lone digits are rather a version or a section."""
    return _address(value, IPv4Address) and not value.startswith("0.") and len(value) > len("1.2.3.4")


def ipv4_short(value: str) -> bool:
    return _address(value, IPv4Address)


def ipv6(value: str) -> bool:
    """At least three groups, one of them with a digit: `a::b` is rather a name in a program."""
    groups = [group for group in value.split(":") if group]
    return len(groups) > 2 and any(map(str.isdigit, value)) and _address(value, IPv6Address)


def _address(value: str, kind: type[IPv4Address] | type[IPv6Address]) -> bool:
    try:
        return bool(kind(value))
    except AddressValueError:
        return False


def phone(value: str) -> bool:
    """As many digits as a telephone takes (E.164), and neither a date nor a decimal."""
    number = value.lower().partition("x")[0].partition("e")[0].strip()
    decimal = re.fullmatch(r"\+?\d{1,3}\.\d+", number)
    return 7 <= len(_digits(number)) <= 15 and not decimal and not date(number)


def uneven(value: str) -> bool:
    """A telephone number by its groups: not thousands (12 345 678), bytes, or a volume and its year (237 1956)."""
    if re.search(r" (?:19|20)\d\d$", value):
        return False
    lengths = [len(group) for group in value.split(" ")]
    return phone(value) and len(set(lengths)) > 1 and set(lengths[1:]) != {3}


def dialled(value: str, regions: Iterable[str]) -> bool:
    """A telephone number given out in one of the regions, in the groups usual there; neither a year nor a round sum."""
    from phonenumbers import Leniency, PhoneNumberMatcher  # here, for a cold start does without

    if not phone(value) or re.search(r"(?<!\d)(?:19|20)\d\d$|000$", value):
        return False
    found = (match for where in regions for match in PhoneNumberMatcher(value, where, Leniency.EXACT_GROUPING))
    return any(len(match.raw_string) == len(value) for match in found)


def date(value: str) -> bool:
    """A day of a month, in any of the usual orders."""
    numbers = [int(part) for part in re.findall(r"\d+", value)]
    if any(month in value.lower() for month in MONTHS):
        return bool(numbers) and min(numbers) <= 31
    if not re.match(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?!\d)", value):
        return False
    first, second, third = numbers[:3]
    day, month = (third, second) if first > 31 else (first, second)
    return 1 <= min(day, month) <= 12 and 1 <= max(day, month) <= 31


def _digits(value: str) -> str:
    return "".join(filter(str.isdigit, value))
