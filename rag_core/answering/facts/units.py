"""Units of measure by their forms: what each is compared in, and how much of that it is."""

from collections.abc import Mapping
from decimal import Decimal

from rag_core.text.normalization import parse_word_forms

# units by what they are compared in, with their amounts in it: two years are 24 months
_UNIT_LINES = """second: millisecond 0.001, second 1, minute 60, hour 3600, day 86400, week 604800, fortnight 1209600
month: month 1, quarter 3, year 12, decade 120, century 1200
gram: microgram 0.000001, milligram 0.001, gram 1, kilogram 1000, ton 1000000, pound 453.59237, ounce 28.349523
liter: milliliter 0.001, centiliter 0.01, deciliter 0.1, liter 1, gallon 3.785412
watt: watt 1, kilowatt 1000, megawatt 1000000
hertz: hertz 1, kilohertz 1000, megahertz 1000000, gigahertz 1000000000
meter: micrometer 0.000001, millimeter 0.001, centimeter 0.01, meter 1, kilometer 1000
meter: inch 0.0254, foot 0.3048, yard 0.9144, mile 1609.344
megabyte: kilobyte 0.001, megabyte 1, gigabyte 1000, terabyte 1000000
hectare: hectare 1, acre 0.404686
percent: percent 1, fraction 100
mol: micromol 0.000001, mmol 0.001, mol 1"""
_PLAIN_UNITS = (
    "usd eur gbp jpy chf yuan rupee krona cent penny degree celsius fahrenheit volt amp ohm bar psi pascal kpa mmhg "
    "atmosphere joule calorie kcal kwh decibel db rpm ppm lux token word page point pixel px time clock bps bit mbit "
    "gbit"
)
_OTHER_NAMES = """second: s sekunde sekunden segundo seconde
minute: minuten minuto
hour: stunde stunden hora heure
day: d tag tage tagen día jour
week: woche wochen semana semaine
month: monat monate monaten mes mois
year: jahr jahre jahren año an
ton: t tonne
liter: l
deciliter: dl
microgram: μg
volt: v
watt: w
jpy: yen
chf: franc franken"""
TIME_KINDS = frozenset(["second", "month"])


def _parse_units() -> Mapping[str, tuple[str, Decimal]]:
    """Return the kind and the factor of each unit, by its form."""
    units = {form: (form, Decimal(1)) for form in parse_word_forms(_PLAIN_UNITS)}
    for line in _UNIT_LINES.splitlines():
        kind, _, members = line.partition(": ")
        for name, factor in (member.split() for member in members.split(", ")):
            units |= {form: (kind, Decimal(factor)) for form in parse_word_forms(name)}
    return units


UNIT_FACTORS = _parse_units()
# symbols that are no words by themselves, and words of other languages that answers may be in
UNIT_ALIASES = {
    other: unit
    for name, _, others in (line.partition(": ") for line in _OTHER_NAMES.splitlines())
    for unit in parse_word_forms(name)
    for other in parse_word_forms(others)
}
TIME_UNIT_FORMS = frozenset(form for form, (kind, _) in UNIT_FACTORS.items() if kind in TIME_KINDS)


def get_unit(form: str) -> str:
    """Return the unit for which the form of a word stands, "" for none."""
    unit = UNIT_ALIASES.get(form, form)
    return unit if unit in UNIT_FACTORS else ""


def get_unit_kind(unit: str) -> str:
    """Return what a unit is compared in: "second" for weeks, "month" for years; "" for no unit."""
    return UNIT_FACTORS[unit][0] if unit else ""
