"""What a question leaves open: words that are a value of several columns, or that may name several."""

from collections.abc import Iterator, Mapping

from rag_core.schema.evidence import LinkEvidence
from rag_core.schema.model import Choice, ColumnKey, ValueMatch
from rag_core.text.identifiers import list_roots
from rag_core.text.question_cues import COMPUTING_ROOTS

MIN_CHANCE_SHARE = 0.5  # of the chance of the likeliest option: a less likely column is no choice
MIN_CHANCE = 0.2  # of the likeliest option


def find_choices(evidence: LinkEvidence, chances: Mapping[ColumnKey, float]) -> list[Choice]:
    """Return the choices between the linked columns, whose chances are given: of values first, then of columns."""
    choices = {choice.words.casefold(): choice for choice in _iterate_column_choices(evidence, chances)}
    choices |= {choice.words: choice for choice in _iterate_value_choices(evidence, chances)}
    return sorted(choices.values(), key=lambda choice: not choice.options[0][2])


def choose_values(evidence: LinkEvidence, chances: Mapping[ColumnKey, float]) -> list[ValueMatch]:
    """Return the values that the question has of the linked columns, whose chances are given, the strongest first.

    Of columns that have the same words the less likely are left out, and a number that is seldom a value of its column.
    """
    best: dict[str, float] = {}
    linked = [one for one in evidence.matches if one.column in chances]
    for one in linked:
        best[one.match.words] = max(best.get(one.match.words, 0.0), chances[one.column])
    return [
        one.match
        for one in linked
        if chances[one.column] >= MIN_CHANCE_SHARE * best[one.match.words]
        and (one.strength >= 1 or chances[one.column] >= MIN_CHANCE)
    ]


def _iterate_value_choices(evidence: LinkEvidence, chances: Mapping[ColumnKey, float]) -> Iterator[Choice]:
    by_words: dict[str, list[tuple[str, str, str]]] = {}
    for one in evidence.matches:
        if one.column in chances:
            by_words.setdefault(one.match.words, []).append((*one.column, one.match.value))
    for words, options in by_words.items():
        if len({option[:2] for option in options}) > 1:
            yield Choice(words, tuple(sorted(options, key=lambda option: -chances[option[:2]])))


def _iterate_column_choices(evidence: LinkEvidence, chances: Mapping[ColumnKey, float]) -> Iterator[Choice]:
    for phrase, near in evidence.near_columns.items():
        likely = [one for one in near if one in chances and not evidence.words.by_column[one].is_key]
        best = max((chances[one] for one in likely), default=0.0)
        options = [one for one in likely if chances[one] >= max(MIN_CHANCE, MIN_CHANCE_SHARE * best)]
        asks = not COMPUTING_ROOTS.issuperset(list_roots(phrase))
        if len(options) > 1 and asks and not evidence.matched_words.issuperset(phrase.casefold().split()):
            yield Choice(phrase, tuple((*one, "") for one in options))
