"""What is known of a question and a database before anything is weighed: similarities, values, and words in common."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rag_core.schema.model import ColumnKey, ForeignKey
from rag_core.schema.past_use import PastUse
from rag_core.schema.question_reading import QuestionReading
from rag_core.schema.schema_words import KEY_WORDS, SchemaWords
from rag_core.schema.similarity import ColumnSimilarity
from rag_core.schema.value_matching import ScoredMatch
from rag_core.text.identifiers import find_root, list_roots
from rag_core.text.question_cues import COMPUTING_ROOTS, find_cued_roots


@dataclass(frozen=True)
class LinkEvidence:
    """What is known of a question and a database before anything is weighed."""

    question: QuestionReading
    words: SchemaWords
    similarities: Mapping[ColumnKey, ColumnSimilarity]
    matches: Sequence[ScoredMatch]
    near_columns: Mapping[str, Sequence[ColumnKey]] = field(default_factory=dict)  # by phrase of the question itself
    nearness: float | None = None  # of the nearest column, against everyday questions
    alike: Mapping[ColumnKey, float] = field(default_factory=dict)  # columns that may have a name as a value, 0..1
    past: PastUse = field(default_factory=PastUse)

    def find_unknown_words(self) -> list[str]:
        """Return the words of the question, as it spells them, that nothing accounts for.

        They are no name or description in the schema, ask for none by another word, are part of no value that was
        found, are explained by no rule, and do not ask for something to be computed.
        """
        explained = self.words.known_roots | COMPUTING_ROOTS | set(list_roots("\n".join(self.question.hints)))
        return [
            word
            for word in dict.fromkeys(self.question.list_content_words())
            if word.casefold() not in self.matched_words
            and not self._is_explained(find_root(word.casefold()), explained)
        ]

    def _is_explained(self, root: str, explained: Collection[str]) -> bool:
        return root in explained or not find_cued_roots((root,)).isdisjoint(self.words.known_roots)

    @cached_property
    def value_strengths(self) -> Mapping[ColumnKey, float]:
        strengths = dict(self.alike)
        for match in self.matches:
            strengths[match.column] = max(strengths.get(match.column, 0.0), match.strength)
        return strengths

    @cached_property
    def matched_words(self) -> frozenset[str]:
        return frozenset(word for one in self.matches for word in one.match.words.split())

    @cached_property
    def has_names(self) -> bool:
        return bool(self.question.find_names(self.words.known_roots, self.matched_words))

    @cached_property
    def instance_tables(self) -> frozenset[str]:
        """The tables of which the question names one row, as "the event 'Open Day'" does."""
        beside = self.question.find_words_beside_names(self.words.known_roots)
        return frozenset(
            table for (table, _), words in self.words.by_column.items() if words.table and words.table <= beside
        )

    @cached_property
    def has_places(self) -> bool:
        return bool(self.question.find_places(self.words.known_roots, self.matched_words))

    @cached_property
    def has_quotations(self) -> bool:
        return bool(self.question.find_quotations(self.matched_words))

    @cached_property
    def table_similarities(self) -> Mapping[str, Sequence[float]]:
        by_table: dict[str, list[float]] = {}
        for (table, _), similarity in self.similarities.items():
            by_table.setdefault(table, []).append(similarity.question)
        return by_table

    @cached_property
    def table_coverage(self) -> Mapping[str, float]:
        """The share of the words of each table's name that the question has."""
        return {
            table: len(words.table & self.question.roots) / max(1, len(words.table))
            for (table, _), words in self.words.by_column.items()
        }

    @cached_property
    def named_by_keys(self) -> Mapping[str, float]:
        """The greatest share of the words of a key into each table that the question has: "hair" of hair_colour_id."""
        return {table: max(map(self._cover_key, keys), default=0.0) for table, keys in self.words.keys_into.items()}

    @cached_property
    def meant_by_keys(self) -> Mapping[str, float]:
        """The greatest similarity of a key into each table to the question."""
        return {
            table: max((self.similarities[key.table, key.column].question for key in keys), default=0.0)
            for table, keys in self.words.keys_into.items()
        }

    def _cover_key(self, key: ForeignKey) -> float:
        words = self.words.by_column[key.table, key.column]
        own = words.name - KEY_WORDS - words.table
        return len(own & self.question.roots) / len(own) if own else 0.0
