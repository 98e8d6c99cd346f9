"""The semantic ranker: a cross-encoder's judgement of the first results, with captions and answers drawn from them."""

import asyncio
import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from local_emulator.search_service.highlights import Tags, found, sentences
from local_emulator.search_service.refusals import Refusal, invalid, unimplemented
from local_emulator.search_service.schema import Field, Schema, semantic_fields
from local_emulator.search_service.syntax import Query, Some, Term
from local_emulator.search_service.words import texts

Json = dict[str, Any]

DEPTH = 50  # results that the service reranks
HIGHEST = 4.0  # of a reranker score
CAPTION_WORDS = 90  # about what a caption of the service holds
DEFAULT_THRESHOLD = 0.7  # an answer's least score when none is asked for
_OPTION = re.compile(r"(count|threshold|highlight|maxcharlength)-(.+)")


class RankerUnavailable(Exception):
    """Raised by a ranker that cannot score passages now; the service answers 503, or with a partial result."""


class Ranker(Protocol):
    """A model that scores passages for a question. Whoever makes the service hands it one."""

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        """Return a score from 0 to 1 for each passage, in their order.

        Raises:
            RankerUnavailable: the model cannot be asked now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Semantic:
    """What was asked of the ranker. `count` 0 is no answers; `wait_s` None is as long as it takes."""

    question: str
    fields: tuple[Field, ...]
    captions: bool = False
    highlighted: bool = True
    count: int = 0
    threshold: float = DEFAULT_THRESHOLD
    wait_s: float | None = None
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """A document with its score of 0 to 4 and the passage that it is best described by."""

    key: str
    score: float
    caption: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the ranker made of the first results, best first; or in `missed` why there is none."""

    by_key: Mapping[str, Judged] = dataclasses.field(default_factory=dict)
    answers: list[Json] | None = None
    missed: str = ""


def parse_semantic(body: Json, schema: Schema, *, ranker: bool) -> Semantic:
    if not ranker:
        raise invalid(
            "Semantic search is not enabled for this service.",
            parameter="queryType",
            code="FeatureNotSupportedInService",
        )
    question = body.get("semanticQuery") or body.get("search") or ""
    if question in ("", "*"):
        raise invalid("A semantic query needs search text.", parameter="search")
    if body.get("orderby"):
        raise invalid("'orderBy' is not supported with queryType 'semantic'.", parameter="orderby")
    fields = tuple(schema.fields[path] for path in semantic_fields(_configuration(body, schema)))
    wait = body.get("semanticMaxWaitInMilliseconds")
    if wait is not None and wait < 700:
        raise invalid("The value must be 700 or more.", parameter="semanticMaxWaitInMilliseconds")
    asked = Semantic(question, fields, wait_s=wait and wait / 1000)
    asked = replace(asked, partial=body.get("semanticErrorHandling") == "partial")
    return _answers(body.get("answers"), _captions(body.get("captions"), asked))


def _configuration(body: Json, schema: Schema) -> Json:
    semantic = schema.definition["semantic"] or {"configurations": [], "defaultConfiguration": None}
    name = body.get("semanticConfiguration") or semantic["defaultConfiguration"]
    for configuration in semantic["configurations"]:
        if configuration["name"] == name:
            return dict(configuration)
    why = f"Unknown semantic configuration '{name}'." if name else "The value must not be empty for semantic queries."
    raise invalid(why, parameter="semanticConfiguration")


def _captions(text: str | None, asked: Semantic) -> Semantic:
    kind, options = _read(text, "captions", {"highlight"})
    if kind in (None, "none"):
        return asked
    return replace(asked, captions=True, highlighted=options.get("highlight", "true") == "true")


def _answers(text: str | None, asked: Semantic) -> Semantic:
    kind, options = _read(text, "answers", {"count", "threshold"})
    if kind in (None, "none"):
        return asked
    try:
        count, threshold = int(options.get("count", 1)), float(options.get("threshold", DEFAULT_THRESHOLD))
    except ValueError as failure:
        raise invalid("'count' and 'threshold' are numbers.", parameter="answers") from failure
    if not 1 <= count <= 10 or not 0 <= threshold <= 1:
        raise invalid("'count' is from 1 to 10 and 'threshold' from 0 to 1.", parameter="answers")
    return replace(asked, count=count, threshold=threshold)


def _read(text: str | None, parameter: str, known: set[str]) -> tuple[str | None, dict[str, str]]:
    """`extractive|count-3,threshold-0.5` as its kind and options."""
    if text is None:
        return None, {}
    kind, _, rest = text.partition("|")
    if kind not in ("none", "extractive"):
        raise invalid(f"Unknown value '{kind}'.", parameter=parameter)
    options = {}
    for option in filter(None, rest.split(",")):
        match = _OPTION.fullmatch(option.strip())
        if not match:
            raise invalid(f"Unknown option '{option}'.", parameter=parameter)
        if match[1] not in known:
            raise unimplemented(f"the option '{match[1]}' of {parameter}")
        options[match[1]] = match[2]
    return kind, options


def judge(asked: Semantic, documents: Sequence[tuple[str, Json]], reranker: Ranker) -> Judgement:
    """Judge documents. Raises a Refusal when it cannot be done, unless a partial answer was allowed."""
    try:
        ranked = _rank(asked, documents, reranker)
    except (RankerUnavailable, TimeoutError) as failure:
        if asked.partial:
            return Judgement(missed="maxWaitExceeded" if isinstance(failure, TimeoutError) else "transient")
        raise _failed(failure) from failure
    best = _answers_of(ranked, asked) if asked.count else None
    return Judgement({one.key: one for one in ranked}, best)


def _rank(asked: Semantic, documents: Sequence[tuple[str, Json]], reranker: Ranker) -> list[Judged]:
    """By their best passage, best first; equals stay in the order they came."""
    passages = [(key, passage) for key, document in documents for passage in _passages(document, asked.fields)]
    best: dict[str, Judged] = {key: Judged(key, 0.0, "") for key, _ in documents}
    for (key, passage), score in zip(passages, _scores(asked, passages, reranker), strict=True):
        if not best[key].caption or score * HIGHEST > best[key].score:
            best[key] = Judged(key, score * HIGHEST, passage)
    return sorted(best.values(), key=lambda judged: -judged.score)


def _scores(asked: Semantic, passages: Sequence[tuple[str, str]], reranker: Ranker) -> Sequence[float]:
    async def scores() -> Sequence[float]:
        texts = [text for _, text in passages]
        return await asyncio.wait_for(reranker.score_passages(asked.question, texts), asked.wait_s)

    return asyncio.run(scores()) if passages else ()


def _failed(failure: RankerUnavailable | TimeoutError) -> Refusal:
    if isinstance(failure, TimeoutError):
        return Refusal(408, "The semantic ranker exceeded the time limit.")
    return Refusal(503, f"The semantic ranker is not available: {failure}", code="ServiceUnavailable")


def captions(judged: Judged, asked: Semantic) -> list[Json]:
    marked = _marked(judged.caption, asked) if asked.highlighted else None
    return [{"text": judged.caption, "highlights": marked}]


def _answers_of(judged: Sequence[Judged], asked: Semantic) -> list[Json]:
    """The best passages that are sure enough, with scores from 0 to 1."""
    sure = [one for one in judged if one.caption and one.score / HIGHEST >= asked.threshold]
    return [
        {
            "key": one.key,
            "text": one.caption,
            "highlights": _marked(one.caption, asked),
            "score": one.score / HIGHEST,
        }
        for one in sure[: asked.count]
    ]


def _marked(text: str, asked: Semantic) -> str:
    words: Query = Some(tuple(Term(word) for word in asked.question.split()))
    tokens = found(text, asked.fields[-1], words)
    return Tags().around(text, tokens) if tokens else ""


def _passages(document: Json, fields: Sequence[Field]) -> list[str]:
    """The texts of the configuration's fields, cut at sentences into what a caption holds."""
    cut: list[str] = []
    for field in fields:
        for text in texts(document, field.path):
            cut.extend(_cut(text))
    return cut


def _cut(text: str) -> list[str]:
    passages: list[list[str]] = [[]]
    for sentence in sentences(text):
        if passages[-1] and sum(len(part.split()) for part in [*passages[-1], sentence]) > CAPTION_WORDS:
            passages.append([])
        passages[-1].append(sentence)
    return [" ".join(parts) for parts in passages if parts]
