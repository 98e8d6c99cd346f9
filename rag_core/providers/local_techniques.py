"""Local techniques in place of a chat model, one per task; the reply names the technique."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

from rag_core.core.errors import Unavailable
from rag_core.core.ports import Completion, Prompt, Reranker
from rag_core.ingestion.enrichment import extract_keywords
from rag_core.retrieval.extractive_answers import MIN_ANSWERABILITY, SelectedAnswer, select_answer
from rag_core.retrieval.passage_sentences import PromptPassage
from rag_core.text.intent import classify_intent
from rag_core.text.stop_words import FEEDBACK_STOP_WORDS

KeySentenceExtractor = Callable[[str, int], Sequence[str]]
Technique = Callable[[Mapping[str, object]], Awaitable[str]]

FEEDBACK_PASSAGES = 5  # the best passages, which feedback takes as relevant
TERMS_PER_QUERY = 4  # added to each expanded query
SUMMARY_SENTENCES = 5

FEEDBACK_WORD_PATTERN = re.compile(r"[^\W_](?:[\w./-]*[^\W_])?")  # keeps a code such as P0700, AC/DC or TLS1.3 whole


class LocalTechniques:
    """A stand-in for a chat model; `key_sentences` extracts the best sentences of a text.

    A task without a local technique raises Unavailable. `least_answerability` is that of `select_answer`.
    """

    name = "local techniques"

    def __init__(
        self,
        reranker: Reranker,
        key_sentences: KeySentenceExtractor,
        *,
        least_answerability: float = MIN_ANSWERABILITY,
    ) -> None:
        self._reranker = reranker
        self._least_answerability = least_answerability
        self._key_sentences = key_sentences
        # named when used, as the name of a ranker is told by the hash of its model
        self._techniques: dict[str, tuple[str, Technique]] = {
            "query_expansion": ("pseudo-relevance feedback, wording rules, no hypothetical answer", self._expand_query),
            "rerank": ("cross-encoder {ranker.name}", self._grade_passages),
            "summary": ("key sentences", self._summarize_passages),
            "answer": ("sentences chosen by {ranker.name}", self._answer_as_json),
            "rag_augmentation": ("sentences chosen by {ranker.name}", self._answer_as_text),
        }

    def replace_reranker(self, reranker: Reranker) -> "LocalTechniques":
        return LocalTechniques(reranker, self._key_sentences, least_answerability=self._least_answerability)

    async def complete(self, prompt: Prompt) -> Completion:
        if prompt.task not in self._techniques:
            raise Unavailable(f"{prompt.task} needs a chat model, and none is configured", code="llm_unavailable")
        technique, run_technique = self._techniques[prompt.task]
        completion = await run_technique(prompt.inputs)
        return Completion(completion, f"local: {technique.format(ranker=self._reranker)}", local=True)

    async def _expand_query(self, inputs: Mapping[str, object]) -> str:
        """Return the expansion as JSON, without a HyDE answer: the best passage in its place lowered nDCG."""
        query_text, passages = str(inputs["query"]), _passages_from_inputs(inputs)
        expansion = {
            "queries": expand_by_feedback(query_text, passages, count=int(str(inputs["count"]))),
            "hyde": "",
            "intent": classify_intent(query_text),
            "entities": list(extract_keywords(query_text)),
        }
        return json.dumps(expansion)

    async def _grade_passages(self, inputs: Mapping[str, object]) -> str:
        passages = _mappings_from_inputs(inputs, "passages")
        scores = await self._reranker.score_passages(str(inputs["query"]), [str(p["text"]) for p in passages])
        grades = [{"id": p["id"], "score": 10 * score} for p, score in zip(passages, scores, strict=True)]
        return json.dumps({"grades": grades})

    async def _summarize_passages(self, inputs: Mapping[str, object]) -> str:
        return " ".join(self._key_sentences("\n\n".join(_passages_from_inputs(inputs)), SUMMARY_SENTENCES))

    async def _answer_as_json(self, inputs: Mapping[str, object]) -> str:
        selected = await self._select_answer(inputs)
        quotes = [{"text": text, "evidence": [id]} for text, id in selected.sentences]
        return json.dumps({"answerable": bool(quotes), "sentences": quotes, "margin": selected.margin})

    async def _answer_as_text(self, inputs: Mapping[str, object]) -> str:
        """Return the extractive answer as text, one paragraph per sentence; "" when no passage answers the question."""
        selected = await self._select_answer(inputs)
        return "\n\n".join(
            text for text, _ in selected.sentences
        )  # paragraphs, because a table row ends without a full stop

    async def _select_answer(self, inputs: Mapping[str, object]) -> SelectedAnswer:
        question, passages = str(inputs["question"]), _mappings_from_inputs(inputs, "evidence")
        return await select_answer(question, passages, self._reranker, least=self._least_answerability)


def expand_by_feedback(query_text: str, passages: Sequence[str], *, count: int) -> list[str]:
    """Return at most `count` expanded queries: the query followed by feedback terms, those of most weight first."""
    terms = select_feedback_terms(query_text, passages, limit=count * TERMS_PER_QUERY)
    groups = (terms[start : start + TERMS_PER_QUERY] for start in range(0, len(terms), TERMS_PER_QUERY))
    return [" ".join((query_text, *group)) for group in groups]


def select_feedback_terms(query_text: str, passages: Sequence[str], *, limit: int) -> list[str]:
    """Return the terms of the best passages that the query lacks, by falling weight, then alphabetically.

    weight(t) = sum over the first FEEDBACK passages of tf(t) / length / rank: the relevance model of Lavrenko and
    Croft (SIGIR 2001), with the reciprocal rank for a passage's likelihood. An additional IDF weight was worse on
    every collection measured (docs/reference/evaluation-retrieval.md).
    """
    weights: dict[str, float] = defaultdict(float)
    for rank, term_counts in enumerate(
        (Counter(_split_content_words(passage)) for passage in passages[:FEEDBACK_PASSAGES]), start=1
    ):
        length = term_counts.total()
        for term, count in term_counts.items():
            weights[term] += count / length / rank
    query_terms = set(_split_content_words(query_text))
    weighted_terms = sorted((-weight, term) for term, weight in weights.items() if term not in query_terms)
    return [term for _, term in weighted_terms[:limit]]


def _split_content_words(text: str) -> list[str]:
    return [
        word
        for word in map(str.lower, FEEDBACK_WORD_PATTERN.findall(text))
        if len(word) > 2 and word not in FEEDBACK_STOP_WORDS
    ]


def _passages_from_inputs(inputs: Mapping[str, object]) -> list[str]:
    passages = inputs["passages"]
    return [str(passage) for passage in passages] if isinstance(passages, Sequence) else []


def _mappings_from_inputs(inputs: Mapping[str, object], name: str) -> list[PromptPassage]:
    items = inputs[name]
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, Sequence) else []
