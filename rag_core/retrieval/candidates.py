"""The candidates of a reranker: no passage twice, and room for every document that the search found."""

from collections import Counter
from collections.abc import Iterable, Set
from itertools import groupby

from rag_core.core.model import Hit, Ranking
from rag_core.core.presets import Query
from rag_core.core.rankings import drop_duplicate_hits, sort_by_code_matches
from rag_core.retrieval.asked_documents import (
    find_asked_documents,
    give_figures_room,
    lift_asked_documents,
    select_best_documents,
)
from rag_core.retrieval.cross_encoding import has_semantic_scores
from rag_core.retrieval.named_documents import lift_named_documents
from rag_core.retrieval.similar_passages import group_similar_hits, list_columns
from rag_core.text.codes import compute_code_share, find_codes

MAX_SHARE = 1 / 2  # of the candidates that are of one document, while others have some
MAX_ROW_SHARE = 1 / 3  # of those that are rows of one table


def choose_candidates(ranking: Ranking, query: Query) -> list[Hit]:
    """Return the hits without near-identical and equal ones, those first that the rerankers of `query` are to read.

    Hits of documents that the question or the best passages name move up. The order of a search service that reranks
    by itself is kept.
    """
    distinct = drop_duplicate_hits(group_similar_hits(query.text, ranking))
    if has_semantic_scores(distinct[:1]):
        return distinct
    count = max(query.preset.search.reranked_hits, query.preset.grading.graded_hits)
    asked = find_asked_documents(query.text_in_context, distinct)
    lifted = lift_asked_documents(query.text, lift_named_documents(query.text_in_context, distinct), asked)
    unlimited = select_best_documents(asked) if len(set(asked.values())) > 1 else frozenset()
    ordered = give_documents_room(lifted, query.text, count=count, unlimited=unlimited)
    return give_figures_room(ordered, asked)


def give_documents_room(
    ranking: Ranking, query_text: str, *, count: int, unlimited: Set[str] = frozenset()
) -> list[Hit]:
    """Return the ranking with no more than half of the first `count` hits of one document, where others have as good.

    Documents whose ids are in `unlimited` are those that the question asks about: no other is as good.
    Of rows with the same columns it is a third: a log in several files has the room of one, and rows come first for
    being short. As good is a hit with a code of `query_text`, for one that has any. Hits with more of its codes come
    first; the rest keeps its order.
    """
    if not count:
        return list(ranking)
    wanted = find_codes(query_text)
    ordered: list[Hit] = []
    seen: Counter[object] = Counter()
    by_codes = sort_by_code_matches(ranking, query_text)
    for _, equals in groupby(by_codes, key=lambda hit: compute_code_share(wanted, hit.chunk.content) > 0):
        deferred: list[Hit] = []
        for hit in equals:
            columns = list_columns(hit.chunk)
            source, share = (columns, MAX_ROW_SHARE) if columns else (hit.chunk.document_id, MAX_SHARE)
            has_room = hit.chunk.document_id in unlimited or seen[source] < max(1, int(share * count))
            (ordered if has_room else deferred).append(hit)
            seen[source] += 1
        ordered += deferred
    head = ordered[:count]
    head_ids = {hit.chunk.id for hit in head}
    return [*head, *(hit for hit in ranking if hit.chunk.id not in head_ids)]


def find_crowding_documents(rankings: Iterable[Ranking], *, limit: int) -> list[str]:
    """Return the ids of the documents that have more than half of the hits of a ranking which was cut at `limit`."""
    counts = [
        Counter(hit.chunk.document_id for hit in ranking)
        for ranking in rankings
        if len(ranking) == limit and not has_semantic_scores(ranking[:1])
    ]
    return sorted({id for of in counts for id, count in of.items() if count > MAX_SHARE * limit})
