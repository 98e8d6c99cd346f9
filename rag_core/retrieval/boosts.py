"""Score boosts for passages that name the question's entities or are written in the manner of its intent."""

from collections.abc import Sequence
from dataclasses import replace

from rag_core.core.model import Hit, Ranking
from rag_core.ingestion.enrichment import extract_keywords
from rag_core.text.intent import matches_intent

ENTITY_BOOST = 0.2  # share of its score that a passage with all of the question's entities gains: untuned


def boost_by_entities(query_text: str, ranking: Ranking) -> list[Hit]:
    """Sort hits by score * (1 + ENTITY_BOOST * share of the question's entities that the passage names) (S4-40).

    The hits keep their search scores; equal ones are ordered by chunk id.
    """
    names = {keyword.casefold() for keyword in extract_keywords(query_text)}
    return sorted(
        ranking, key=lambda hit: (-hit.score * (1 + ENTITY_BOOST * _compute_entity_share(names, hit)), hit.chunk.id)
    )


def boost_by_entities_and_intent(
    ranking: Ranking, entity_names: Sequence[str], intent: str, *, entity_boost: float, intent_boost: float
) -> list[Hit]:
    """Sort hits by relevance * (1 + entity_boost * entity share + intent_boost * intent match) (S0-49, S0-50).

    The relevance is the signal "semantic" or, where no cross-encoder has scored the hit, the search score. The entity
    share is that of `entity_names` found in the passage; the intent match is 0 or 1. The signals "entity_boost" and
    "intent_boost" hold the two terms, "final" the product. Equal hits keep their order.
    """
    names = {name.casefold() for name in entity_names}
    hits = [
        _apply_boosts(
            hit,
            entity_boost * _compute_entity_share(names, hit),
            intent_boost * matches_intent(intent, hit.chunk.content),
        )
        for hit in ranking
    ]
    return sorted(hits, key=lambda hit: -hit.signals["final"])


def _apply_boosts(hit: Hit, entity_term: float, intent_term: float) -> Hit:
    final = hit.signals.get("semantic", hit.score) * (1 + entity_term + intent_term)
    signals = {**hit.signals, "entity_boost": entity_term, "intent_boost": intent_term, "final": final}
    return replace(hit, signals=signals)


def _compute_entity_share(names: set[str], hit: Hit) -> float:
    """Return the share of the casefolded names that occur in the chunk's entities, title or text; 0 for no names."""
    chunk_entities = {entity.value.casefold() for entity in hit.chunk.entities}
    chunk_text = f"{hit.chunk.title}\n{hit.chunk.content}".casefold()
    return sum(name in chunk_entities or name in chunk_text for name in names) / max(1, len(names))
