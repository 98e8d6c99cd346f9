"""Rank the first results with a cross-encoder, and draw captions and answers from them."""

import asyncio
import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from .field_texts import list_texts
from .highlights import Tags, find_tokens, list_sentences
from .query_tree import AnyOf, Query, Term
from .refusals import ServiceRefusal, make_refusal, make_unimplemented_refusal
from .schema import Field, Schema, list_semantic_fields
from .scoring import ScoringProfile

Json = dict[str, Any]

DEPTH = 50  # results that the service reranks
# reranker scores by the log odds of a ranker: recorded are 1.66 to 2.0 for weak hits and 3.5 for the best, of 4
LOG_ODDS = (-13.8, -3.85, 4.6, 13.8)
RERANKER_SCORES = (1.5, 2.0, 3.5, 4.0)
CAPTION_WORDS = 90  # about what a caption of the service holds
DEFAULT_THRESHOLD = 0.7  # an answer's least score when none is asked for
_OPTION = re.compile(r"(count|threshold|highlight|maxcharlength)-(.+)")


class RankerUnavailable(Exception):
    """A ranker raises this when it cannot score passages now; the service answers 503, or with a partial result."""


class Ranker(Protocol):
    """A ranker is a model that scores passages for a question. Whoever makes the service hands it one."""

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        """Return a score from 0 to 1 for each passage, in their order.

        Raises:
            RankerUnavailable: the model cannot be asked now.
        """
        ...


@dataclass(frozen=True, slots=True)
class SemanticRequest:
    """A request says what the ranker is to do. `count` 0 asks for no answers; `wait_s` None sets no time limit."""

    question: str
    fields: tuple[Field, ...]
    configuration: Json
    captions: bool = False
    highlighted: bool = True
    count: int = 0
    threshold: float = DEFAULT_THRESHOLD
    wait_s: float | None = None
    partial: bool = False


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A ranked document has a score of 0 to 4, the ranker's own of 0 to 1, and the passage that describes it best.

    `boosted` is the score with the functions of a scoring profile, where there are some.
    """

    key: str
    score: float
    probability: float
    caption: str
    boosted: float | None = None


@dataclass(frozen=True, slots=True)
class SemanticRanking:
    """A ranking puts the first results in the ranker's order; `failure` says why there is none."""

    by_key: Mapping[str, RankedDocument] = dataclasses.field(default_factory=dict)
    answers: list[Json] | None = None
    failure: str = ""


def parse_semantic_request(body: Json, schema: Schema, *, ranker: bool) -> SemanticRequest:
    if not ranker:
        raise make_refusal(
            "Semantic search is not enabled for this service.",
            parameter="queryType",
            code="FeatureNotSupportedInService",
            detail="SemanticQueriesNotAvailable",
        )
    question = body.get("semanticQuery") or body.get("search") or ""
    if question in ("", "*"):
        raise make_refusal("A semantic query needs search text.", parameter="search")
    if body.get("orderby"):
        raise make_refusal("'orderBy' is not supported with queryType 'semantic'.", parameter="orderby")
    configuration = _find_configuration(body, schema)
    fields = tuple(schema.fields[path] for path in list_semantic_fields(configuration))
    wait = body.get("semanticMaxWaitInMilliseconds")
    if wait is not None and wait < 700:
        raise make_refusal("The value must be 700 or more.", parameter="semanticMaxWaitInMilliseconds")
    asked = SemanticRequest(question, fields, configuration, wait_s=wait and wait / 1000)
    asked = replace(asked, partial=body.get("semanticErrorHandling") == "partial")
    return _parse_answers(body.get("answers"), _parse_captions(body.get("captions"), asked))


def _find_configuration(body: Json, schema: Schema) -> Json:
    semantic = schema.definition["semantic"] or {"configurations": [], "defaultConfiguration": None}
    name = body.get("semanticConfiguration") or semantic["defaultConfiguration"]
    for configuration in semantic["configurations"]:
        if configuration["name"] == name:
            return dict(configuration)
    why = f"Unknown semantic configuration '{name}'." if name else "The value must not be empty for semantic queries."
    raise make_refusal(why, parameter="semanticConfiguration")


def _parse_captions(text: str | None, asked: SemanticRequest) -> SemanticRequest:
    kind, options = _parse_options(text, "captions", {"highlight"})
    if kind in (None, "none"):
        return asked
    return replace(asked, captions=True, highlighted=options.get("highlight", "true").lower() == "true")


def _parse_answers(text: str | None, asked: SemanticRequest) -> SemanticRequest:
    kind, options = _parse_options(text, "answers", {"count", "threshold"})
    if kind in (None, "none"):
        return asked
    try:
        count, threshold = int(options.get("count", 1)), float(options.get("threshold", DEFAULT_THRESHOLD))
    except ValueError as failure:
        raise make_refusal("'count' and 'threshold' are numbers.", parameter="answers") from failure
    if not 1 <= count <= 10 or not 0 <= threshold <= 1:
        raise make_refusal("'count' is from 1 to 10 and 'threshold' from 0 to 1.", parameter="answers")
    return replace(asked, count=count, threshold=threshold)


def _parse_options(text: str | None, parameter: str, known: set[str]) -> tuple[str | None, dict[str, str]]:
    """Parse `extractive|count-3,threshold-0.5` into its kind and options."""
    if text is None:
        return None, {}
    kind, _, rest = text.partition("|")
    if kind not in ("none", "extractive"):
        raise make_refusal(f"Unknown value '{kind}'.", parameter=parameter)
    options = {}
    for option in filter(None, rest.split(",")):
        match = _OPTION.fullmatch(option.strip())
        if not match:
            raise make_refusal(f"Unknown option '{option}'.", parameter=parameter)
        if match[1] not in known:
            raise make_unimplemented_refusal(f"the option '{match[1]}' of {parameter}")
        options[match[1]] = match[2]
    return kind, options


def rank_documents(
    asked: SemanticRequest,
    documents: Sequence[tuple[str, Json]],
    reranker: Ranker,
    scoring: ScoringProfile | None = None,
) -> SemanticRanking:
    """Rank documents, by their boosted scores where the configuration says so and the profile has functions.

    Raises:
        ServiceRefusal: it cannot be done, and no partial answer was allowed.
    """
    try:
        ranked = _score_documents(asked, documents, reranker)
    except (RankerUnavailable, TimeoutError) as failure:
        if asked.partial:
            return SemanticRanking(failure="maxWaitExceeded" if isinstance(failure, TimeoutError) else "transient")
        raise _make_ranker_refusal(failure) from failure
    if scoring and scoring.functions and asked.configuration["rankingOrder"] == "BoostedRerankerScore":
        held = dict(documents)
        ranked = [replace(one, boosted=one.score * scoring.compute_factor(held[one.key])) for one in ranked]
        ranked.sort(key=lambda one: -(one.boosted or 0.0))
    best = _build_answers(ranked, asked)  # none were asked for: an empty list, as recorded
    return SemanticRanking({one.key: one for one in ranked}, best)


def _score_documents(
    asked: SemanticRequest, documents: Sequence[tuple[str, Json]], reranker: Ranker
) -> list[RankedDocument]:
    """Score documents by their best passage, best first; equals stay in the order they came."""
    passages = [(key, passage) for key, document in documents for passage in _split_document(document, asked.fields)]
    best: dict[str, RankedDocument] = {key: RankedDocument(key, 0.0, 0.0, "") for key, _ in documents}
    for (key, passage), score in zip(passages, _score_passages(asked, passages, reranker), strict=True):
        if not best[key].caption or score > best[key].probability:
            best[key] = RankedDocument(key, _compute_reranker_score(score), score, passage)
    return sorted(best.values(), key=lambda ranked: -ranked.probability)


def _compute_reranker_score(probability: float) -> float:
    """Return a score of 0 to 1 on the service's scale of 0 to 4, on which even weak hits score 1.5 and more."""
    clipped = min(max(probability, 1e-6), 1 - 1e-6)
    return round(float(np.interp(math.log(clipped / (1 - clipped)), LOG_ODDS, RERANKER_SCORES)), 6)


def _score_passages(asked: SemanticRequest, passages: Sequence[tuple[str, str]], reranker: Ranker) -> Sequence[float]:
    async def ask_ranker() -> Sequence[float]:
        texts = [text for _, text in passages]
        async with asyncio.timeout(asked.wait_s):
            return await reranker.score_passages(asked.question, texts)

    return asyncio.run(ask_ranker()) if passages else ()


def _make_ranker_refusal(failure: RankerUnavailable | TimeoutError) -> ServiceRefusal:
    if isinstance(failure, TimeoutError):
        return ServiceRefusal(408, "The semantic ranker exceeded the time limit.")
    return ServiceRefusal(503, f"The semantic ranker is not available: {failure}", code="ServiceUnavailable")


def build_captions(ranked: RankedDocument, asked: SemanticRequest) -> list[Json]:
    marked = _mark_question_words(ranked.caption, asked) if asked.highlighted else None
    return [{"text": ranked.caption, "highlights": marked}]


def describe_ranker_input(asked: SemanticRequest, document: Json) -> Json:
    """Describe which fields of the configuration a document has, and what the ranker was given of them."""
    parts = asked.configuration["prioritizedFields"]

    def describe(fields: Sequence[Json]) -> tuple[list[Json], str]:
        texts = {field["fieldName"]: list(list_texts(document, field["fieldName"])) for field in fields}
        states = [{"name": name, "state": "used" if texts[name] else "unused"} for name in texts]
        return states, "\r\n".join(text for held in texts.values() for text in held)

    titles, title = describe([parts["titleField"]] if parts["titleField"] else [])
    contents, content = describe(parts["prioritizedContentFields"])
    keywords, words = describe(parts["prioritizedKeywordsFields"])
    return {
        "titleField": titles[0] if titles else None,
        "contentFields": contents,
        "keywordFields": keywords,
        "rerankerInput": {"title": title, "content": content, "keywords": words},
    }


def _build_answers(ranked: Sequence[RankedDocument], asked: SemanticRequest) -> list[Json]:
    """Build answers of the best passages that reach the threshold, with scores from 0 to 1."""
    sure = [one for one in ranked if one.caption and one.probability >= asked.threshold]
    return [
        {
            "key": one.key,
            "text": one.caption,
            "highlights": _mark_question_words(one.caption, asked),
            "score": one.probability,
        }
        for one in sure[: asked.count]
    ]


def _mark_question_words(text: str, asked: SemanticRequest) -> str:
    words: Query = AnyOf(tuple(Term(word) for word in asked.question.split()))
    tokens = find_tokens(text, asked.fields[-1], words)
    return Tags().mark_tokens(text, tokens) if tokens else ""


def _split_document(document: Json, fields: Sequence[Field]) -> list[str]:
    """Split the texts of the configuration's fields at sentences into passages that a caption can hold."""
    cut: list[str] = []
    for field in fields:
        for text in list_texts(document, field.path):
            cut.extend(_split_passages(text))
    return cut


def _split_passages(text: str) -> list[str]:
    passages: list[list[str]] = [[]]
    for sentence in list_sentences(text):
        if passages[-1] and sum(len(part.split()) for part in [*passages[-1], sentence]) > CAPTION_WORDS:
            passages.append([])
        passages[-1].append(sentence)
    return [" ".join(parts) for parts in passages if parts]
