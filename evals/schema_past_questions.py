"""The weight of past questions, by leaving out each question in turn: `python -m evals.schema_past_questions DIR`.

DIR is as for `rag eval schema`. Only its first half is asked: each question with the others of its database as those
asked before, and with weights of the linker that were fitted without that database.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evals import schema_weights
from evals.schema_weights import GatheredQuestion
from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.evaluation import markdown_tables, schema_collection
from rag_core.evaluation.labelled_collection import HALVES
from rag_core.evaluation.restricted_databases import fill_database
from rag_core.evaluation.schema_collection import SchemaCollection, SchemaQuestion
from rag_core.evaluation.schema_history import ALIKE_COSINE, Cosines, compare_questions
from rag_core.evaluation.schema_linking import LinkScores, score_links
from rag_core.schema.documents import PastQuestion
from rag_core.schema.linking import LinkBudget, LinkWeights, link_columns
from rag_core.schema.model import SchemaLinks
from rag_core.schema.past_use import QuestionLog

HERE = replace(settings.DEFAULT_SETTINGS, data_dir=None)
WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
EVERY = 1.01  # a cosine that no question reaches: none is left out
FIGURES = ("columns_short", "columns", "tables", "runs")


@dataclass(frozen=True)
class AskedHalf:
    """The first half: its questions, what the index says of each, and their cosines with one another."""

    collection: SchemaCollection
    questions: Sequence[SchemaQuestion]
    gathered: Sequence[GatheredQuestion]
    cosines: Cosines

    def add_past(self, place: int, below: float) -> GatheredQuestion:
        """Return a question with what the others of its database say of it, of those whose cosine is `below`."""
        one, row = self.gathered[place], self.cosines[place]
        others = [
            PastQuestion(other.text, other.sql, tuple(other.needed))
            for other, cosine in zip(self.questions, row, strict=True)
            if other.database == one.database and other is not self.questions[place] and cosine < below
        ]
        log = QuestionLog(others, frozenset(one.evidence.words.by_column))
        return replace(one, evidence=replace(one.evidence, past=log.find_past_use(one.evidence.question)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    print(asyncio.run(report_weights(parser.parse_args().folder)))


async def report_weights(folder: Path) -> str:
    """Return a table of the figures by weight, with all others asked before and with those that are not nearly it."""
    half = await _gather_half(folder)
    names = list(half.collection.databases)
    fitted = {
        name: schema_weights.fit_weights([one for one in half.gathered if one.database != name]) for name in names
    }
    rows = [await _measure(half, fitted, weight, below) for below in (EVERY, ALIKE_COSINE) for weight in WEIGHTS]
    return markdown_tables.format_table(["cosine below", "weight", "columns@10", "@20", "tables@4", "SQL runs"], rows)


async def _gather_half(folder: Path) -> AskedHalf:
    collection = schema_collection.load_schema_collection(folder)
    questions = collection.questions[:: len(HALVES)]
    kit = assembly.build_in_memory_kit(HERE)
    try:
        await schema_collection.index_databases(collection, kit)
        gathered = await schema_weights.gather_all_evidence(questions, kit)
        return AskedHalf(collection, questions, gathered, await compare_questions(questions, questions, kit))
    finally:
        await kit.close()


async def _measure(half: AskedHalf, fitted: dict[str, LinkWeights], weight: float, below: float) -> list[str]:
    places = {one.text: place for place, one in enumerate(half.questions)}

    async def link(one: SchemaQuestion) -> SchemaLinks:
        gathered = half.add_past(places[one.text], below)
        return link_columns(gathered.evidence, LinkBudget(), weights=replace(fitted[one.database], past=weight))

    filled = {name: fill_database(one, half.collection.folder) for name, one in half.collection.databases.items()}
    scores = await score_links(link, half.questions, filled)
    means = [np.mean([value for one in scores if (value := _get(one, figure)) is not None]) for figure in FIGURES]
    return ["all" if below == EVERY else str(below), str(weight), *(f"{mean:.3f}" for mean in means)]


def _get(scores: LinkScores, figure: str) -> float | None:
    value: float | None = getattr(scores, figure)
    return value


if __name__ == "__main__":
    main()
