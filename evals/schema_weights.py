"""Fitting of the weights of `rag_core/schema/weights.py` on labelled questions, by ridge logistic regression."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rag_core.core.kit import Kit
from rag_core.core.model import Scope
from rag_core.evaluation.schema_collection import SchemaQuestion
from rag_core.schema.evidence import LinkEvidence
from rag_core.schema.features import (
    Features,
    compute_column_features,
    compute_joined_features,
    compute_table_features,
)
from rag_core.schema.linking import LinkWeights, find_joined_keys, score_columns, score_tables
from rag_core.schema.model import ColumnKey
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.stored_schema import gather_evidence, load_schema

# chosen by cross-validation on the first half, in five folds and with each database left out
COLUMN_RIDGE, TABLE_RIDGE, JOINED_RIDGE = 10.0, 1.0, 0.1
NEWTON_STEPS = 30
BIAS = "bias"
NO_WEIGHTS = LinkWeights({}, {}, {}, {})

Example = tuple[Features, bool]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GatheredQuestion:
    """What the index says of a question, and the columns that its SQL needs."""

    evidence: LinkEvidence
    needed: frozenset[ColumnKey]
    database: str = ""


async def gather_all_evidence(questions: Iterable[SchemaQuestion], kit: Kit) -> list[GatheredQuestion]:
    """Return the questions with what the index says of each."""
    gathered = []
    for one in questions:
        scope, reading = Scope(one.database), QuestionReading(one.text)
        schema = await load_schema(one.database, scope, kit.index)
        vectors = await kit.index.embed_queries([one.text, *reading.phrases])
        evidence = await gather_evidence(reading, vectors, schema, scope, kit.index)
        gathered.append(GatheredQuestion(evidence, one.needed, one.database))
    return gathered


def fit_weights(questions: Sequence[GatheredQuestion]) -> LinkWeights:
    """Return the weights of the three steps, each fitted with those before it."""
    columns = [(one.evidence, one.needed, compute_column_features(one.evidence)) for one in questions]
    examples: dict[bool, list[Example]] = {True: [], False: []}
    for evidence, needed, features in columns:
        for column, of_column in features.items():
            examples[evidence.words.by_column[column].is_key].append((of_column, column in needed))
    weights = replace(
        NO_WEIGHTS, content=fit_logistic(examples[False], COLUMN_RIDGE), key=fit_logistic(examples[True], COLUMN_RIDGE)
    )
    weights = replace(weights, table=fit_logistic(_list_table_examples(columns, weights), TABLE_RIDGE))
    return replace(weights, joined=fit_logistic(_list_joined_examples(columns, weights), JOINED_RIDGE))


_Gathered = Iterable[tuple[LinkEvidence, frozenset[ColumnKey], dict[ColumnKey, Features]]]


def _list_table_examples(gathered: _Gathered, weights: LinkWeights) -> list[Example]:
    return [
        (of_table, table in {owner for owner, _ in needed})
        for evidence, needed, features in gathered
        for table, of_table in compute_table_features(evidence, score_columns(evidence, features, weights)).items()
    ]


def _list_joined_examples(gathered: _Gathered, weights: LinkWeights) -> list[Example]:
    examples: list[Example] = []
    for evidence, needed, features in gathered:
        chances = score_columns(evidence, features, weights)
        tables = score_tables(compute_table_features(evidence, chances), weights)
        joined = find_joined_keys(evidence.words, chances, tables)
        of_columns = compute_joined_features(evidence, chances, tables, joined)
        examples += [(one, column in needed) for column, one in of_columns.items()]
    return examples


def fit_logistic(examples: Sequence[Example], ridge: float) -> dict[str, float]:
    """Return the weights by Newton's method; only the bias is not held back."""
    names = list(examples[0][0])
    values = np.array([[float(features[name]) for name in names] for features, _ in examples])
    labels = np.array([float(label) for _, label in examples])
    weights: FloatArray = np.zeros(len(names))
    held = ridge * np.array([float(name != BIAS) for name in names])
    for _ in range(NEWTON_STEPS):
        chances = 1 / (1 + np.exp(-values @ weights))
        gradient = values.T @ (chances - labels) + held * weights
        curvature = (values * (chances * (1 - chances))[:, None]).T @ values + np.diag(held)
        weights = weights - np.linalg.solve(curvature, gradient)
    return dict(zip(names, map(float, weights), strict=True))


def format_weights(weights: LinkWeights) -> str:
    """Return the tables of `rag_core/schema/weights.py`."""
    parts: dict[str, Mapping[str, float]] = {
        "CONTENT_WEIGHTS": weights.content,
        "KEY_WEIGHTS": weights.key,
        "TABLE_WEIGHTS": weights.table,
        "JOINED_WEIGHTS": weights.joined,
    }
    return "\n".join(
        f"{name}: Mapping[str, float] = {{\n"
        + "".join(f'    "{feature}": {round(weight, 3)},\n' for feature, weight in part.items())
        + "}"
        for name, part in parts.items()
    )
