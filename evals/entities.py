"""How many of the entities that a person sees in texts are found without a chat model, and what is found besides.

    python -m evals.entities [tuning|final] [--pii FILE] [--show]

The texts are those of evals/data/entities, indexed as a user's would be, without embeddings. An entity counts once a
document; it is right in letter and type, in whatever case. With --pii the texts are those of the labelled set of
microsoft/presidio-research, of which persons, places, organizations and dates are counted.
"""

import argparse
import asyncio
import gzip
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_core.composition.assembly import build_in_memory_kit
from rag_core.core.model import Scope
from rag_core.evaluation.markdown_tables import format_table
from rag_core.ingestion.upload import Upload
from rag_core.providers.null_models import NoEmbedder
from rag_core.rag import RAG

FOLDER = Path(__file__).parent / "data" / "entities"
SCOPE = Scope("entities")
TYPES = {"p": "person", "o": "organization", "l": "place", "d": "date", "m": "money", "r": "product", "c": "code"}
SUBTYPES = {"dtc": "code", "part": "code"}  # types that are counted as another
MARK = re.compile(r"\{\{([?a-z]):([^{}]+)\}\}")
PII_TYPES = {"PERSON": "person", "GPE": "place", "ORGANIZATION": "organization", "DATE_TIME": "date"}
TITLE = re.compile(r"^(?:the|mr|mrs|ms|dr|prof|sir)\.? ")
Labels = frozenset[tuple[str, str]]  # (type, text in lower case)


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A text with its entities; `ignored` has the texts that count neither for nor against."""

    name: str
    text: str
    labels: Labels
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class EntityOutcome:
    """What was found in a text."""

    labelled: LabelledText
    found: Labels

    @property
    def right(self) -> Labels:
        return self.labelled.labels & self.found

    @property
    def missed(self) -> Labels:
        return self.labelled.labels - self.found

    @property
    def wrong(self) -> Labels:
        """What was found and is none, or of another type, unless it is part of what counts neither way."""
        judged = self.found - self.labelled.labels
        return frozenset(
            (type, text) for type, text in judged if not any(text in ignored for ignored in self.labelled.ignored)
        )


def load_texts(half: str) -> list[LabelledText]:
    """Return the texts of a half, "tuning" or "final"."""
    return [_read_marked_text(path) for path in sorted((FOLDER / half).iterdir())]


def _read_marked_text(path: Path) -> LabelledText:
    marked = path.read_text("utf-8")
    marks = [(kind, fold(text)) for kind, text in MARK.findall(marked)]
    labels = frozenset((TYPES[kind], text) for kind, text in marks if kind != "?")
    ignored = frozenset(text for kind, text in marks if kind == "?")
    return LabelledText(path.name, MARK.sub(r"\2", marked), labels, ignored)


def load_pii_texts(path: Path) -> list[LabelledText]:
    """Return the texts of the set of presidio-research whose labels are of types that are counted here."""
    return list(_read_pii_texts(path))


def _read_pii_texts(path: Path) -> Iterator[LabelledText]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            spans = [(PII_TYPES.get(span["type"]), fold(span["text"])) for span in row["spans"]]
            labels = frozenset((type, text) for type, text in spans if type)
            yield LabelledText(f"{row['_id']}.txt", row["text"], labels, frozenset(t for type, t in spans if not type))


def fold(text: str) -> str:
    """Return a text as it is compared: in lower case, its spaces single, without an article or a title before it."""
    return TITLE.sub("", " ".join(text.casefold().split()))


async def find_entities(texts: Sequence[LabelledText], types: frozenset[str]) -> list[EntityOutcome]:
    """Index the texts as one workflow and return what entities of these types each has; other types count as wrong."""
    kit = build_in_memory_kit()
    rag = RAG(replace(kit, index=replace(kit.index, embedder=NoEmbedder("none is needed"))))
    for labelled in texts:
        data = labelled.text.encode()
        upload = Upload(document_id=labelled.name, filename=labelled.name, data=data)
        await rag.index(upload, scope=SCOPE)
    outcomes = []
    for labelled in texts:
        chunks = await rag.kit.index.store.select(replace(SCOPE, document_ids=(labelled.name,)), limit=10_000)
        entities = {(SUBTYPES.get(e.type, e.type), fold(e.value)) for chunk in chunks for e in chunk.entities}
        outcomes.append(EntityOutcome(labelled, frozenset(e for e in entities if not types or e[0] in types)))
    await rag.close()
    return outcomes


def format_report(outcomes: Sequence[EntityOutcome]) -> str:
    """Return precision, recall and F1 of each type and of all; types that no label has stand in a row each."""
    types = sorted({type for outcome in outcomes for type, _ in outcome.labelled.labels | outcome.wrong})
    rows = [_score(type, outcomes, frozenset([type])) for type in types]
    return format_table(
        ["type", "labelled", "found", "right", "precision", "recall", "F1"],
        [*rows, _score("all", outcomes, frozenset(types))],
    )


def _score(name: str, outcomes: Sequence[EntityOutcome], types: frozenset[str]) -> list[object]:
    right, missed, wrong = (
        sum(sum(type in types for type, _ in getattr(outcome, part)) for outcome in outcomes)
        for part in ("right", "missed", "wrong")
    )
    precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return [name, right + missed, right + wrong, right, f"{precision:.3f}", f"{recall:.3f}", f"{f1:.3f}"]


def _describe(outcome: EntityOutcome) -> str:
    missed, wrong = ([f"{text} ({type})" for type, text in sorted(part)] for part in (outcome.missed, outcome.wrong))
    return f"{outcome.labelled.name}\n  missed: {'; '.join(missed)}\n  wrong: {'; '.join(wrong)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("half", choices=("tuning", "final"), nargs="?", default="tuning")
    parser.add_argument("--pii", type=Path, help="the file presidio_synth.jsonl.gz, in place of our texts")
    parser.add_argument("--show", action="store_true", help="what was missed and what is wrong, by document")
    arguments = parser.parse_args()
    texts = load_pii_texts(arguments.pii) if arguments.pii else load_texts(arguments.half)
    types = frozenset(PII_TYPES.values()) if arguments.pii else frozenset[str]()
    start = time.process_time()
    outcomes = asyncio.run(find_entities(texts, types))
    if arguments.show:
        print("\n".join(map(_describe, outcomes)))
    print(format_report(outcomes))
    print(f"{len(texts)} documents, {time.process_time() - start:.1f} CPU seconds with indexing")


if __name__ == "__main__":
    main()
