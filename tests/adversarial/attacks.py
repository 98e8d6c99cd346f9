"""Texts against one regular expression, made from its own parts: each of its repetitions repeated, then broken off.

For a repetition X* behind P they are PXXXX…, PXPXPX… and XXXX…, each with an end that the expression does not expect.
"""

import random
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.adversarial.shapes import Shape, repeat

REPEATS = (re._constants.MAX_REPEAT, re._constants.MIN_REPEAT, re._constants.POSSESSIVE_REPEAT)
CATEGORIES = {"DIGIT": "7", "SPACE": " \n", "WORD": "a7_", "NOT_DIGIT": "a ", "NOT_SPACE": "a.", "NOT_WORD": " ."}
SAMPLES = 2  # of each repetition, with other choices of letters and branches
LETTERS = "aA7 .-_,;:/\\'\"()[]{}<>|@#=&%+*!?\né。"


def list_attacks(pattern: re.Pattern[Any], seed: int = 0) -> list[Shape]:
    """Return shapes for every repetition of a pattern; the same ones each time."""
    tree = re._parser.parse(pattern.pattern, pattern.flags)
    texts: dict[str, Shape] = {}
    for number in range(SAMPLES):
        sampler = _Sampler(random.Random(seed + number))
        whole = sampler.write(tree)
        for prefix, body in sampler.find_repeats(tree, ""):
            for key, shape in (
                (f"{prefix}({body})*", partial(_pump, prefix, body)),
                (f"({prefix}{body})*", partial(repeat, prefix + body)),
                (f"({prefix}{body * 3})*", partial(repeat, prefix + body * 3)),
                (f"({body})*", partial(repeat, body)),
            ):
                if key.strip("()*"):
                    texts.setdefault(key, shape)
        if len(whole) > 1:
            texts.setdefault(f"({whole[:-1]})*", partial(repeat, whole[:-1]))
    return list(texts.values())


def _pump(prefix: str, body: str, chars: int) -> str:
    return prefix + repeat(body, max(len(body) + 8, chars - len(prefix)))


class _Sampler:
    """Writes texts that parts of a parsed pattern match; look-arounds and positions match nothing."""

    def __init__(self, chooser: random.Random) -> None:
        self._chooser = chooser
        self._groups: dict[int, str] = {}

    def write(self, nodes: Any) -> str:
        return "".join(self._write_node(str(op), arg) for op, arg in nodes)

    def find_repeats(self, nodes: Any, before: str) -> Iterator[tuple[str, str]]:
        """Yield what stands before each repetition, and what it repeats; the outer one before those within."""
        for op, arg in nodes:
            if op in REPEATS:
                _, high, body = arg
                if high > 1 and (text := self.write(body)):
                    yield before, text
                yield from self.find_repeats(body, before)
            elif str(op) == "BRANCH":
                for branch in arg[1]:
                    yield from self.find_repeats(branch, before)
            elif str(op) in ("SUBPATTERN", "ATOMIC_GROUP", "ASSERT", "ASSERT_NOT"):
                yield from self.find_repeats(arg if str(op) == "ATOMIC_GROUP" else arg[-1], before)
            before += self._write_node(str(op), arg)

    def _write_node(self, op: str, arg: Any) -> str:
        match op:
            case "LITERAL":
                return chr(arg)
            case "NOT_LITERAL":
                return self._choose(lambda letter: ord(letter) != arg)
            case "ANY":
                return "a"
            case "IN":
                return self._choose_from_set(arg)
            case "BRANCH":
                return self.write(self._chooser.choice(arg[1]))
            case "SUBPATTERN":
                self._groups[arg[0]] = text = self.write(arg[3])
                return text
            case "ATOMIC_GROUP":
                return self.write(arg)
            case "GROUPREF":
                return self._groups.get(arg, "")
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self.write(arg[2]) * max(arg[0], min(arg[1], self._chooser.choice((0, 1, 2))))
            case _:  # a position, or what is looked for ahead or behind
                return ""

    def _choose_from_set(self, items: Any) -> str:
        negated, letters = False, ""
        for op, arg in items:
            match str(op):
                case "NEGATE":
                    negated = True
                case "LITERAL":
                    letters += chr(arg)
                case "RANGE":
                    letters += "".join(filter(lambda x, r=arg: r[0] <= ord(x) <= r[1], LETTERS)) or chr(arg[0])
                case "CATEGORY":
                    letters += CATEGORIES[str(arg).removeprefix("CATEGORY_").removeprefix("UNI_")]
        return self._choose(lambda letter: letter not in letters) if negated else self._chooser.choice(letters)

    def _choose(self, allows: Any) -> str:
        return self._chooser.choice(list(filter(allows, LETTERS)) or ["x"])
