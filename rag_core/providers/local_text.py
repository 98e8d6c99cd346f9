"""Local techniques in place of a chat model, one per task; the reply names the technique."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

from rag_core.core.errors import Unavailable
from rag_core.core.ports import Prompt, Reply, Reranker
from rag_core.ingestion.enrichment import entities
from rag_core.retrieval.extractive import Passage, answer
from rag_core.text.intent import intent_of

KeySentences = Callable[[str, int], Sequence[str]]
Technique = Callable[[Mapping[str, object]], Awaitable[str]]

FEEDBACK = 5  # the best passages, which feedback takes as relevant
TERMS = 4  # added to each expanded query
SUMMARY_SENTENCES = 5

WORD = re.compile(r"[^\W_](?:[\w./-]*[^\W_])?")  # keeps a code such as P0700, AC/DC or TLS1.3 whole
STOP_WORDS = frozenset(
    WORD.findall(
        "a about above after again all also am an and any are as at be because been before being below between "
        "both but by can could did do does doing down during each few for from further had has have having he her "
        "here hers him his how i if in into is it its itself just may me might more most must my no nor not now of "
        "off on once only or other our out over own same shall she should so some such than that the their them "
        "then there these they this those through to too under until up us very was we were what when where which "
        "while who whom why will with would you your"
    )
)


class LocalText:
    """A stand-in for a chat model; `key_sentences` extracts the best sentences of a text.

    A task without a local technique raises Unavailable.
    """

    name = "local techniques"

    def __init__(self, reranker: Reranker, key_sentences: KeySentences) -> None:
        self._reranker = reranker
        self._key_sentences = key_sentences
        self._techniques: dict[str, tuple[str, Technique]] = {
            "query_expansion": ("pseudo-relevance feedback, wording rules, no hypothetical answer", self._expand),
            "rerank": (f"cross-encoder {reranker.name}", self._grade),
            "summary": ("key sentences", self._summarize),
            "answer": (f"sentences chosen by {reranker.name}", self._answer),
            "rag_augmentation": (f"sentences chosen by {reranker.name}", self._say),
        }

    async def complete(self, prompt: Prompt) -> Reply:
        if prompt.task not in self._techniques:
            raise Unavailable(f"{prompt.task} needs a chat model, and none is configured", code="llm_unavailable")
        technique, run_technique = self._techniques[prompt.task]
        return Reply(await run_technique(prompt.inputs), f"local: {technique}", local=True)

    async def _expand(self, inputs: Mapping[str, object]) -> str:
        """Return the expansion as JSON, without a HyDE answer: the best passage in its place lowered nDCG."""
        query_text, passages = str(inputs["query"]), _texts(inputs)
        expansion = {
            "queries": reworded(query_text, passages, count=int(str(inputs["count"]))),
            "hyde": "",
            "intent": intent_of(query_text),
            "entities": [entity.value for entity in entities(query_text)],
        }
        return json.dumps(expansion)

    async def _grade(self, inputs: Mapping[str, object]) -> str:
        scores = await self._reranker.scores(str(inputs["query"]), _texts(inputs))
        return json.dumps({"scores": [10 * score for score in scores]})

    async def _summarize(self, inputs: Mapping[str, object]) -> str:
        return " ".join(self._key_sentences("\n\n".join(_texts(inputs)), SUMMARY_SENTENCES))

    async def _answer(self, inputs: Mapping[str, object]) -> str:
        sentences = await answer(str(inputs["question"]), _evidence(inputs), self._reranker)
        quotes = [{"text": text, "evidence": [id]} for text, id in sentences]
        return json.dumps({"answerable": bool(quotes), "sentences": quotes})

    async def _say(self, inputs: Mapping[str, object]) -> str:
        """Return the extractive answer as text, one paragraph per sentence; "" when no passage answers the question."""
        sentences = await answer(str(inputs["question"]), _evidence(inputs), self._reranker)
        return "\n\n".join(text for text, _ in sentences)  # paragraphs, because a table row ends without a full stop


def reworded(query: str, passages: Sequence[str], *, count: int) -> list[str]:
    """Return at most `count` expanded queries: the query followed by feedback terms, those of most weight first."""
    terms = feedback_terms(query, passages, limit=count * TERMS)
    groups = (terms[start : start + TERMS] for start in range(0, len(terms), TERMS))
    return [" ".join((query, *group)) for group in groups]


def feedback_terms(query: str, passages: Sequence[str], *, limit: int) -> list[str]:
    """Return the terms of the best passages that the query lacks, by falling weight, then alphabetically.

    weight(t) = sum over the first FEEDBACK passages of tf(t) / length / rank: the relevance model of Lavrenko and
    Croft (SIGIR 2001), with the reciprocal rank for a passage's likelihood. An additional IDF weight was worse on
    every collection measured (docs/evaluation.md).
    """
    weights: dict[str, float] = defaultdict(float)
    for rank, term_counts in enumerate((Counter(_words(passage)) for passage in passages[:FEEDBACK]), start=1):
        for term, count in term_counts.items():
            weights[term] += count / term_counts.total() / rank
    query_terms = set(_words(query))
    weighted_terms = sorted((-weight, term) for term, weight in weights.items() if term not in query_terms)
    return [term for _, term in weighted_terms[:limit]]


def _words(text: str) -> list[str]:
    return [word for word in map(str.lower, WORD.findall(text)) if len(word) > 2 and word not in STOP_WORDS]


def _texts(inputs: Mapping[str, object]) -> list[str]:
    passages = inputs["passages"]
    return [str(passage) for passage in passages] if isinstance(passages, Sequence) else []


def _evidence(inputs: Mapping[str, object]) -> list[Passage]:
    evidence = inputs["evidence"]
    return [passage for passage in evidence if isinstance(passage, Mapping)] if isinstance(evidence, Sequence) else []
