"""From hits to an answer's sentences: the evidence that fits a budget, and what a model makes of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rag_core import prompts
from rag_core.core.model import Claim, Evidence, Hit, Ranking
from rag_core.core.ports import LLM, Reranker
from rag_core.prompts.replies import garbled, read_list, read_object
from rag_core.prompts.screening import repeats
from rag_core.retrieval import extractive
from rag_core.retrieval.excerpts import around
from rag_core.text.sentences import count_tokens, decode, encode, fits, sentences
from rag_core.text.terms import terms

SENTENCES = 20  # of a model's answer are read
SENTENCE_CHARS = 2000
COSINE = 10.0  # log odds that a cosine of 1 is worth; 5 to 20 do as well (docs/answers.md)
HEDGE = re.compile(
    r"\b(?:might|perhaps|possibly|probably|presumably|seems?|appears? to|unclear|unsure|not (?:clear|sure|certain)|"
    r"I think)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, and the ids of the evidence that it says to come from: they may be invented."""

    text: str
    cited: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer not yet checked; without sentences it is "don't know". `certainty` is the writer's own, 0..1."""

    sentences: tuple[Sentence, ...]
    local: bool
    certainty: float


def gather(question: str, hits: Ranking, *, limit: int, tokens: int) -> tuple[Evidence, ...]:
    """The best `limit` hits as evidence of at most `tokens` together (o200k_base), best first.

    Each is given whole as long as there is room; the one that no longer fits is cut to whole sentences around what the
    question asks, and what comes after it is left out; of the best one at least the beginning is given. One that says
    what a better one says is passed over.
    """
    evidence: list[Evidence] = []
    for hit in distinct(hits)[:limit]:
        part = _fitting(question, hit.chunk.content, tokens)
        if part is None and evidence:
            break
        evidence.append(Evidence(f"e{len(evidence) + 1}", hit, *(part or _beginning(hit.chunk.content, tokens))))
        tokens -= count_tokens(evidence[-1].text)
    return tuple(evidence)


def distinct(hits: Ranking) -> list[Hit]:
    """Without those all of whose terms a better one has: near twins that differ in a name or number both stay."""
    kept: list[tuple[frozenset[str], Hit]] = []
    for hit in hits:
        mine = terms(hit.chunk.content)
        if not any(mine <= better for better, _ in kept):
            kept.append((mine, hit))
    return [hit for _, hit in kept]


async def relevant(question: str, hits: Ranking, reranker: Reranker) -> list[Hit]:
    """The hits by what the ranker and the embedder say together, with the ranker's score as the signal "relevance".

    The ranker reads the document's title with the passage: of twin documents only one is asked about. Alone it finds
    every passage on the subject very relevant; what then tells them apart is the cosine (docs/answers.md).

    Raises:
        Unavailable: there is no ranker, or it did not answer.
    """
    scores = await reranker.scores(question, [f"{hit.chunk.title}: {hit.chunk.content}" for hit in hits])
    judged = [replace(h, signals={**h.signals, "relevance": s}) for h, s in zip(hits, scores, strict=True)]
    lowest = min((hit.signals["meaning"] for hit in hits if "meaning" in hit.signals), default=0.0)
    return sorted(judged, key=lambda hit: -_standing(hit, lowest))


def _standing(hit: Hit, lowest: float) -> float:
    """The log odds of relevance plus COSINE times the cosine; a hit that only its words found has the lowest one."""
    return extractive.log_odds(hit.signals["relevance"]) + COSINE * hit.signals.get("meaning", lowest)


@dataclass(frozen=True, slots=True)
class Writing:
    """How an answer is written: in how many tokens, drawn from which share of the likeliest, and in what time."""

    max_tokens: int = 512
    top_p: float | None = None
    within_s: float = 60.0


async def draft(question: str, evidence: Sequence[Evidence], llm: LLM, *, writing: Writing = Writing()) -> Draft:
    """What a model, or what stands in for one, answers from the evidence.

    Raises:
        Unavailable: it did not answer, or with nothing that can be used (llm_output_invalid).
    """
    asked = replace(prompts.answer(question, evidence), max_tokens=writing.max_tokens, top_p=writing.top_p)
    reply = await llm.complete(asked)
    answerable = read_object(reply.text).get("answerable")
    if not isinstance(answerable, bool):
        raise garbled("does not say whether the question can be answered")
    if not answerable:
        return Draft((), reply.local, 1.0)
    found = [s for said in read_list(reply.text, "sentences")[:SENTENCES] for s in _read(said)]
    if not found:
        raise garbled("has no sentence")
    given = {passage.id for passage in evidence}
    return Draft(tuple(found), reply.local, 1.0 if reply.local else _certainty(found, given))


def stated(said: Sequence[Sentence], evidence: Sequence[Evidence]) -> list[Sentence]:
    """Without those that repeat what a model is told instead of what it was given."""
    told, given = prompts.wording("answer"), [passage.text for passage in evidence]
    return [sentence for sentence in said if not repeats(sentence.text, told, given)]


async def extract(question: str, evidence: Sequence[Evidence], reranker: Reranker) -> Draft:
    """The same from the documents' own sentences. Raises Unavailable when there is no ranker."""
    return _quoted(await extractive.answer(question, [prompts.given(passage) for passage in evidence], reranker))


def extract_by_words(question: str, evidence: Sequence[Evidence]) -> Draft:
    """The same without a ranker."""
    return _quoted(extractive.answer_by_words(question, [prompts.given(passage) for passage in evidence]))


def claims(texts: Sequence[str]) -> list[Claim]:
    """The sentences as they stand one after another in an answer's text; nothing is known of them yet."""
    made: list[Claim] = []
    for text in texts:
        start = made[-1].end + len(_between(made[-1].text, text)) if made else 0
        made.append(Claim(text, start, start + len(text), "unsupported"))
    return made


def moved(kept: Sequence[Claim]) -> list[Claim]:
    """These claims as they stand when there are no others between them."""
    places = claims([claim.text for claim in kept])
    return [replace(claim, start=place.start, end=place.end) for claim, place in zip(kept, places, strict=True)]


def text_of(made: Sequence[Claim]) -> str:
    """The text in which these claims stand."""
    texts = [claim.text for claim in made]
    return "".join([*texts[:1], *(f"{_between(before, text)}{text}" for before, text in pairwise(texts))])


def coverage(question: str, evidence: Sequence[Evidence]) -> float:
    """The share of the question's terms that stand in the evidence or its titles, 0..1."""
    wanted = terms(question)
    known = terms(" ".join(part for e in evidence for part in (e.hit.chunk.title, *e.hit.chunk.heading_path, e.text)))
    return len(wanted & known) / max(1, len(wanted))


def _between(before: str, text: str) -> str:
    """What stands between two sentences: an item of a list has its own line."""
    return "\n" if extractive.ITEM.match(before) or extractive.ITEM.match(text) else " "


def _read(said: object) -> Iterator[Sentence]:
    """What a model calls a sentence, cut into sentences: each is checked by itself."""
    if not isinstance(said, dict) or not isinstance(said.get("text"), str):
        return
    text = " ".join(said["text"][:SENTENCE_CHARS].split())
    ids = said.get("evidence")
    cited = tuple(id for id in ids if isinstance(id, str)) if isinstance(ids, list) else ()
    yield from (Sentence(text[start:end], cited) for start, end in sentences(text))


def _certainty(found: Sequence[Sentence], given: set[str]) -> float:
    """The share of sentences that cite what was given and do not hedge (C38)."""
    return sum(1 for s in found if given.intersection(s.cited) and not HEDGE.search(s.text)) / len(found)


def _quoted(chosen: Sequence[tuple[str, str]]) -> Draft:
    return Draft(tuple(Sentence(text, (id,)) for text, id in chosen), True, 1.0)


def _fitting(question: str, content: str, tokens: int) -> tuple[int, int] | None:
    """All of it, or the whole sentences that fit around the one with most of the question's terms; None: none fits."""
    if fits(content, tokens):
        return 0, len(content)
    wanted, ranges = terms(question), sentences(content)
    asked = [len(wanted & terms(content[start:end])) for start, end in ranges]
    sizes = [count_tokens(content[start:end]) + 1 for start, end in ranges]  # with the space before it
    fitting = around(asked, sizes, tokens)
    return fitting and (ranges[fitting[0]][0], ranges[fitting[1]][1])


def _beginning(content: str, tokens: int) -> tuple[int, int]:
    """Of a passage in which no sentence fits."""
    return 0, len(decode(encode(content)[:tokens]))
