"""Every regular expression of the app takes time that grows with the length of the text, and with nothing else."""

import ast
import re
from collections.abc import Callable
from typing import Any

from tests.adversarial.attacks import list_attacks
from tests.adversarial.growth import Growth, find_excess
from tests.adversarial.patterns import PACKAGES, ROOT, collect_patterns
from tests.adversarial.shapes import SHAPES, Shape

CHARS = 1_250  # and twice as many; what is suspected, also for four times that
FLOOR_S, MAX_S = 0.002, 0.05  # for the longer text: the square that takes 8 ms for twice its characters takes 2 ms
# that compile what a module or a record keeps, and parts of a pattern that is pumped as a whole
FUNCTIONS_WITH_VARIABLES = {
    "_compile_beginnings",  # of the words of a question, escaped: one alternation, and the rest of the word
    "_compile_cue",
    "_compile_form",  # of telephone numbers: for at most 15 digits
    "_compile_format",
    "_compile_kinds",
    "_cue",
    "_mentions_word",
    "_normalize_part_names",
    "cell",
    "compile_address_form",
    "find_literals",
    "find_words_beside_names",
    "header",
    "load_plan",
    "pattern",
}


def test_no_pattern_of_the_app_takes_more_than_linear_time() -> None:
    """Each is searched for and matched in full, in the texts of all shapes and in those made from its own parts."""
    patterns = collect_patterns()
    assert len(patterns) > 200
    assert excesses(patterns) == []


def test_a_pattern_that_takes_the_square_is_found() -> None:
    """Of patterns that this package once had: each is found by one text at least."""
    once = (r"[^\W_]+(?=_)|(?<=_)[^\W_]+", r"(?m)^[ \t]*-{3,}[- \t]*$", r"(?:\d+(?:,\d{3})++|\d+)(?![\w]|[.,]\d)")
    for expression in once:
        assert excesses({expression: re.compile(expression)}, first=True), expression


def test_functions_give_constants_to_re() -> None:
    """A pattern that a function makes from a variable, and that no module keeps, would not be pumped."""
    functions = {
        function.name
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
        for function in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("re.") and call.args
        if not isinstance(call.args[0], ast.Constant)
    }
    assert functions == FUNCTIONS_WITH_VARIABLES


def excesses(patterns: dict[str, re.Pattern[Any]], *, first: bool = False) -> list[str]:
    """Return a line for each pattern and shape that take too long together, with `first` for one shape a pattern."""
    found: list[str] = []
    for place, pattern in patterns.items():
        for shape in (*list_attacks(pattern), *SHAPES.values()):
            if growth := grow(pattern, shape):
                found.append(f"{place}: {growth}, such as {shape(60)!r}")
                if first:
                    break
    return found


def grow(pattern: re.Pattern[Any], shape: Shape) -> Growth | None:
    return find_excess(apply(pattern), shape, chars=CHARS, floor_s=FLOOR_S, max_s=MAX_S)


def apply(pattern: re.Pattern[Any]) -> Callable[[str], None]:
    def search(text: str) -> None:
        given: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
        for _ in pattern.finditer(given):
            pass
        pattern.fullmatch(given)

    return search
