"""The English names of the months."""

MONTH_NAMES = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
MONTH_PATTERN = "|".join(f"{month}|{month[:3]}" for month in MONTH_NAMES if month != "may") + "|may|sept"


def number_month(name: str) -> int:
    """Return the number, 1..12, of a month that MONTH_PATTERN matches."""
    return next(n for n, month in enumerate(MONTH_NAMES, start=1) if month.startswith(name[:3].lower()))
