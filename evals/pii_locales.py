"""`python -m evals.pii_locales [--redactor presidio|both]`: how much personal data of twelve locales is found, by type.

`evals/data/pii/locales.jsonl` has texts written by hand, with `[[TYPE:value]]` around what is personal data, and texts
that only look like it. The rules were made with the half whose ids have an even hash in view; what they miss in the
other half was looked at by nobody. `fresh.jsonl` was written after the rules, in forms that the other file lacks, and
was looked at later; `unforeseen.jsonl` was written in the same way after that, and half of it is held out. A span is
found when no letter or digit of it can be read; one of ours is right when it meets a label of its type. F2 weighs
recall four times as much as precision.
"""

import argparse
import hashlib
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.pii import build_redactor, is_covered
from rag_core.core.model import PiiSpan
from rag_core.core.ports import Redactor
from rag_core.evaluation import markdown_tables
from rag_core.guard.redaction import OPT_IN_PII_TYPES, PII_TYPES, merge_spans

DATA = Path(__file__).parent / "data" / "pii" / "locales.jsonl"
FRESH, UNFORESEEN = DATA.with_name("fresh.jsonl"), DATA.with_name("unforeseen.jsonl")
LABEL = re.compile(r"\[\[([A-Z_]+):(.*?)\]\](?!\])", re.DOTALL)
UNSTRUCTURED = frozenset({"ADDRESS", "PERSON", "USERNAME"})  # without a format of their own


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text without its marks; `held_out` is whether it lies in the half that nothing was tuned on."""

    id: str
    locale: str
    text: str
    gold: tuple[PiiSpan, ...]
    held_out: bool


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of a type or locale: labelled, found of these; ours, right of these."""

    gold: int = 0
    found: int = 0
    ours: int = 0
    right: int = 0

    @property
    def recall(self) -> float:
        return self.found / self.gold if self.gold else 1.0

    @property
    def precision(self) -> float:
        return self.right / self.ours if self.ours else 1.0

    @property
    def f2(self) -> float:
        """The measure of van Rijsbergen with beta 2: 5 P R / (4 P + R)."""
        bottom = 4 * self.precision + self.recall
        return 5 * self.precision * self.recall / bottom if bottom else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--redactor", choices=("rules", "presidio", "both"), default="rules")
    parser.add_argument("--misses", action="store_true", help="show those of the half that was tuned on")
    chosen = parser.parse_args()
    texts, redactor = read_labelled_texts(), build_redactor(chosen.redactor, PII_TYPES - OPT_IN_PII_TYPES)
    if chosen.misses:
        print("\n".join(find_errors([text for text in texts if not text.held_out], redactor)))
        return 0
    for name, written in (("", texts), ("unforeseen forms, ", read_labelled_texts(UNFORESEEN))):
        for held_out in (False, True):
            half = [text for text in written if text.held_out is held_out]
            title = f"{name}{'held out' if held_out else 'tuned on'}: {len(half)} texts"
            print(f"\n{title}\n\n{format_scores(half, redactor)}")
    fresh = read_labelled_texts(FRESH)
    print(f"\nwritten after the rules, looked at later: {len(fresh)} texts\n\n{format_scores(fresh, redactor)}")
    print(f"\n{measure_speed(texts, redactor):.0f} kB a CPU second")
    return 0


def read_labelled_texts(path: Path = DATA) -> list[LabelledText]:
    return [_parse_labels(json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def _parse_labels(row: Mapping[str, str]) -> LabelledText:
    parts: list[str] = []
    gold: list[PiiSpan] = []
    at = size = 0
    for mark in LABEL.finditer(row["text"]):
        parts += [row["text"][at : mark.start()], mark[2]]
        start = size + mark.start() - at
        gold.append(PiiSpan(start, start + len(mark[2]), mark[1]))
        at, size = mark.end(), start + len(mark[2])
    held_out = hashlib.sha256(row["id"].encode()).digest()[0] % 2 == 1
    return LabelledText(row["id"], row["locale"], "".join([*parts, row["text"][at:]]), tuple(gold), held_out)


def count_scores(texts: Sequence[LabelledText], redactor: Redactor) -> dict[str, Score]:
    """Return the score of each type and locale, of all types and, as `structured`, of all that have a format."""
    counts: Counter[tuple[str, str]] = Counter()
    for text in texts:
        ours = merge_spans(redactor.find_pii_spans(text.text))
        for type, number in _count_text(text, ours):
            counts.update((name, number) for name in _name_rows(type, text.locale))
    names = dict.fromkeys(name for name, _ in counts)
    return {name: Score(**{number: counts[name, number] for number in Score.__slots__}) for name in names}


def _name_rows(type: str, locale: str) -> tuple[str, ...]:
    return (type, locale, "all") if type in UNSTRUCTURED else (type, locale, "structured", "all")


def _count_text(text: LabelledText, ours: Sequence[PiiSpan]) -> Iterator[tuple[str, str]]:
    for gold in text.gold:
        yield gold.type, "gold"
        if is_covered(text.text, gold, ours):
            yield gold.type, "found"
    for span in ours:
        yield span.type, "ours"
        if _is_right(span, text):
            yield span.type, "right"


def _is_right(span: PiiSpan, text: LabelledText) -> bool:
    return any(span.start < gold.end and gold.start < span.end and gold.type == span.type for gold in text.gold)


def format_scores(texts: Sequence[LabelledText], redactor: Redactor) -> str:
    """Format the scores as a Markdown table: types, then locales, then the totals."""
    scores = count_scores(texts, redactor)
    rows = sorted(scores, key=lambda name: (name in ("structured", "all"), not name.isupper(), name))
    cells = [[name, str(scores[name].gold), *_format_shares(scores[name])] for name in rows]
    return markdown_tables.format_table(["type or locale", "n", "recall", "precision", "F2"], cells)


def _format_shares(score: Score) -> list[str]:
    return [f"{share:.3f}" for share in (score.recall, score.precision, score.f2)]


def find_errors(texts: Sequence[LabelledText], redactor: Redactor) -> Iterator[str]:
    """Yield what was missed, and what was taken for something that it is not, each with its text."""
    for text in texts:
        ours = merge_spans(redactor.find_pii_spans(text.text))
        missed = (("missed", gold) for gold in text.gold if not is_covered(text.text, gold, ours))
        wrong = (("wrong ", span) for span in ours if not _is_right(span, text))
        for word, span in (*missed, *wrong):
            yield f"{text.id} {word} {span.type} {text.text[span.start : span.end]!r} in {text.text!r}"


def measure_speed(texts: Sequence[LabelledText], redactor: Redactor, *, rounds: int = 5) -> float:
    """Return the thousands of characters that are read in a second of CPU time, each text on its own."""
    began = time.process_time()
    for _ in range(rounds):
        for text in texts:
            redactor.find_pii_spans(text.text)
    return rounds * sum(len(text.text) for text in texts) / (time.process_time() - began) / 1000


if __name__ == "__main__":
    sys.exit(main())
