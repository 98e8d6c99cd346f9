"""The statement of the evidence that is nearest to a claim, word by word, and what follows from it without a judge.

It is the sentence, or two, whose words stand for most of the claim's. A fact of the claim that differs there
contradicts it; a claim that has nothing more, less or otherwise is a light paraphrase. The least means of strengths
were chosen on claims written by language models (docs/decisions/0047-claims-aligned-word-by-word.md).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag_core.answering.alignment import SIMILAR, SYNONYM, Alignment, align_words, locate_words
from rag_core.answering.citations import ClaimPassage, rank_passages_by_shared_terms
from rag_core.answering.clauses import find_clause_conflicts, find_record_starts, select_confirmed
from rag_core.answering.facts.comparison import find_fact_conflicts, read_words
from rag_core.answering.facts.conflicts import FactConflict, FactKind
from rag_core.answering.facts.notations import rewrite_amounts
from rag_core.answering.facts.words import Words
from rag_core.answering.paraphrases import find_differences, find_exchange
from rag_core.core.model import Evidence
from rag_core.core.ports import WordComparer
from rag_core.text.oppositions import NEGATION_FORMS
from rag_core.text.stop_words import parse_word_list

WORD_PENALTY = 0.0015  # for each word of a passage: of two equally near ones the shorter
PAIR_PENALTY = 0.06  # for two sentences: one of which both opposites are words is no contradiction of either
MIN_PARAPHRASE_STRENGTH = SIMILAR  # of every content word
# of a claim that a model must find supported, too (decision 111): the mean and the least strength of its words
MIN_NEARLY_PARAPHRASED, MIN_NEARLY_PARAPHRASED_WORD = 0.9, 0.5
OPEN_DIFFERENCES = frozenset(["left out", "clause", "number"])  # of which words alone do not tell whether they matter
# the mean strength of the other content words from which a fact of this kind that differs contradicts a claim
MIN_CONFLICT_STRENGTH: Mapping[FactKind, float] = {
    "number": 0.9,
    "unit": 0.9,
    "negation": 0.9,
    "modality": 0.9,
    "quantity": 0.85,
    "direction": 0.85,
    "date": 0.8,
    "order": 0.8,
}
# facts that a light paraphrase must share with the whole passage; others are compared clause by clause
WHOLE_PASSAGE_KINDS: frozenset[FactKind] = frozenset(["number", "unit", "date", "name"])
OPEN_PRONOUNS = parse_word_list("it they he she this these those its their his her")
CONTRASTS = parse_word_list("but whereas while although though only other")  # one of two parts is rightly negated
MIN_EXCHANGE_STRENGTH = 0.9  # the same where two parts of the claim have changed places


# the mean strength from which a claim in other words may say what the passage says. Of the tuning half 24 of 30 true
# claims in own words are unclear by it, as by 0.75, by which "the fluid is changed every year" was unclear, too, by a
# passage about changes of gear
MIN_RELATED_STRENGTH = 0.83


@dataclass(frozen=True, slots=True)
class NearestStatement:
    """A passage of the evidence and its alignment with a claim."""

    passage: ClaimPassage
    alignment: Alignment

    @property
    def is_related(self) -> bool:
        """Whether the passage may say what the claim says, in other words."""
        return self.alignment.mean >= MIN_RELATED_STRENGTH

    @property
    def is_paraphrased(self) -> bool:
        """Whether the claim says nothing but what the passage says, as far as words tell; facts are not compared."""
        return self.alignment.weakest >= MIN_PARAPHRASE_STRENGTH and not any(find_differences(self.alignment))

    @property
    def is_nearly_paraphrased(self) -> bool:
        """Whether nothing but other words, or words that are left out, keeps the claim from being a paraphrase.

        A name has no other words, and the same words in another clause may be said of something else.
        """
        claim, strengths = self.alignment.claim, self.alignment.strengths
        reworded = [claim[n].raw for n, strength in strengths.items() if strength < SYNONYM]
        differences = list(find_differences(self.alignment))
        return (
            self.alignment.mean >= MIN_NEARLY_PARAPHRASED
            and self.alignment.weakest >= MIN_NEARLY_PARAPHRASED_WORD
            and all(_is_open_difference(reason) for reason in differences)
            and not any(_is_name(word, is_first=word == claim[0].raw) for word in reworded)
            and (bool(reworded) or not any(reason.startswith("clause:") for reason in differences))
        )


def _is_open_difference(reason: str) -> bool:
    """Return whether a difference may be harmless: it has no other fact in its place."""
    return reason.partition(":")[0] in OPEN_DIFFERENCES and "(the passage:" not in reason


def _is_name(word: str, *, is_first: bool) -> bool:
    return word.isupper() or (word[:1].isupper() and not is_first)


async def find_nearest_statement(
    claim_text: str, evidence: Sequence[Evidence], comparer: WordComparer | None
) -> NearestStatement | None:
    """Return the passage whose words stand for most of a claim's; None without passages.

    Without a comparer only the same words stand for each other. Raises Unavailable: the comparer failed.
    """
    passages = await asyncio.to_thread(rank_passages_by_shared_terms, claim_text, evidence)
    claim_text, texts = rewrite_amounts(claim_text), [rewrite_amounts(passage.text) for passage in passages]
    claim_words = read_words(claim_text)
    words = [_select_records(claim_words, read_words(text)) for text in texts]
    if comparer and passages and claim_words:
        located = [locate_words(*pair) for pair in zip(texts, words, strict=True)]
        similarities = await comparer.compare_words(locate_words(claim_text, claim_words), located)
    else:
        similarities = [()] * len(passages)
    alignments = [
        await asyncio.to_thread(align_words, claim_words, read, matrix)
        for read, matrix in zip(words, similarities, strict=True)
    ]
    return max(
        (NearestStatement(*pair) for pair in zip(passages, alignments, strict=True)),
        key=lambda nearest: _rate(nearest, passages),
        default=None,
    )


def _select_records(claim: Words, passage: Words) -> Words:
    """Return of a list of codes the records of those that the claim names; all of any other passage."""
    starts = find_record_starts(passage)
    claimed = {word.form for word in claim}
    ranges = pairwise([*starts, len(passage)])
    named = [n for start, end in ranges if passage[start].form in claimed for n in range(start, end)]
    return [passage[n] for n in named] or passage


def find_aligned_conflicts(claim_text: str, nearest: NearestStatement, *, context: str) -> list[FactConflict]:
    """Return the facts in which a claim certainly differs from the statement that is nearest to it."""
    conflicts = [
        conflict
        for conflict in find_fact_conflicts(claim_text, nearest.passage.text, context=context)
        if conflict.stated and _is_certain(conflict, nearest.alignment)
    ]
    exchange = find_exchange(nearest.alignment)
    conflicts = select_confirmed(conflicts, nearest.alignment)
    is_negated = any(word.form in NEGATION_FORMS for word in nearest.alignment.claim)
    if exchange and exchange.stated and not is_negated and nearest.alignment.mean >= MIN_EXCHANGE_STRENGTH:
        conflicts.append(exchange)
    return list(dict.fromkeys([*conflicts, *find_clause_conflicts(nearest.alignment)]))


def is_light_paraphrase(claim_text: str, nearest: NearestStatement, *, context: str) -> bool:
    """Return whether a claim says what its nearest statement says, with the same facts and in nearly the same words."""
    if not nearest.is_paraphrased or find_exchange(nearest.alignment) or _has_open_pronoun(nearest.alignment):
        return False
    conflicts = find_fact_conflicts(claim_text, nearest.passage.text, context=context)
    return not any(conflict.kind in WHOLE_PASSAGE_KINDS for conflict in conflicts)


def _has_open_pronoun(alignment: Alignment) -> bool:
    """Return whether a claim begins with a pronoun that the passage does not begin with: it may be anything."""
    first = [words[0].raw.lower() if words else "" for words in (alignment.claim, alignment.passage)]
    return first[0] in OPEN_PRONOUNS and first[0] != first[1]


def _rate(nearest: NearestStatement, passages: Sequence[ClaimPassage]) -> float:
    text = nearest.passage.text
    is_pair = any(other.text != text and other.text in text for other in passages)
    return nearest.alignment.mean - WORD_PENALTY * len(nearest.alignment.passage) - PAIR_PENALTY * is_pair


def _is_certain(conflict: FactConflict, alignment: Alignment) -> bool:
    """Return whether the words beside the one that differs are near enough for it to be a contradiction."""
    if conflict.kind == "negation" and any(word.raw.lower() in CONTRASTS for word in alignment.claim):
        return False
    least = MIN_CONFLICT_STRENGTH.get(conflict.kind)
    differing = conflict.word.lower().split()
    others = [s for n, s in alignment.strengths.items() if alignment.claim[n].raw.lower() not in differing]
    return least is not None and bool(others) and sum(others) / len(others) >= least
