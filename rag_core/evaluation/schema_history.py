"""Questions asked before, for an evaluation: those of the half that is not asked, as a team has that kept its SQL."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rag_core.core.errors import Misconfigured
from rag_core.core.kit import Kit
from rag_core.evaluation.labelled_collection import HALVES
from rag_core.evaluation.schema_collection import SchemaCollection, SchemaQuestion, index_databases
from rag_core.schema.documents import PastQuestion

ALIKE_COSINE = 0.8  # of two questions, from which one counts as nearly the other
PAST_SUFFIX, UNLIKE_SUFFIX = "-past", "-past-unlike"  # of the workflows that have past questions
WAYS = {
    PAST_SUFFIX: "`link_schema` with past questions",
    UNLIKE_SUFFIX: f"with past questions, none from {ALIKE_COSINE} alike",
}

Cosines = npt.NDArray[np.float64]


async def index_histories(collection: SchemaCollection, kit: Kit, *, half: str) -> dict[str, str]:
    """Index the databases twice more with the questions of the other half, and return the ways by suffix of workflow.

    The second time without those that are nearly a question of this half: whose cosine with one of the same database
    is `ALIKE_COSINE` or more.

    Raises:
        Misconfigured: no half is named.
    """
    if not half:
        raise Misconfigured("--past-questions needs --half: the questions of the other half are those asked before")
    place = HALVES.index(half)
    asked, past = collection.questions[place :: len(HALVES)], collection.questions[1 - place :: len(HALVES)]
    unlike = await leave_out_alike(past, asked, kit)
    for suffix, kept in ((PAST_SUFFIX, past), (UNLIKE_SUFFIX, unlike)):
        await index_databases(collection, kit, suffix=suffix, past=group_past_questions(kept))
    return {PAST_SUFFIX: f"{WAYS[PAST_SUFFIX]} ({len(past)})", UNLIKE_SUFFIX: f"{WAYS[UNLIKE_SUFFIX]} ({len(unlike)})"}


def group_past_questions(questions: Sequence[SchemaQuestion]) -> dict[str, list[PastQuestion]]:
    """Return the questions with their SQL by database."""
    grouped: dict[str, list[PastQuestion]] = {}
    for one in questions:
        grouped.setdefault(one.database, []).append(PastQuestion(one.text, one.sql))
    return grouped


async def leave_out_alike(
    past: Sequence[SchemaQuestion], asked: Sequence[SchemaQuestion], kit: Kit
) -> list[SchemaQuestion]:
    """Return the past questions that are nearly none of those that are asked of the same database."""
    if not past or not asked:
        return list(past)
    cosines = await compare_questions(past, asked, kit)
    return [one for one, row in zip(past, cosines, strict=True) if row.max() < ALIKE_COSINE]


async def compare_questions(past: Sequence[SchemaQuestion], asked: Sequence[SchemaQuestion], kit: Kit) -> Cosines:
    """Return the cosines of each past question with each that is asked; 0 where they are of two databases."""
    rows, columns = await _embed(past, kit), await _embed(asked, kit)
    of_one = [[one.database == other.database for other in asked] for one in past]
    return np.where(of_one, rows @ columns.T, 0.0)


async def _embed(questions: Sequence[SchemaQuestion], kit: Kit) -> Cosines:
    vectors = np.array(await kit.index.embed_queries([one.text for one in questions]))
    lengths: Cosines = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths
