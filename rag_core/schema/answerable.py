"""Whether a database can answer a question: by how near it is to the schema, and by reading what it was linked to.

A cosine by itself says little: one embedder's 0.5 is another's 0.2, and a schema of common words is near to everything.
So the nearest column's cosine is counted in standard deviations from that of questions about other things. Where there
is a model that reads whether a passage has what is asked, it is given the likeliest columns in sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from rag_core.schema.chances import compute_chance, compute_logit
from rag_core.schema.model import Database, SchemaLinks

# written for this; no question of a set, and of as many subjects as there are lines
EVERYDAY_QUESTIONS = (
    "How long does it take to boil an egg?",
    "Which river is the longest in Africa?",
    "How many people visited the museum last weekend?",
    "What is the price of a train ticket to Vienna?",
    "Who wrote the novel that won the prize this year?",
    "When does the pharmacy close on Sundays?",
    "How many calories are in a slice of bread?",
    "Which of the patients were given the new vaccine?",
    "What is the fuel consumption of the delivery vans?",
    "How many hotel rooms were booked in August?",
    "Which plants need the most water in summer?",
    "What is the average rent of a flat near the station?",
    "Who repaired the lift in the north building?",
    "How many songs are on the second album?",
    "Which recipe uses the least sugar?",
    "What was the temperature at midnight?",
    "How many parcels were returned to the warehouse?",
    "Which insurance covers damage by hail?",
    "What is the wingspan of the largest eagle?",
    "How many votes did the mayor receive?",
)
# about the mean of two logistic regressions, each on the first half of BIRD mini-dev, on its questions asked of other
# databases, and on half of 72 written ones; docs/decisions/0052-not-in-the-schema.md has the other halves
INTERCEPT, SLOPE = -2.3, 1.08
MIN_ANSWERABLE = 0.07  # below it that is said: of 1 in 36 answerable questions that people wrote, 1 in 137 of BIRD
# with the small model that reads the columns: `python -m evals.schema_answerable DIR --fit`, on the same halves, where
# one in a hundred of the answerable questions is below the least chance. Fit again when that model is another
READ_INTERCEPT, READ_SLOPE, READ_WEIGHT = 1.75, 1.03, 0.95
MIN_READ_ANSWERABLE = 0.13
# of the columns, for a model to be believed that much: with names alone one in a hundred is below MIN_ANSWERABLE
MIN_DESCRIBED = 0.5
MIN_SPREAD = 0.01  # where all everyday questions are as near
READ_COLUMNS, READ_VALUES = 8, 3  # that are read: with 6, 12 or 20 columns, or descriptions, it was no better


@dataclass(frozen=True, slots=True)
class Background:
    """The cosines of everyday questions to their nearest column of a schema: mean and standard deviation."""

    mean: float
    spread: float

    @classmethod
    def from_cosines(cls, cosines: Sequence[float]) -> "Background":
        return cls(fmean(cosines), max(MIN_SPREAD, pstdev(cosines)))

    def measure_nearness(self, cosine: float) -> float:
        """Return by how many standard deviations a cosine to the nearest column is above that of everyday questions."""
        return (cosine - self.mean) / self.spread


def estimate_answerable(nearness: float, answered: float | None = None) -> float:
    """Return the chance, 0..1, that a schema answers a question.

    `answered` is the chance, 0..1, that its columns in sentences have what is asked; None where no model read them.
    """
    if answered is None:
        return compute_chance(INTERCEPT + SLOPE * nearness)
    return compute_chance(READ_INTERCEPT + READ_SLOPE * nearness + READ_WEIGHT * compute_logit(answered))


def is_in_schema(chance: float, database: Database, *, was_read: bool) -> bool:
    """Return whether a chance is too great to say that the question is not in the schema."""
    is_sure = was_read and database.described_share >= MIN_DESCRIBED
    return chance >= (MIN_READ_ANSWERABLE if is_sure else MIN_ANSWERABLE)


def describe_columns(links: SchemaLinks, database: Database) -> str:
    """Return the likeliest columns that a question was linked to in sentences, with the values that it names."""
    words = {(table.name, column.name): column.words for table, column in database.iterate_columns()}
    tables: dict[str, list[str]] = {}
    for one in links.columns[:READ_COLUMNS]:
        tables.setdefault(database.tables_by_name[one.table].words, []).append(one.column.words)
    sentences = [f"The table {table} has {', '.join(names)}." for table, names in tables.items()]
    sentences += [f"{one.value} is a {words[one.table, one.column]}." for one in links.values[:READ_VALUES]]
    return f"{links.database}: {' '.join(sentences)}"
