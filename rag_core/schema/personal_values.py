"""Which values of a column are personal data, told by the redactor with the column's name as a header."""

from collections.abc import Sequence

from rag_core.core.errors import Unavailable
from rag_core.core.ports import Redactor
from rag_core.text.name_abbreviations import expand_identifier

BATCH_ROWS = 50  # read by the redactor at once


def find_personal_values(column: str, values: Sequence[str], redactor: Redactor) -> set[str]:
    """Return those of the values that the redactor takes for personal data; all where it fails.

    A number alone is what its column says, so the name stands above the values as the header of a table.
    """
    found: set[str] = set()
    for start in range(0, len(values), BATCH_ROWS):
        found |= _find_in_batch(column, values[start : start + BATCH_ROWS], redactor)
    return found


def _find_in_batch(column: str, values: Sequence[str], redactor: Redactor) -> set[str]:
    header = f"| {expand_identifier(column)} |\n| --- |\n"
    lines = [f"| {' '.join(value.replace('|', ' ').split())} |" for value in values]
    text = header + "\n".join(lines)
    try:
        spans = redactor.find_pii_spans(text)
    except Unavailable:
        return set(values)
    found, at = set(), len(header)
    for value, line in zip(values, lines, strict=True):
        if any(span.start < at + len(line) and at < span.end for span in spans):
            found.add(value)
        at += len(line) + 1
    return found
