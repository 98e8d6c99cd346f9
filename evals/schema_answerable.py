"""Whether a schema is said to answer a question: `python -m evals.schema_answerable DIR`.

DIR is as for `evals.sql_schema`. Asked are 72 questions by a writer who had not seen the code (half in everyday words
for what is there, half for what is nearly there, `evals/data/schema_questions.jsonl`), and the half of DIR's questions
on which nothing was fitted, of their own database and of the next; of all of them also by nearness alone, as where no
small model reads. `--fit` prints the weights for where one does: fitted on the other half and on every second of the
72, of which the rows "kept" are the others. Fit again when the small model is another.
"""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from evals.schema_weights import Example, fit_logistic
from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.errors import Misconfigured
from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.evaluation import markdown_tables, schema_collection
from rag_core.evaluation.labelled_collection import HALVES
from rag_core.evaluation.schema_collection import SchemaCollection
from rag_core.rag import RAG
from rag_core.schema.answerable import describe_columns, estimate_answerable, is_in_schema
from rag_core.schema.chances import compute_logit
from rag_core.schema.features import weigh_features
from rag_core.schema.model import Database
from rag_core.schema.stored_schema import load_schema

HERE = replace(settings.DEFAULT_SETTINGS, data_dir=None)
QUESTIONS = Path(__file__).parent / "data" / "schema_questions.jsonl"
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)
OWN, OTHERS = "DIR, of their own database", "DIR, of another database"
THERE, ABSENT = "written, the schema answers them", "written, it does not quite"
ANSWERABLE = {OWN: True, OTHERS: False, THERE: True, ABSENT: False}
WRITTEN_TIMES = 4  # that a written question counts in fitting: there are four times as many of DIR
RIDGE = 1.0

Question = tuple[str, str]  # its text and the database of which it is asked


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of a question of a schema, and the chances that it is answerable: by reading and by nearness."""

    nearness: float
    answered: float | None
    database: Database

    @property
    def chance(self) -> float:
        return estimate_answerable(self.nearness, self.answered)

    @property
    def chance_by_nearness(self) -> float:
        return estimate_answerable(self.nearness)

    @property
    def is_refused(self) -> bool:
        return not is_in_schema(self.chance, self.database, was_read=self.answered is not None)

    @property
    def is_refused_by_nearness(self) -> bool:
        return not is_in_schema(self.chance_by_nearness, self.database, was_read=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--fit", action="store_true", help="print weights for the small model that reads")
    chosen = parser.parse_args()
    print(asyncio.run(_run_with_databases(chosen.folder, fit_reading if chosen.fit else report_answerable)))


async def _run_with_databases(folder: Path, report: Callable[[SchemaCollection, Kit], Awaitable[str]]) -> str:
    collection = schema_collection.load_schema_collection(folder)
    kit = assembly.build_in_memory_kit(HERE)
    try:
        await schema_collection.index_databases(collection, kit)
        return await report(collection, kit)
    finally:
        await kit.close()


async def report_answerable(collection: SchemaCollection, kit: Kit) -> str:
    """Return how many questions of each kind are refused, the AUC of the chances, and how well they are calibrated."""
    estimates = {kind: await _estimate(asked, kit) for kind, asked in _list_asked(collection, half=1).items()}
    kept = {f"{kind}, kept": estimates[kind][1::2] for kind in (THERE, ABSENT)}
    rows = [_format_refused(kind, found) for kind, found in (estimates | kept).items()]
    by_kind = {kind: [one.chance for one in found] for kind, found in estimates.items()}
    alone = {kind: [one.chance_by_nearness for one in found] for kind, found in estimates.items()}
    return "\n".join(
        [
            markdown_tables.format_table(["questions", "number", "refused", "by nearness alone"], rows),
            "",
            *(
                f"AUC{name}: written {_compute_auc(chances[THERE], chances[ABSENT]):.3f}, "
                f"DIR {_compute_auc(chances[OWN], chances[OTHERS]):.3f}"
                for name, chances in (("", by_kind), (" by nearness alone", alone))
            ),
            f"written, chance and share that is answerable: {'; '.join(_calibrate(by_kind[THERE], by_kind[ABSENT]))}",
        ]
    )


async def fit_reading(collection: SchemaCollection, kit: Kit) -> str:
    """Return the weights of nearness and of what the small model reads.

    Raises:
        Misconfigured: there is no small model.
    """
    if kit.entailment_scorer is None:
        raise Misconfigured("there is no small entailment model here: it comes with the extra `local`")
    examples: list[Example] = []
    for kind, asked in _list_asked(collection, half=0).items():
        is_written = kind in (THERE, ABSENT)
        labelled = [(_list_features(one), ANSWERABLE[kind]) for one in await _estimate(asked, kit)]
        examples += labelled[:: len(HALVES)] * WRITTEN_TIMES if is_written else labelled
    weights = fit_logistic(examples, RIDGE)
    chances = sorted(weigh_features(features, weights) for features, is_there in examples if is_there)
    least = chances[len(chances) // 100]  # below which one in a hundred is
    shown = [f"{name} {weight:.2f}" for name, weight in weights.items()]
    return f"{', '.join(shown)}; least chance {least:.2f}"


def _list_features(one: Estimate) -> dict[str, float]:
    return {"bias": 1.0, "nearness": one.nearness, "answered": compute_logit(one.answered or 0.0)}


def _list_asked(collection: SchemaCollection, *, half: int) -> Mapping[str, Sequence[Question]]:
    """Return the questions by kind: a half of the folder's, and all of the written ones."""
    names = list(collection.databases)
    asked = collection.questions[half :: len(HALVES)]
    written = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    return {
        THERE: [(one["text"], one["db"]) for one in written if one["answerable"]],
        ABSENT: [(one["text"], one["db"]) for one in written if not one["answerable"]],
        OWN: [(one.text, one.database) for one in asked],
        OTHERS: [(one.text, names[(names.index(one.database) + 1) % len(names)]) for one in asked],
    }


async def _estimate(asked: Iterable[Question], kit: Kit) -> list[Estimate]:
    rag, found = RAG(kit), []
    for text, name in asked:
        links = (await rag.link_schema(text, scope=name)).links
        database = (await load_schema(name, Scope(name), kit.index)).database
        passage = describe_columns(links, database)
        read = kit.entailment_scorer and await kit.entailment_scorer.score_answers(text, [passage])
        found.append(Estimate(links.nearness or 0.0, read[0] if read else None, database))
    return found


def _format_refused(kind: str, found: Sequence[Estimate]) -> list[str]:
    by_reading = np.mean([one.is_refused for one in found])
    return [kind, str(len(found)), f"{by_reading:.3f}", f"{np.mean([one.is_refused_by_nearness for one in found]):.3f}"]


def _compute_auc(there: Sequence[float], absent: Sequence[float]) -> float:
    pairs = [(one > other) + 0.5 * (one == other) for one in there for other in absent]
    return float(np.mean(pairs))


def _calibrate(there: Sequence[float], absent: Sequence[float]) -> list[str]:
    labelled = [(one, 1.0) for one in there] + [(one, 0.0) for one in absent]
    shown = []
    for low, high in pairwise(BINS):
        inside = [(chance, label) for chance, label in labelled if low <= chance < high]
        if inside:
            chance, share = np.mean(inside, axis=0)
            shown.append(f"{chance:.2f} {share:.2f} ({len(inside)})")
    return shown


if __name__ == "__main__":
    main()
