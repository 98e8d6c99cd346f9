"""`python -m evals.pii DIR [--redactor presidio] [--others DIR]`: how much of what tells of persons is found.

DIR holds `presidio_synth.jsonl.gz`: texts with labelled spans, each made from a template. Shapes and lists were made
with the texts of half of the templates in view, those whose id has an even hash; the other half is reported. A span is
covered when all its characters are redacted, but for spaces and punctuation; typed, when under its own name. A span of
ours counts against precision when no labelled character is in it.

With --others, also what is redacted in texts that tell of nobody: a folder whose `*.jsonl`, `*.jsonl.gz` and
`*.csv.gz` are read line by line.
"""

import argparse
import gzip
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_core.core.model import PiiSpan
from rag_core.core.ports import Redactor
from rag_core.evaluation import markdown_tables
from rag_core.guard.redaction import PII_TYPES, JoinedRedactor, RuleBasedRedactor, merge_spans

OURS = {  # what we call what the texts are labelled with
    "CREDIT_CARD": "CREDIT_CARD",
    "PHONE_NUMBER": "PHONE",
    "EMAIL_ADDRESS": "EMAIL",
    "IBAN_CODE": "IBAN",
    "US_SSN": "SSN",
    "IP_ADDRESS": "IP",
    "US_DRIVER_LICENSE": "DRIVER_LICENSE",
    "DOMAIN_NAME": "URL",
    "DATE_TIME": "DATE",
    "PERSON": "PERSON",
    "STREET_ADDRESS": "ADDRESS",
}
STRUCTURED = ("CREDIT_CARD", "PHONE", "EMAIL", "IBAN", "SSN", "IP", "DRIVER_LICENSE", "URL")
ALIKE = {"DOB": "DATE", "LOGIN_URL": "URL"}


def is_tuned_on(template: int) -> bool:
    """Return whether the rules were made with this template in view, fixed before any error was looked at."""
    return hashlib.sha256(str(template).encode()).digest()[0] % 2 == 0


@dataclass(frozen=True, slots=True)
class PiiText:
    text: str
    gold: tuple[PiiSpan, ...]
    template: int


@dataclass(frozen=True, slots=True)
class PiiCounts:
    """Counts of a type: how many are labelled, covered, typed right; how many are ours, right, outside of any label."""

    type: str
    gold: int = 0
    covered: int = 0
    typed: int = 0
    ours: int = 0
    right: int = 0
    outside: int = 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--redactor", choices=("rules", "presidio", "both"), default="rules")
    parser.add_argument("--others", type=Path, nargs="*", default=(), metavar="DIR")
    parser.add_argument("--misses", action="store_true", help="show those of the half that was tuned on")
    chosen = parser.parse_args()
    texts, redactor = load_pii_texts(chosen.folder), build_redactor(chosen.redactor, PII_TYPES)
    if chosen.misses:
        print("\n".join(find_misses([text for text in texts if is_tuned_on(text.template)], redactor)))
        return 0
    for half in (True, False):
        mine = [text for text in texts if is_tuned_on(text.template) is half]
        head = f"{'tuned on' if half else 'reported'}: {len(mine)} texts"
        print(f"\n{head}\n\n{format_pii_table(count_by_type(mine, redactor))}")
    for folder in chosen.others:
        print(f"\n{report_false_alarms(folder, redactor)}")
    return 0


def build_redactor(name: str, types: frozenset[str]) -> Redactor:
    if name == "rules":
        return RuleBasedRedactor(types)
    from rag_core.providers.presidio import TYPES_ADDED_TO_RULES, PresidioRedactor

    if name == "both":
        return JoinedRedactor(RuleBasedRedactor(types), PresidioRedactor(types & TYPES_ADDED_TO_RULES))
    return PresidioRedactor(types)


def load_pii_texts(folder: Path) -> list[PiiText]:
    with gzip.open(folder / "presidio_synth.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [_parse_text(json.loads(line)) for line in lines]


def _parse_text(found: Mapping[str, object]) -> PiiText:
    spans = [PiiSpan(s["start"], s["end"], OURS.get(s["type"], s["type"])) for s in found["spans"]]  # type: ignore[attr-defined]
    return PiiText(str(found["text"]), tuple(spans), int(str(found["template"])))


def count_by_type(texts: Iterable[PiiText], redactor: Redactor) -> list[PiiCounts]:
    """Return the counts of each type of ours, and of the structured types together."""
    counts: Counter[tuple[str, str]] = Counter()
    for text in texts:
        counts.update(_count_spans(text, merge_spans(redactor.find_pii_spans(text.text))))
    each = [
        PiiCounts(kind, **{name: n for (k, name), n in counts.items() if k == kind})
        for kind in dict.fromkeys(OURS.values())
    ]
    return [*each, _sum_counts("structured", [row for row in each if row.type in STRUCTURED])]


def _sum_counts(name: str, parts: Sequence[PiiCounts]) -> PiiCounts:
    numbers = ("gold", "covered", "typed", "ours", "right", "outside")
    return PiiCounts(name, *(sum(getattr(row, number) for row in parts) for number in numbers))


def _count_spans(text: PiiText, ours: Sequence[PiiSpan]) -> Iterator[tuple[str, str]]:
    for gold in text.gold:
        yield gold.type, "gold"
        if is_covered(text.text, gold, ours):
            yield gold.type, "covered"
        if any(_overlap_spans(gold, span) and _unify_type(span) == gold.type for span in ours):
            yield gold.type, "typed"
    for span in ours:
        met = [gold.type for gold in text.gold if _overlap_spans(gold, span)]
        yield _unify_type(span), "ours"
        if _unify_type(span) in met:
            yield _unify_type(span), "right"
        if not met:
            yield _unify_type(span), "outside"


def is_covered(text: str, gold: PiiSpan, ours: Sequence[PiiSpan]) -> bool:
    """Return whether nothing that can be read of a span is left."""
    hidden = {at for span in ours for at in range(span.start, span.end)}
    return all(at in hidden or not text[at].isalnum() for at in range(gold.start, gold.end))


def _overlap_spans(one: PiiSpan, other: PiiSpan) -> bool:
    return one.start < other.end and other.start < one.end


def _unify_type(span: PiiSpan) -> str:
    return ALIKE.get(span.type, span.type)


def find_misses(texts: Iterable[PiiText], redactor: Redactor) -> Iterator[str]:
    """Yield what was not covered, and what was taken for something that it is not, each in its context."""
    for text in texts:
        ours = merge_spans(redactor.find_pii_spans(text.text))
        for gold in text.gold:
            if gold.type in OURS.values() and not is_covered(text.text, gold, ours):
                yield f"missed {_format_span(text.text, gold)}"
        for span in ours:
            if not any(_overlap_spans(span, gold) and gold.type == _unify_type(span) for gold in text.gold):
                yield f"wrong  {_format_span(text.text, span)}"


def _format_span(text: str, span: PiiSpan) -> str:
    before, after = text[max(0, span.start - 30) : span.start], text[span.end : span.end + 15]
    return f"{span.type} {before!r} <{text[span.start : span.end]!r}> {after!r}"


def format_pii_table(found: Sequence[PiiCounts]) -> str:
    head = ["type", "labelled", "covered", "recall", "typed recall", "ours", "precision", "outside any label"]
    return markdown_tables.format_table(head, map(_format_pii_cells, found))


def _format_pii_cells(row: PiiCounts) -> list[str]:
    shares = (
        _format_ratio(row.covered, row.gold),
        _format_ratio(row.typed, row.gold),
        _format_ratio(row.right, row.ours),
    )
    return [row.type, str(row.gold), str(row.covered), *shares[:2], str(row.ours), shares[2], str(row.outside)]


def _format_ratio(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"


def report_false_alarms(folder: Path, redactor: Redactor) -> str:
    """Format what is redacted in texts of a folder, by type, with the first few of each, and the speed."""
    texts = [line for path in sorted(folder.rglob("*")) for line in read_texts(path)]
    began = time.process_time()
    spans = [(text, span) for text in texts for span in merge_spans(redactor.find_pii_spans(text))]
    size, seconds = sum(map(len, texts)), time.process_time() - began
    kinds = Counter(span.type for _, span in spans)
    shown = (f"  {kind} {count}: {_format_examples(spans, kind)}" for kind, count in kinds.most_common())
    head = f"{folder}: {len(texts)} texts, {size} characters, {size / seconds:.0f} a CPU second"
    return "\n".join([head, *shown])


def _format_examples(spans: Sequence[tuple[str, PiiSpan]], kind: str) -> str:
    found = dict.fromkeys(text[span.start : span.end] for text, span in spans if span.type == kind)
    return "; ".join(list(found)[:12]).replace("\n", " ")


def read_texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file: each line, without the JSON around it."""
    if not path.name.endswith((".jsonl", ".jsonl.gz", ".csv.gz", ".md")):
        return
    data = path.read_bytes()
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines():
        yield " ".join(map(str, json.loads(line).values())) if ".jsonl" in path.name else line


if __name__ == "__main__":
    sys.exit(main())
