"""The blocks of the pages on pipelines, answers and security."""

from typing import get_args

from rag_core.core.model import SearchType
from rag_core.core.presets import NUMBER_FIELDS, NUMBER_MEANINGS, NUMBER_RANGES, PRESETS
from rag_core.evaluation.markdown_tables import format_table
from rag_core.guard.redaction import PII_TYPES
from tests.docs_blocks import Blocks

ABSENT = "–"  # in the column of a preset whose pipeline does not have the number
PII_RULES = {
    "ADDRESS": "street word, number, place; PO box",
    "CREDIT_CARD": "check digit; issuer or payment word",
    "DATE": "off by default",
    "DOB": "after “born”",
    "DRIVER_LICENSE": "after its name",
    "EMAIL": "grammar; “(at)”, “dot”",
    "IBAN": "length, check digits",
    "IP": "v4, v6; no versions",
    "LOGIN_URL": "user name inside",
    "MAC": "grammar",
    "MRN": "after its name",
    "NATIONAL_ID": "check digit (IT FR BR ES SE), form (UK IN), or name",
    "PASSPORT": "after its name",
    "PERSON": "after a title or farewell; listed first name",
    "PHONE": "international, US, national forms; others near telephone words",
    "PLATE": "form, after vehicle words",
    "SSN": "assigned, with dashes or name",
    "URL": "off by default",
    "USERNAME": "after its name; @name near social media",
    "VIN": "check digit or name",
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
    """Return the types of personal data that the rules find, with how each is found."""
    return format_table(["type", "found by"], [[type, PII_RULES[type]] for type in sorted(PII_TYPES)])


BLOCKS: Blocks = {
    "presets": ("reference/pipelines.md", write_presets),
    "pii-types": ("reference/isolation-and-security.md", write_pii_types),
}
