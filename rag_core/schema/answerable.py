"""Whether a database can answer a question, by how much nearer it is to the schema than everyday questions are.

A cosine by itself says little: one embedder's 0.5 is another's 0.2, and a schema of common words is near to everything.
So the nearest column's cosine is counted in standard deviations from that of questions about other things.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

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
MIN_SPREAD = 0.01  # where all everyday questions are as near


@dataclass(frozen=True, slots=True)
class Background:
    """The cosines of everyday questions to their nearest column of a schema: mean and standard deviation."""

    mean: float
    spread: float

    @classmethod
    def from_cosines(cls, cosines: Sequence[float]) -> "Background":
        return cls(fmean(cosines), max(MIN_SPREAD, pstdev(cosines)))

    def estimate_answerable(self, cosine: float) -> float:
        """Return the chance, 0..1, that the schema answers a question with this cosine to its nearest column."""
        logit = INTERCEPT + SLOPE * (cosine - self.mean) / self.spread
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
