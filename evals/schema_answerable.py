"""Whether a schema is said to answer a question: `python -m evals.schema_answerable DIR`.

DIR is as for `evals.sql_schema`. Asked are 72 questions by a writer who had not seen the code (half in everyday words
for what is there, half for what is nearly there, `evals/data/schema_questions.jsonl`), and the half of DIR's questions
on which nothing was fitted, of their own database and of the next.
"""

import argparse
import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.evaluation import schema_collection
from rag_core.rag import RAG
from rag_core.schema.answerable import MIN_ANSWERABLE

HERE = replace(settings.DEFAULT_SETTINGS, data_dir=None)
QUESTIONS = Path(__file__).parent / "data" / "schema_questions.jsonl"
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)

Asked = tuple[str, str]  # a question and the database of which it is asked


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    print(asyncio.run(report_answerable(parser.parse_args().folder)))


async def report_answerable(folder: Path) -> str:
    """Return how many questions of each kind are refused, the AUC of the chances, and how well they are calibrated."""
    collection = schema_collection.load_schema_collection(folder)
    names = list(collection.databases)
    unseen = collection.questions[1::2]
    written = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    kit = assembly.build_in_memory_kit(HERE)
    try:
        await schema_collection.index_databases(collection, kit)
        rag = RAG(kit)
        own = await _estimate(((one.text, one.database) for one in unseen), rag)
        elsewhere = ((one.text, names[(names.index(one.database) + 1) % len(names)]) for one in unseen)
        others = await _estimate(elsewhere, rag)
        there = await _estimate(((one["text"], one["db"]) for one in written if one["answerable"]), rag)
        absent = await _estimate(((one["text"], one["db"]) for one in written if not one["answerable"]), rag)
    finally:
        await kit.close()
    return "\n".join(
        [
            "| questions | number | refused |",
            "| --- | --- | --- |",
            _format_refused("written, the schema answers them", there),
            _format_refused("written, it does not quite", absent),
            _format_refused("DIR, of their own database", own),
            _format_refused("DIR, of another database", others),
            "",
            f"AUC: written {_compute_auc(there, absent):.2f}, DIR {_compute_auc(own, others):.2f}",
            f"written, chance and share that is answerable: {'; '.join(_calibrate(there, absent))}",
        ]
    )


async def _estimate(asked: Iterable[Asked], rag: RAG) -> list[float]:
    links = [(await rag.link_schema(text, scope=database)).links for text, database in asked]
    return [one.answerable or 0.0 for one in links]


def _format_refused(kind: str, chances: Sequence[float]) -> str:
    return f"| {kind} | {len(chances)} | {np.mean([one < MIN_ANSWERABLE for one in chances]):.3f} |"


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
