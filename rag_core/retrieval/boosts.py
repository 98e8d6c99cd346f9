"""What a question names and wants counts in favour of the passages that name and give it (S4-40, S0-49, S0-50)."""

from collections.abc import Sequence
from dataclasses import replace

from rag_core.core.model import Hit, Ranking
from rag_core.ingestion.enrichment import entities
from rag_core.text.intent import gives

BOOST = 0.2  # of its score more, for a passage that has all the names: not tuned, see docs/classical.md


def boosted(text: str, ranking: Ranking) -> list[Hit]:
    """The hits by score * (1 + BOOST * share of the question's entities that stand in the passage).

    A hit's score stays the search's own; equals are ordered by chunk id.
    """
    wanted = {entity.value.casefold() for entity in entities(text)}
    return sorted(ranking, key=lambda hit: (-hit.score * (1 + BOOST * _held(wanted, hit)), hit.chunk.id))


def biased(ranking: Ranking, named: Sequence[str], intent: str, *, entity: float, wanted: float) -> list[Hit]:
    """The hits by final = relevance * (1 + entity * share of `named` in the passage + wanted * is it of `intent`).

    The relevance is the signal "semantic" or, where no ranker has judged, the score. The signals "entity_boost" and
    "intent_boost" have the two terms, "final" the product; equals stay as they stood.
    """
    names = {name.casefold() for name in named}
    weighed = [_weighed(hit, entity * _held(names, hit), wanted * gives(intent, hit.chunk.content)) for hit in ranking]
    return sorted(weighed, key=lambda hit: -hit.signals["final"])


def _weighed(hit: Hit, entity: float, wanted: float) -> Hit:
    final = hit.signals.get("semantic", hit.score) * (1 + entity + wanted)
    return replace(hit, signals={**hit.signals, "entity_boost": entity, "intent_boost": wanted, "final": final})


def _held(wanted: set[str], hit: Hit) -> float:
    named = {entity.value.casefold() for entity in hit.chunk.entities}
    said = f"{hit.chunk.title}\n{hit.chunk.content}".casefold()
    return sum(value in named or value in said for value in wanted) / max(1, len(wanted))
