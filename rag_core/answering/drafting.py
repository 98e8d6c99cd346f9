"""Drafts of an answer: evidence packed into a token budget, and the sentences that a model writes or cites from it."""

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

SENTENCES = 20  # of a model's reply
SENTENCE_CHARS = 2000
COSINE = 10.0  # log odds that a cosine similarity of 1 adds; 5 to 20 do as well (docs/answers.md)
HEDGE = re.compile(
    r"\b(?:might|perhaps|possibly|probably|presumably|seems?|appears? to|unclear|unsure|not (?:clear|sure|certain)|"
    r"I think)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a draft, with the ids of the evidence that it cites, which a model may have invented."""

    text: str
    cited: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before verification; without sentences it is a refusal.

    `local` says that no chat model wrote it. `certainty`, 0..1, is read from its citations and wording.
    """

    sentences: tuple[Sentence, ...]
    local: bool
    certainty: float


def gather(question: str, hits: Ranking, *, limit: int, tokens: int) -> tuple[Evidence, ...]:
    """Pack the best `max_passages` hits into evidence of at most `max_tokens` tokens together (o200k_base), best first.

    Passages are included whole while they fit. The first that does not is cut to whole sentences around those with most
    of the question's terms, the best hit at least to its beginning; later ones are left out, as are redundant hits.
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
    """Drop hits all of whose terms a better hit has; near duplicates that differ in a name or number both stay."""
    kept: list[tuple[frozenset[str], Hit]] = []
    for hit in hits:
        hit_terms = terms(hit.chunk.content)
        if not any(hit_terms <= better for better, _ in kept):
            kept.append((hit_terms, hit))
    return [hit for _, hit in kept]


async def relevant(question: str, hits: Ranking, reranker: Reranker) -> list[Hit]:
    """Sort hits by cross-encoder score and cosine similarity combined; keep the former as the signal "relevance".

    The cross-encoder reads the document's title with the passage, since a question may name one of several similar
    documents. It scores every passage on the subject high; the cosine then tells them apart (docs/answers.md).

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    scores = await reranker.scores(question, [f"{hit.chunk.title}: {hit.chunk.content}" for hit in hits])
    scored = [replace(h, signals={**h.signals, "relevance": s}) for h, s in zip(hits, scores, strict=True)]
    lowest_cosine = min((hit.signals["meaning"] for hit in hits if "meaning" in hit.signals), default=0.0)
    return sorted(scored, key=lambda hit: -_standing(hit, lowest_cosine))


def _standing(hit: Hit, lowest_cosine: float) -> float:
    """Return the log odds of relevance plus COSINE_LOG_ODDS times the cosine similarity.

    A hit of the lexical leg alone has no cosine and counts with the lowest one.
    """
    return extractive.log_odds(hit.signals["relevance"]) + COSINE * hit.signals.get("meaning", lowest_cosine)


@dataclass(frozen=True, slots=True)
class Writing:
    """Limits of the generation of an answer: length in tokens, nucleus sampling (None: the model's own) and time."""

    max_tokens: int = 512
    top_p: float | None = None
    within_s: float = 60.0


async def draft(question: str, evidence: Sequence[Evidence], llm: LLM, *, writing: Writing = Writing()) -> Draft:
    """Ask a chat model, or the local technique in its place, for an answer from the evidence.

    Raises:
        Unavailable: the model did not answer, or its reply has no usable sentence (llm_output_invalid).
    """
    prompt = replace(prompts.answer(question, evidence), max_tokens=writing.max_tokens, top_p=writing.top_p)
    reply = await llm.complete(prompt)
    answerable = read_object(reply.text).get("answerable")
    if not isinstance(answerable, bool):
        raise garbled("does not say whether the question can be answered")
    if not answerable:
        return Draft((), reply.local, 1.0)
    parsed = [s for item in read_list(reply.text, "sentences")[:SENTENCES] for s in _read(item)]
    if not parsed:
        raise garbled("has no sentence")
    evidence_ids = {passage.id for passage in evidence}
    return Draft(tuple(parsed), reply.local, 1.0 if reply.local else _certainty(parsed, evidence_ids))


def stated(said: Sequence[Sentence], evidence: Sequence[Evidence]) -> list[Sentence]:
    """Drop the sentences that repeat the model's instructions instead of the evidence."""
    instructions, passages = prompts.wording("answer"), [passage.text for passage in evidence]
    return [sentence for sentence in said if not repeats(sentence.text, instructions, passages)]


async def extract(question: str, evidence: Sequence[Evidence], reranker: Reranker) -> Draft:
    """Draft an extractive answer: the sentences of the evidence that the cross-encoder chooses.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    return _quoted(await extractive.answer(question, [prompts.given(passage) for passage in evidence], reranker))


def extract_by_words(question: str, evidence: Sequence[Evidence]) -> Draft:
    """Draft an extractive answer: the sentences of the evidence that share most terms with the question."""
    return _quoted(extractive.answer_by_words(question, [prompts.given(passage) for passage in evidence]))


def claims(texts: Sequence[str]) -> list[Claim]:
    """Return the sentences as claims at their positions in the text that `join_claims` makes, all "unsupported" yet."""
    positioned: list[Claim] = []
    for text in texts:
        start = positioned[-1].end + len(_between(positioned[-1].text, text)) if positioned else 0
        positioned.append(Claim(text, start, start + len(text), "unsupported"))
    return positioned


def moved(kept: Sequence[Claim]) -> list[Claim]:
    """Return the claims with the positions that they have once others are left out of the text."""
    positioned = claims([claim.text for claim in kept])
    return [replace(claim, start=place.start, end=place.end) for claim, place in zip(kept, positioned, strict=True)]


def text_of(made: Sequence[Claim]) -> str:
    """Return the text that these claims make: one after another, list items on lines of their own."""
    texts = [claim.text for claim in made]
    return "".join([*texts[:1], *(f"{_between(before, text)}{text}" for before, text in pairwise(texts))])


def coverage(question: str, evidence: Sequence[Evidence]) -> float:
    """Return the share of the question's terms that occur in the evidence, its titles or headings, 0..1."""
    query_terms = terms(question)
    parts = (part for e in evidence for part in (e.hit.chunk.title, *e.hit.chunk.heading_path, e.text))
    return len(query_terms & terms(" ".join(parts))) / max(1, len(query_terms))


def _between(before: str, text: str) -> str:
    """Return a line break before and after a list item or table row, else a space."""
    return "\n" if extractive.ITEM.match(before) or extractive.ITEM.match(text) else " "


def _read(item: object) -> Iterator[Sentence]:
    """Split an item of a model's reply into single sentences, so that each is verified by itself."""
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        return
    text = " ".join(item["text"][:SENTENCE_CHARS].split())
    ids = item.get("evidence")
    cited_ids = tuple(id for id in ids if isinstance(id, str)) if isinstance(ids, list) else ()
    yield from (Sentence(text[start:end], cited_ids) for start, end in sentences(text))


def _certainty(parsed: Sequence[Sentence], evidence_ids: set[str]) -> float:
    """Return the share of sentences that cite given evidence and do not hedge, 0..1."""
    return sum(1 for s in parsed if evidence_ids.intersection(s.cited) and not HEDGE.search(s.text)) / len(parsed)


def _quoted(quotes: Sequence[tuple[str, str]]) -> Draft:
    return Draft(tuple(Sentence(text, (id,)) for text, id in quotes), True, 1.0)


def _fitting(query_text: str, content: str, max_tokens: int) -> tuple[int, int] | None:
    """Return the characters of all of a passage, or of the sentences that fit around the one with most query terms.

    None: no sentence fits in `max_tokens`.
    """
    if fits(content, max_tokens):
        return 0, len(content)
    query_terms, ranges = terms(query_text), sentences(content)
    scores = [len(query_terms & terms(content[start:end])) for start, end in ranges]
    sizes = [count_tokens(content[start:end]) + 1 for start, end in ranges]  # with the space before it
    window = around(scores, sizes, max_tokens)
    return window and (ranges[window[0]][0], ranges[window[1]][1])


def _beginning(content: str, max_tokens: int) -> tuple[int, int]:
    """Return the characters of the first `max_tokens` tokens of a passage."""
    return 0, len(decode(encode(content)[:max_tokens]))
