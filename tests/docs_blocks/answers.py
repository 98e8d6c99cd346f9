"""The blocks of the pages on pipelines, answers and security."""

from typing import get_args

from rag_core.core.model import SearchType
from rag_core.core.presets import NUMBER_FIELDS, NUMBER_MEANINGS, NUMBER_RANGES, PRESETS
from rag_core.evaluation.markdown_tables import format_table
from rag_core.guard.redaction import OPT_IN_PII_TYPES, PII_TYPES
from tests.docs_blocks import Blocks

ABSENT = "–"  # in the column of a preset whose pipeline does not have the number
PII_RULES = {
    "ADDRESS": "house number, capitalised words and an English street word; PO box",
    "CREDIT_CARD": "check digit, length and issuer; with a payment word near, the check digit alone",
    "DATE": "a date that exists",
    "DOB": "a date after such words as “born”",
    "DRIVER_LICENSE": "a number after “driver's license” or “DL number”",
    "EMAIL": "grammar",
    "IBAN": "length of the country, and check digits",
    "IP": "v4 and v6 addresses, but not version or section numbers",
    "LOGIN_URL": "an address with a user name in it",
    "MRN": "a number after “MRN”, “patient id”, “NHS” and the like",
    "PERSON": "a title or announcing phrase before it, or a listed first name before a capitalised word",
    "PHONE": "international, US and national forms; other forms with a telephone word near",
    "SSN": "area, group and serial that exist, with dashes or after “SSN”",
    "URL": "an address that begins with `http://`, `https://` or `www.`",
}


def write_presets() -> str:
    """Return the numbers in which the presets differ, then those that are equal in every preset that has them."""
    differing = [number for number in NUMBER_FIELDS if len(_list_values(number)) > 1]
    equal = [number for number in NUMBER_FIELDS if number not in differing]
    different_rows = [
        [*_describe_number(number), *(str(preset.list_numbers().get(number, ABSENT)) for preset in PRESETS.values())]
        for number in differing
    ]
    equal_rows = [[*_describe_number(number), *_list_values(number), _name_holders(number)] for number in equal]
    return "\n\n".join(
        (
            format_table(["number", "what it sets", "range", *(f"`{name}`" for name in PRESETS)], different_rows),
            format_table(["number", "what it sets", "range", "all", "presets that have it"], equal_rows),
        )
    )


def _describe_number(number: str) -> tuple[str, str, str]:
    return f"`{number}`", NUMBER_MEANINGS[number], _format_range(number)


def _format_range(number: str) -> str:
    """Return the range of a number, or the values of one that is a name."""
    if number == "search_type":
        return ", ".join(get_args(SearchType))
    low, high = NUMBER_RANGES[number]
    return f"{low:g}–{high:g}"


def _list_values(number: str) -> list[str]:
    """Return the different values of a number over all presets that have it, in their order."""
    values = (preset.list_numbers().get(number) for preset in PRESETS.values())
    return list(dict.fromkeys(str(value) for value in values if value is not None))


def _name_holders(number: str) -> str:
    """Return the presets that have the number, or those that lack it where these are fewer."""
    holders = [f"`{name}`" for name, preset in PRESETS.items() if number in preset.list_numbers()]
    others = [f"`{name}`" for name, preset in PRESETS.items() if number not in preset.list_numbers()]
    if not others:
        return "every one"
    return ", ".join(holders) if len(holders) <= len(others) else f"all but {', '.join(others)}"


def write_pii_types() -> str:
    """Return the types of personal data that the rules find, with how each is found and whether it is on."""
    rows = [[type, PII_RULES[type], "no" if type in OPT_IN_PII_TYPES else "yes"] for type in sorted(PII_TYPES)]
    return format_table(["type", "found by", "by default"], rows)


BLOCKS: Blocks = {
    "presets": ("reference/pipelines.md", write_presets),
    "pii-types": ("reference/isolation-and-security.md", write_pii_types),
}
