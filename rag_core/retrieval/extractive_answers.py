"""Extractive answers: sentences of the documents, chosen by a cross-encoder or by terms shared with the question."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rag_core.core.ports import EntailmentScorer, Reranker
from rag_core.retrieval.outdated_sentences import discount_outdated, find_exceptions, replace_amended
from rag_core.retrieval.passage_sentences import PassageSentence, PromptPassage, split_passages_into_sentences
from rag_core.text.asked_negation import asks_for_what_is_not, says_what_is_not
from rag_core.text.figures import CURRENCY_CODES, parse_figure, remove_dates
from rag_core.text.framing import is_framing
from rag_core.text.layout import split_cells
from rag_core.text.periods import FiscalCalendar, compute_period_share, read_fiscal_calendars, remove_periods
from rag_core.text.quotable_sentences import LIST_ITEM_OR_TABLE_ROW
from rag_core.text.terms import WORD_PATTERN, count_shared_terms, extract_terms

ANAPHORIC_START = re.compile(  # words that refer to the sentence before
    r"(?:This|These|Those|That|It|They|Its|Their|Such|He|She|Both|Either|However|Therefore|Thus|Otherwise|Instead|"
    r"For (?:example|instance))\b"
)

# sentences that the cross-encoder scores of the second passage, half as many of each one after it, all of the first:
# a later one is chosen only if it scores far better (PASSAGE_RANK_PENALTY)
READ_SENTENCES = 8
MAX_ANSWER_SENTENCES = 4  # the sentences that these depend on come besides
MAX_LIST_ITEMS = 40  # of a list whose lead-in is chosen: a list that is cut is a wrong answer
# log odds that a sentence loses for each passage before its own: passages are given best first
PASSAGE_RANK_PENALTY = 3.0
NEAR_DUPLICATE = 0.4  # share of two sentences' terms that both have, from which they may say the same: decision 111
MAX_LOG_ODDS_GAP = 4.0  # a sentence with lower log odds than the best one's minus this is left out
MIN_ANSWERABILITY = 0.3  # the least score times coverage of the question for an answer; below, a refusal
OPEN_ANSWERABILITY = 0.0  # where a model compares question and quotes afterwards, which knows more than this product


@dataclass(frozen=True, slots=True)
class SelectedAnswer:
    """The sentences that answer a question, each with the id of its passage, in reading order.

    `margin` is how far the best one's log odds are above those of another passage's best that says something else;
    None without such a passage.
    """

    sentences: list[tuple[str, str]]
    margin: float | None = None


def get_least_answerability(scorer: EntailmentScorer | None) -> float:
    """Return the least answerability of quotes: none where a model compares them and the question later."""
    return MIN_ANSWERABILITY if scorer is None else OPEN_ANSWERABILITY


async def select_answer(
    query_text: str, passages: Sequence[PromptPassage], reranker: Reranker, *, least: float = MIN_ANSWERABILITY
) -> SelectedAnswer:
    """Choose the sentences that answer the question, by cross-encoder.

    None when the passages do not answer the question, by an answerability of `least`.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    candidates = split_passages_into_sentences(query_text, passages)
    read = _select_sentences_to_read(query_text, candidates)
    given = await reranker.score_passages(
        query_text, [_put_below_titles(candidates[n], passages[candidates[n].passage_index]) for n in read]
    )
    score_by_candidate = dict(zip(read, given, strict=True))
    scores = [score_by_candidate.get(n, 0.0) for n in range(len(candidates))]
    return _choose_answer_sentences(query_text, passages, candidates, scores, least)


def _put_below_titles(candidate: PassageSentence, passage: PromptPassage) -> str:
    """Return a sentence as it is scored; a lead-in among the titles is for the items that begin the passage alone."""
    section = str(passage["section"])
    is_rest_of_list = candidate.heading.endswith(":") and LIST_ITEM_OR_TABLE_ROW.match(str(passage["text"]))
    if is_rest_of_list and not LIST_ITEM_OR_TABLE_ROW.match(candidate.text):
        section = section.removesuffix(candidate.heading).removesuffix(" > ")
    return f"{' > '.join(filter(None, (str(passage['title']), section)))}: {candidate.text}"


def select_answer_sentences_by_shared_terms(
    query_text: str, passages: Sequence[PromptPassage]
) -> list[tuple[str, str]]:
    """Choose the sentences that share most terms with the question, each with the id of its passage, in reading order.

    A sentence's score is the share of the question's terms that it has; none when the passages do not answer.
    """
    query_terms, candidates = extract_terms(query_text), split_passages_into_sentences(query_text, passages)
    scores = [len(query_terms & extract_terms(candidate.text)) / max(1, len(query_terms)) for candidate in candidates]
    return _choose_answer_sentences(query_text, passages, candidates, scores, MIN_ANSWERABILITY).sentences


def _select_sentences_to_read(query_text: str, candidates: Sequence[PassageSentence]) -> list[int]:
    """Return all sentences of the first passage, and those of the others that share most terms with the question.

    Of sentences that share as many the earlier ones are read.
    """
    counts = count_shared_terms(extract_terms(query_text), [candidate.text for candidate in candidates])
    read: list[int] = []
    for passage_index, group in groupby(range(len(candidates)), key=lambda n: candidates[n].passage_index):
        limit = max(1, READ_SENTENCES >> (passage_index - 1)) if passage_index else None
        read += sorted(group, key=lambda n: -counts[n])[:limit]
    return read


def _choose_answer_sentences(
    query_text: str,
    passages: Sequence[PromptPassage],
    candidates: Sequence[PassageSentence],
    scores: Sequence[float],
    least: float,
) -> SelectedAnswer:
    named_rows = _find_named_rows(query_text, candidates)
    scores = [0.0 if named_rows.get(n) == [] else score for n, score in enumerate(scores)]
    if asks_for_what_is_not(query_text):
        denials = _find_denials(candidates)
        scores = [score if n in denials else 0.0 for n, score in enumerate(scores)]
    scores = discount_outdated(query_text, candidates, scores)
    if not candidates or _compute_answerability(query_text, passages, candidates, scores) < least:
        return SelectedAnswer([])
    odds = [
        to_log_odds(score) - PASSAGE_RANK_PENALTY * candidate.passage_index
        for score, candidate in zip(scores, candidates, strict=True)
    ]
    near_best = [n for n, value in enumerate(odds) if value >= max(odds) - MAX_LOG_ODDS_GAP]
    chosen = _drop_redundant_sentences(sorted(near_best, key=lambda n: -odds[n]), candidates)[:MAX_ANSWER_SENTENCES]
    included = list(
        dict.fromkeys(
            part
            for n in replace_amended(chosen, candidates)
            for part in (
                *_include_dependent_sentences(n, candidates),
                *named_rows.get(n, [])[:MAX_ANSWER_SENTENCES],
                *find_exceptions(n, candidates),
            )
        )
    )
    passage_order = list(dict.fromkeys(candidates[n].passage_index for n in included))
    ordered = sorted(included, key=lambda n: (passage_order.index(candidates[n].passage_index), n))
    sentences = [(candidates[n].text, str(passages[candidates[n].passage_index]["id"])) for n in ordered]
    return SelectedAnswer(sentences, _compute_margin(odds.index(max(odds)), candidates, scores))


def _compute_margin(best: int, candidates: Sequence[PassageSentence], scores: Sequence[float]) -> float | None:
    """Return the log odds of the best sentence less those of the best other one of another passage; None without one.

    A sentence that says nearly the same is no other one: documents repeat each other.
    """
    own, terms = candidates[best], extract_terms(candidates[best].text)
    others = [
        score
        for score, one in zip(scores, candidates, strict=True)
        if score and one.passage_index != own.passage_index and not _is_near_duplicate(terms, extract_terms(one.text))
    ]
    return to_log_odds(scores[best]) - to_log_odds(max(others)) if others else None


def _is_near_duplicate(terms: frozenset[str], others: frozenset[str]) -> bool:
    return len(terms & others) >= NEAR_DUPLICATE * max(1, len(terms | others))


def _compute_answerability(
    query_text: str, passages: Sequence[PromptPassage], candidates: Sequence[PassageSentence], scores: Sequence[float]
) -> float:
    """Return the highest product, over the candidates, of a score and its passage's coverage of the question, 0..1."""
    calendars = read_fiscal_calendars((str(passage["title"]), str(passage["text"])) for passage in passages)
    coverages = [_compute_query_coverage(query_text, passage, calendars) for passage in passages]
    products = (score * coverages[candidate.passage_index] for candidate, score in zip(candidates, scores, strict=True))
    return max(products, default=0.0)


def _compute_query_coverage(
    query_text: str, passage: PromptPassage, calendars: Mapping[str, FiscalCalendar | None]
) -> float:
    """Return the shares of the question's terms, names with numbers, and periods that a passage has, multiplied."""
    text = f"{passage['title']} {passage['section']} {passage['text']}"
    passage_terms, asked = extract_terms(text), remove_periods(query_text)
    return (
        _compute_term_share(extract_terms(asked), passage_terms)
        * _compute_term_share(extract_name_terms(asked), passage_terms)
        * compute_period_share(query_text, text, calendars[str(passage["title"])])
    )


def extract_name_terms(query_text: str) -> frozenset[str]:
    """Return the terms of the words with a digit, or with a capital that does not begin the question.

    A currency is none: it is the unit in which the answer is wanted.
    """
    words = [word for word in WORD_PATTERN.findall(query_text) if word not in CURRENCY_CODES]
    names = [word for n, word in enumerate(words) if (n and word[0].isupper()) or any(map(str.isdigit, word))]
    return extract_terms(" ".join(names))


def _compute_term_share(query_terms: frozenset[str], text_terms: frozenset[str]) -> float:
    return len(query_terms & text_terms) / len(query_terms) if query_terms else 1.0


def to_log_odds(score: float) -> float:
    """Convert a score of 0..1 to log odds, the logit of the model, in which two scores near 1 stay apart."""
    clipped = min(max(score, 1e-9), 1 - 1e-9)
    return math.log(clipped / (1 - clipped))


def _drop_redundant_sentences(ranked: Sequence[int], candidates: Sequence[PassageSentence]) -> list[int]:
    """Drop the sentences whose terms are a subset or superset of a better one's."""
    kept: list[tuple[frozenset[str], int]] = []
    for n in ranked:
        sentence_terms = extract_terms(candidates[n].text)
        if not any(sentence_terms <= better or sentence_terms >= better for better, _ in kept):
            kept.append((sentence_terms, n))
    return [n for _, n in kept]


def _include_dependent_sentences(n: int, candidates: Sequence[PassageSentence]) -> list[int]:
    """Return the index of a sentence with those it is read with.

    An item is read with its lead-in, a row with the names of its columns, a lead-in with its items, a question
    with what follows, a sentence such as "It is …" with the one before it, and one before "These include:" with that.
    """
    if LIST_ITEM_OR_TABLE_ROW.match(candidates[n].text):
        return [*_find_lead_in(n, candidates), *_find_table_header(n, candidates), n]
    if candidates[n].text.endswith(":"):
        return [n, *_find_list_items(n, candidates)]
    if candidates[n].text.endswith("?"):
        is_followed = n + 1 < len(candidates) and _continues_passage(n + 1, candidates)
        return [n, n + 1, *_find_announced_list(n + 1, candidates)] if is_followed else [n]
    follows = _find_announced_list(n, candidates)
    if ANAPHORIC_START.match(candidates[n].text) and _continues_passage(n, candidates):
        return [n - 1, n, *follows]
    return [n, *follows]


def _find_announced_list(n: int, candidates: Sequence[PassageSentence]) -> list[int]:
    """Return a lead-in such as "These include:" that follows a sentence, whose list it is, with its items."""
    if n + 1 == len(candidates) or not _continues_passage(n + 1, candidates):
        return []
    is_lead_in = candidates[n + 1].text.endswith(":") and ANAPHORIC_START.match(candidates[n + 1].text)
    return [n + 1, *_find_list_items(n + 1, candidates)] if is_lead_in else []


def _continues_passage(n: int, candidates: Sequence[PassageSentence]) -> bool:
    return n > 0 and candidates[n - 1].passage_index == candidates[n].passage_index


def _find_lead_in(n: int, candidates: Sequence[PassageSentence]) -> list[int]:
    while LIST_ITEM_OR_TABLE_ROW.match(candidates[n].text) and _continues_passage(n, candidates):
        n -= 1
    words = candidates[n].text
    adds_something = " " in words or not is_framing(words)  # unlike "Tips:"
    if words.endswith(":") and adds_something:
        return [n]
    here = candidates[n]
    return [m for m, other in enumerate(candidates) if _is_lead_in_of(other, here)][:1]


def _is_lead_in_of(lead_in: PassageSentence, item: PassageSentence) -> bool:
    """Return whether a sentence is the lead-in of a list whose items on a later page are the other's passage."""
    return (
        item.heading.endswith(":")
        and lead_in.text.endswith(item.heading)
        and lead_in.title == item.title
        and lead_in.page < item.page
    )


def _find_table_header(n: int, candidates: Sequence[PassageSentence]) -> list[int]:
    """Return the first row of the table of a row, if it names columns: it has no figures but dates."""
    first = n
    while (
        _continues_passage(first, candidates) and " |" in candidates[first - 1].text and " |" in candidates[first].text
    ):
        first -= 1
    is_header = first != n and _has_columns_named_by(candidates[n].text, candidates[first].text)
    return [first] if is_header else []


def _has_columns_named_by(row: str, header: str) -> bool:
    """Return whether a row has as many cells as one that names columns, of which none is a figure; dates may be."""
    names = split_cells(header)
    return len(names) == len(split_cells(row)) and not any(map(parse_figure, remove_dates(names)))


def _find_denials(candidates: Sequence[PassageSentence]) -> set[int]:
    """Return the sentences that say what is not, by themselves, their lead-in, or the heading or question above."""
    denials: set[int] = set()
    is_below_denial = is_item_denied = False
    for n, candidate in enumerate(candidates):
        is_denial = says_what_is_not(candidate.text)
        if not _continues_passage(n, candidates):
            is_below_denial, is_item_denied = says_what_is_not(candidate.heading), False
        if candidate.text.endswith("?"):
            is_below_denial = is_denial
        is_item = LIST_ITEM_OR_TABLE_ROW.match(candidate.text)
        if not is_item:
            is_item_denied = is_denial and candidate.text.endswith(":")
        if is_denial or is_below_denial or (is_item and is_item_denied):
            denials.add(n)
    return denials


def _find_named_rows(query_text: str, candidates: Sequence[PassageSentence]) -> dict[int, list[int]]:
    """Return, for the header of each table, those rows below it that share most words with the question.

    Words of the header do not count, nor do numbers. The names of columns alone answer nothing: without such a row a
    header has none.
    """
    query_words = frozenset(term for term in extract_terms(query_text) if not term.isdigit())
    named: dict[int, list[int]] = {}
    for (_, is_table), numbers in groupby(
        range(len(candidates)), key=lambda n: (candidates[n].passage_index, " |" in candidates[n].text)
    ):
        header, *below = numbers
        rows = [n for n in below if _has_columns_named_by(candidates[n].text, candidates[header].text)]
        if not is_table or not rows:
            continue
        asked = query_words - extract_terms(candidates[header].text)
        counts = count_shared_terms(asked, [candidates[n].text for n in rows])
        named[header] = [n for n, count in zip(rows, counts, strict=True) if count and count == max(counts)]
    return named


def _find_list_items(n: int, candidates: Sequence[PassageSentence]) -> list[int]:
    end = n + 1
    while (
        end < len(candidates)
        and end - n <= MAX_LIST_ITEMS
        and LIST_ITEM_OR_TABLE_ROW.match(candidates[end].text)
        and _continues_passage(end, candidates)
    ):
        end += 1
    is_whole_passage = end == len(candidates) or not _continues_passage(end, candidates)
    items = [*range(n + 1, end), *(_find_items_on_later_pages(n, candidates) if is_whole_passage else ())]
    return items[:MAX_LIST_ITEMS]


def _find_items_on_later_pages(n: int, candidates: Sequence[PassageSentence]) -> list[int]:
    """Return the items with which the passages of later pages begin that stand below this lead-in, by page."""
    firsts = [
        m
        for m, candidate in enumerate(candidates)
        if not _continues_passage(m, candidates) and _is_lead_in_of(candidates[n], candidate)
    ]
    found: list[int] = []
    for first in sorted(firsts, key=lambda m: candidates[m].page):
        end = first
        while end < len(candidates) and LIST_ITEM_OR_TABLE_ROW.match(candidates[end].text):
            end += 1
            if end < len(candidates) and not _continues_passage(end, candidates):
                break
        found += range(first, end)
    return found
