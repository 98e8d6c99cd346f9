"""Questions that go on from a conversation: "And in winter?".

A chat model writes such a question so that it stands alone, and everything after sees only that. Without one, the
question stays as it is, and the turns before steer what is found without being asked for in the answer: they are
searched for beside it at a lower weight, its vector is drawn towards that of all the user's turns, and a cross-encoder
reads it after the user's turn before.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_core import prompts
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Hit, QueryVariant, Ranking, Turn, Vector
from rag_core.core.ports import LLM, Reranker, RerankingLLM
from rag_core.core.presets import MAX_TURN_CHARS, Query
from rag_core.core.rankings import fuse_by_score, sort_by_code_matches
from rag_core.core.run import Run
from rag_core.core.techniques import note_techniques
from rag_core.prompts.completions import complete_object, make_invalid_completion_error
from rag_core.retrieval.search import RankingsByLabel, VectorsByLabel, embed_variants
from rag_core.text.anaphora import stands_alone
from rag_core.text.codes import find_codes

REWRITING_TIMEOUT_S = 20.0
MAX_STANDALONE_CHARS = 800  # twice what the prompt allows
SINGLE_TURN_PIPELINES = ("classical", "facets")  # of which the first redacts what it sends to a model
TURNS_TECHNIQUE = "the turns before, at a lower weight"
MAX_USER_TURNS = 6  # before the question, the last ones
EARLIER_LABEL, REPLY_LABEL = "earlier_turns", "last_reply"
# of a lexical score, beside 1 for the question's
LEXICAL_WEIGHTS = {EARLIER_LABEL: 0.35, REPLY_LABEL: 0.1}


@dataclass(frozen=True, slots=True)
class ContextReranker:
    """A `Reranker` that reads one question after the user's turn before it; other texts are read as they are."""

    reranker: Reranker
    question: str
    question_in_context: str

    @property
    def name(self) -> str:
        return self.reranker.name

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        return await self.reranker.score_passages(self.question_in_context if text == self.question else text, passages)


async def resolve_conversation(query: Query, kit: Kit, run: Run) -> tuple[Query, Kit]:
    """Return the query as a chat model writes it to stand alone, without its history, and the kit to answer it with.

    Without a chat model, or where it fails, the query keeps its history, and the kit's reranker reads it in context,
    also where a local technique chooses or grades by it. A question that leans on the turns is noted as "conversation",
    one that has a subject of its own as "prior_turns": to its asker they are no part of it.
    """
    turns = select_user_turns(query.history)
    if query.preset.pipeline in SINGLE_TURN_PIPELINES and turns:
        run.warn("no_effect", f"history has no effect: the pipeline {query.preset.pipeline} reads a question by itself")
    if query.preset.pipeline in SINGLE_TURN_PIPELINES or not turns:
        return replace(query, history=()), kit
    if kit.has_chat_model and (standalone := await _rewrite_with_fallback(query, kit, run)):
        return replace(query, text=standalone, history=()), kit
    run.techniques.setdefault("prior_turns" if stands_alone(query.text) else "conversation", TURNS_TECHNIQUE)
    reranker = ContextReranker(kit.reranker, query.text, query.text_in_context)
    llm = kit.llm.replace_reranker(reranker) if isinstance(kit.llm, RerankingLLM) else kit.llm
    return query, replace(kit, reranker=reranker, llm=llm)


async def _rewrite_with_fallback(query: Query, kit: Kit, run: Run) -> str:
    """Return the stand-alone question, "" where the chat model gives none."""
    return await run.attempt(
        "standalone_question",
        write_standalone_question(query.text, query.history, note_techniques(kit, run).llm),
        otherwise="",
        fallback="a search with the turns before",
        within_s=REWRITING_TIMEOUT_S,
    )


async def write_standalone_question(text: str, history: Sequence[Turn], llm: LLM) -> str:
    """Ask a chat model for the question as it would be asked without the conversation.

    Raises:
        Unavailable: the model did not answer, or its reply has no usable question: none at all, one without a code
            of the last question, or one with a code that nobody said (llm_output_invalid).
    """
    turns = [replace(turn, content=turn.content[:MAX_TURN_CHARS]) for turn in history[-2 * MAX_USER_TURNS :]]
    prompt = prompts.build_standalone_question_prompt(text, turns)
    reply = await complete_object(prompt, llm, sources=[text, *(turn.content for turn in turns)], max_chars=2000)
    standalone = reply.fields.get("question")
    if not isinstance(standalone, str) or not 0 < len(standalone.strip()) <= MAX_STANDALONE_CHARS:
        raise make_invalid_completion_error("has no question")
    asked, rewritten = find_codes(text), find_codes(standalone)
    if lost := asked - rewritten:
        raise make_invalid_completion_error(f"leaves out {_join(lost)} of the question")
    if invented := rewritten.difference(asked, *(find_codes(turn.content) for turn in turns)):
        raise make_invalid_completion_error(f"asks about {_join(invented)}, which nobody said")
    return " ".join(standalone.split())


def select_user_turns(history: Sequence[Turn]) -> list[str]:
    """Return what the user said in the last turns, in order, each cut to MAX_TURN_CHARS."""
    said = [turn.content.strip()[:MAX_TURN_CHARS] for turn in history if turn.role == "user"]
    return [turn for turn in said if turn][-MAX_USER_TURNS:]


def label_turns(history: Sequence[Turn]) -> list[QueryVariant]:
    """Return the user's turns as one variant and the last reply as another, as far as there are any."""
    reply = history[-1].content.strip()[:MAX_TURN_CHARS] if history and history[-1].role == "assistant" else ""
    earlier = QueryVariant(EARLIER_LABEL, " ".join(select_user_turns(history)))
    return [variant for variant in (earlier, QueryVariant(REPLY_LABEL, reply)) if variant.text]


async def embed_in_context(variants: Sequence[QueryVariant], query: Query, index: Index) -> VectorsByLabel:
    """Embed the variants, the original one as the mean of its vector and that of all the user's turns together.

    Raises:
        Unavailable: there is no embedder, or it failed (embedding_unavailable).
    """
    search_type, turns = query.preset.search.search_type, select_user_turns(query.history)
    if not turns or variants[0].label != "original" or search_type == "keyword":
        return await embed_variants(variants, index, search_type=search_type)
    together = QueryVariant(EARLIER_LABEL, " ".join([*turns, variants[0].text]))
    vectors = dict(await embed_variants([*variants, together], index, search_type=search_type))
    mean = _average_vectors(vectors[variants[0].label], vectors.pop(EARLIER_LABEL))
    return {**vectors, variants[0].label: mean}


def merge_turns(rankings: RankingsByLabel, query_text: str) -> RankingsByLabel:
    """Return the rankings without those of the turns, whose lexical scores are added to the original one's.

    Hits with the question's codes come first, as in every hybrid search. A service's own semantic ranker, which has
    read the question in context, is not overruled.
    """
    turns = {label: rankings[label] for label in LEXICAL_WEIGHTS if label in rankings}
    others = {label: ranking for label, ranking in rankings.items() if label not in turns}
    original = others["original"]
    if not turns or any("semantic" in hit.signals for hit in original):
        return others
    fused = fuse_by_score(_add_lexical_scores(original, turns))
    return {**others, "original": sort_by_code_matches(fused, query_text) if _is_hybrid(original) else fused}


def _is_hybrid(ranking: Ranking) -> bool:
    return any("meaning" in hit.signals for hit in ranking)


def _add_lexical_scores(ranking: Ranking, turns: RankingsByLabel) -> list[Hit]:
    """Return the hits of all rankings with their lexical scores added up by LEXICAL_WEIGHTS."""
    hits = {hit.chunk.id: hit for hit in ranking}
    words = {id: hit.signals["words"] for id, hit in hits.items() if "words" in hit.signals}
    for label, hit in ((label, hit) for label, found in turns.items() for hit in found):
        hits.setdefault(hit.chunk.id, replace(hit, score=0.0, signals={}))
        words[hit.chunk.id] = words.get(hit.chunk.id, 0.0) + LEXICAL_WEIGHTS[label] * hit.signals["words"]
    return [replace(h, signals={**h.signals, "words": words[id]}) if id in words else h for id, h in hits.items()]


def _join(codes: frozenset[str]) -> str:
    return ", ".join(sorted(code.upper() for code in codes))


def _average_vectors(a: Vector, b: Vector) -> Vector:
    """Return the mean of two vectors at length 1, as embedders give them; the first where the mean is zero."""
    mean = [(x + y) / 2 for x, y in zip(a, b, strict=True)]
    length = math.hypot(*mean)
    return [x / length for x in mean] if length else a
