"""What the SQL of questions asked before says of a question: the columns that went with its words.

A word of the question lifts a column by how much more often than usual the column was read where the word was asked.
So "villain", which stands in no schema, asks for `alignment.alignment`. A past question that is alike as a whole would
bring what only its own words asked for as well (docs/decisions/0083-past-questions.md).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rag_core.schema.documents import PastQuestion
from rag_core.schema.model import ColumnKey
from rag_core.schema.question_reading import QuestionReading

K = TypeVar("K", str, ColumnKey)
USUAL_QUESTIONS = (
    1  # in which a column is read as often as usual, added to those of each word: one question says little
)


@dataclass(frozen=True, slots=True)
class PastUse:
    """How much the words of a question lift columns and tables, each above 0; what no word lifts is not there."""

    columns: Mapping[ColumnKey, float] = field(default_factory=dict)
    tables: Mapping[str, float] = field(default_factory=dict)


class QuestionLog:
    """The questions that were asked of a database and the columns that their SQL read, counted once for all questions.

    `known` columns are those that the database has now: a past question that read none of them does not count.
    """

    def __init__(self, questions: Iterable[PastQuestion] = (), known: frozenset[ColumnKey] = frozenset()) -> None:
        self._columns: _Lift[ColumnKey] = _Lift()
        self._tables: _Lift[str] = _Lift()
        for one in questions:
            if columns := known.intersection(one.columns):
                roots = QuestionReading(one.question).roots
                self._columns.count(roots, columns)
                self._tables.count(roots, {table for table, _ in columns})

    def find_past_use(self, question: QuestionReading) -> PastUse:
        """Return what the words of a question lift; nothing where none of them was asked before."""
        return PastUse(self._columns.sum_up(question.roots), self._tables.sum_up(question.roots))


class _Lift(Generic[K]):
    """How often columns or tables were read: in all questions, and in those with each word."""

    def __init__(self) -> None:
        self._questions = 0
        self._asked: Counter[str] = Counter()
        self._read: Counter[K] = Counter()
        self._read_by_root: dict[str, Counter[K]] = {}

    def count(self, roots: Collection[str], read: Collection[K]) -> None:
        self._questions += 1
        self._asked.update(roots)
        self._read.update(read)
        for root in roots:
            self._read_by_root.setdefault(root, Counter()).update(read)

    def sum_up(self, roots: Collection[str]) -> dict[K, float]:
        """Return the sums over the words of what each adds to the usual share; a word that takes away adds nothing."""
        lifts: dict[K, float] = {}
        for root in sorted(self._asked.keys() & roots):
            for one, times in self._read_by_root[root].items():
                usual = self._read[one] / self._questions
                share = (times + USUAL_QUESTIONS * usual) / (self._asked[root] + USUAL_QUESTIONS)
                if share > usual:
                    lifts[one] = lifts.get(one, 0.0) + share - usual
        return lifts
