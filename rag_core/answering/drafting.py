"""Drafts of an answer: evidence packed into a token budget, and the sentences that a model writes or cites from it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag_core import prompts
from rag_core.answering.conditions import extract_evidence_terms
from rag_core.answering.statements import Statement, is_judged_with, make_claims, relate_parts
from rag_core.core.model import Claim, Evidence, Hit, Ranking
from rag_core.core.ports import LLM, Reranker
from rag_core.prompts.completions import complete_object, get_completion_list, make_invalid_completion_error
from rag_core.prompts.screening import repeats_instructions
from rag_core.retrieval import extractive_answers
from rag_core.retrieval.cross_encoding import prepend_title
from rag_core.retrieval.excerpts import fit_sentence_window
from rag_core.retrieval.extractive_answers import MIN_ANSWERABILITY
from rag_core.text.layout import Part, make_part, split_into_parts
from rag_core.text.sentences import find_sentences
from rag_core.text.terms import extract_terms
from rag_core.text.tokens import count_tokens, decode_tokens, encode_tokens, fits_token_limit

MAX_DRAFT_SENTENCES = 20  # of a model's reply
MAX_SENTENCE_CHARS = 2000
# log odds that a cosine similarity of 1 adds; 5 to 20 do as well (docs/reference/citations-and-answers.md)
COSINE_LOG_ODDS = 10.0
RERANKED_SIGNALS = frozenset({"semantic", "grade"})  # a hit has one once a ranker or a chat model has read it
HEDGE_PATTERN = re.compile(
    r"\b(?:might|perhaps|possibly|probably|presumably|seems?|appears? to|unclear|unsure|not (?:clear|sure|certain)|"
    r"I think)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """A part of a draft, with the ids of the evidence that it cites, which a model may have invented."""

    part: Part
    cited_ids: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.part.text


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer before verification; without sentences it is a refusal.

    `local` says that no chat model wrote it. `certainty`, 0..1, is read from its citations and wording. `screened` says
    that a link, an image or HTML was taken out of it; `margin` is that of `SelectedAnswer`, of quotes alone.
    """

    sentences: tuple[DraftSentence, ...]
    local: bool
    certainty: float
    screened: bool = False
    margin: float | None = None


def pack_evidence(query_text: str, hits: Ranking, *, max_passages: int, max_tokens: int) -> tuple[Evidence, ...]:
    """Pack the best `max_passages` hits into evidence of at most `max_tokens` tokens together (o200k_base), best first.

    Passages are included whole while they fit. The first that does not is cut to whole sentences around those with most
    of the question's terms, the best hit at least to its beginning; later ones are left out, as are redundant hits.
    """
    evidence: list[Evidence] = []
    for hit in drop_redundant_hits(hits)[:max_passages]:
        part = _fit_passage(query_text, hit.chunk.content, max_tokens)
        if part is None and evidence:
            break
        evidence.append(
            Evidence(f"e{len(evidence) + 1}", hit, *(part or _cut_to_tokens(hit.chunk.content, max_tokens)))
        )
        max_tokens -= count_tokens(evidence[-1].text)
    return tuple(evidence)


def drop_redundant_hits(hits: Ranking) -> list[Hit]:
    """Drop hits all of whose terms a better hit has; near duplicates that differ in a name or number both stay."""
    kept: list[tuple[frozenset[str], Hit]] = []
    for hit in hits:
        hit_terms = extract_terms(hit.chunk.content)
        if not any(hit_terms <= better for better, _ in kept):
            kept.append((hit_terms, hit))
    return [hit for _, hit in kept]


async def rank_hits_by_relevance(query_text: str, hits: Ranking, reranker: Reranker) -> list[Hit]:
    """Score hits by cross-encoder, kept as the signal "relevance", and sort those that nothing has reranked yet.

    These are sorted by relevance and cosine similarity combined: the cross-encoder scores every passage on the subject
    high, and the cosine tells them apart (docs/reference/citations-and-answers.md). What was reranked or graded
    keeps its order, to which the search has contributed as well.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    scores = await reranker.score_passages(query_text, [prepend_title(hit.chunk) for hit in hits])
    scored = [replace(h, signals={**h.signals, "relevance": s}) for h, s in zip(hits, scores, strict=True)]
    if hits and not RERANKED_SIGNALS.isdisjoint(hits[0].signals):
        return scored
    lowest_cosine = min((hit.signals["meaning"] for hit in hits if "meaning" in hit.signals), default=0.0)
    return sorted(scored, key=lambda hit: -_combine_relevance_and_cosine(hit, lowest_cosine))


def _combine_relevance_and_cosine(hit: Hit, lowest_cosine: float) -> float:
    """Return the log odds of relevance plus COSINE_LOG_ODDS times the cosine similarity.

    A hit of the lexical leg alone has no cosine and counts with the lowest one.
    """
    return extractive_answers.to_log_odds(hit.signals["relevance"]) + COSINE_LOG_ODDS * hit.signals.get(
        "meaning", lowest_cosine
    )


@dataclass(frozen=True, slots=True)
class GenerationOptions:
    """Limits of the generation of an answer: length in tokens, nucleus sampling (None: the model's own) and time."""

    max_tokens: int = 512
    top_p: float | None = None
    within_s: float = 60.0


async def draft_answer(
    query_text: str, evidence: Sequence[Evidence], llm: LLM, *, options: GenerationOptions = GenerationOptions()
) -> Draft:
    """Ask a chat model, or the local technique in its place, for an answer from the evidence.

    Raises:
        Unavailable: the model did not answer, or its reply has no usable sentence (llm_output_invalid).
    """
    prompt = replace(
        prompts.build_answer_prompt(query_text, evidence), max_tokens=options.max_tokens, top_p=options.top_p
    )
    sources = [passage.text for passage in evidence]
    reply = await complete_object(prompt, llm, sources=sources, max_chars=MAX_SENTENCE_CHARS)
    answerable = reply.fields.get("answerable")
    if not isinstance(answerable, bool):
        raise make_invalid_completion_error("does not say whether the question can be answered")
    if not answerable:
        return Draft((), reply.local, 1.0)
    parsed = [
        s
        for item in get_completion_list(reply.fields, "sentences")[:MAX_DRAFT_SENTENCES]
        for s in _parse_draft_sentences(item)
    ]
    statements = relate_parts([sentence.part for sentence in parsed], question=query_text)
    stated = [sentence for sentence, statement in zip(parsed, statements, strict=True) if statement.reading]
    if not stated:
        raise make_invalid_completion_error("has no sentence that states something")
    evidence_ids = {passage.id for passage in evidence}
    certainty = 1.0 if reply.local else _compute_certainty(stated, evidence_ids)
    margin = reply.fields.get("margin") if reply.local else None
    return Draft(
        tuple(parsed), reply.local, certainty, bool(reply.removed), margin if isinstance(margin, float) else None
    )


def drop_instruction_echoes(
    draft_sentences: Sequence[DraftSentence], evidence: Sequence[Evidence]
) -> list[DraftSentence]:
    """Drop the sentences that repeat the model's instructions instead of the evidence."""
    instructions, passages = prompts.load_packaged_template("answer"), [passage.text for passage in evidence]
    return [sentence for sentence in draft_sentences if not repeats_instructions(sentence.text, instructions, passages)]


async def extract_draft(
    query_text: str,
    evidence: Sequence[Evidence],
    reranker: Reranker,
    *,
    least: float = MIN_ANSWERABILITY,
) -> Draft:
    """Draft an extractive answer: the sentences of the evidence that the cross-encoder chooses, see there for `least`.

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    selected = await extractive_answers.select_answer(
        query_text, [prompts.encode_evidence(passage) for passage in evidence], reranker, least=least
    )
    return replace(_draft_from_quotes(selected.sentences), margin=selected.margin)


def extract_draft_by_shared_terms(query_text: str, evidence: Sequence[Evidence]) -> Draft:
    """Draft an extractive answer: the sentences of the evidence that share most terms with the question."""
    return _draft_from_quotes(
        extractive_answers.select_answer_sentences_by_shared_terms(
            query_text, [prompts.encode_evidence(passage) for passage in evidence]
        )
    )


def claims_from_statements(statements: Sequence[Statement]) -> list[Claim]:
    """Return those that are claims, at their positions in the text that `join_claims` makes, all "unsupported" yet."""
    return realign_claims(make_claims(statements))


def drop_unfounded_frames(claims: Sequence[Claim], query_text: str, evidence: Sequence[Evidence]) -> list[Claim]:
    """Return the claims without those headings and questions above them that are unjudged and unknown to the evidence.

    A heading stays if the question and the evidence have half of its terms, and all of those with a digit.
    """
    known = extract_terms(query_text) | extract_evidence_terms(evidence)

    def is_kept(frame: str, claim: Claim) -> bool:
        terms = extract_terms(frame)
        unknown = terms - known
        has_new_number = any(sign.isdigit() for term in unknown for sign in term)
        return is_judged_with(frame, claim) or (2 * len(unknown) <= len(terms) and not has_new_number)

    return [
        replace(c, reading=replace(c.reading, frames=tuple(frame for frame in c.reading.frames if is_kept(frame, c))))
        if c.reading
        else c
        for c in claims
    ]


def realign_claims(kept_claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims with the positions that they have once others are left out of the text."""
    positioned: list[Claim] = []
    for claim, lead in zip(kept_claims, _lay_out_leads(kept_claims), strict=True):
        start = (positioned[-1].end if positioned else 0) + len(lead)
        positioned.append(replace(claim, start=start, end=start + len(claim.text)))
    return positioned


def join_claims(ordered_claims: Sequence[Claim]) -> str:
    """Return the text that these claims make, each below its headings and lead-ins, list items on lines of their own.

    What claims have in common above them is shown once.
    """
    leads = _lay_out_leads(ordered_claims)
    return "".join(f"{lead}{claim.text}" for claim, lead in zip(ordered_claims, leads, strict=True))


def _lay_out_leads(ordered_claims: Sequence[Claim]) -> list[str]:
    """Return for each claim what stands before it: separators, the frames not yet shown, and its indentation."""
    leads: list[str] = []
    shown: tuple[str, ...] = ()
    before = ""
    for claim in ordered_claims:
        frames = claim.reading.frames if claim.reading else ()
        known = next((n for n, (a, b) in enumerate(zip(shown, frames, strict=False)) if a != b), len(shown))
        indent = " " * claim.reading.indent if claim.reading else ""
        pieces = []
        for text in (*frames[known:], claim.text):
            pieces += [_choose_separator(before, text) if before else "", text]
            before = text
        pieces[-1:] = [indent] if pieces[-2] == "\n" else []
        leads.append("".join(pieces))
        shown = frames
    return leads


def _choose_separator(before: str, text: str) -> str:
    """Return a line break before and after a heading, list item, table row or code, else a space."""
    return " " if make_part(before).kind == make_part(text).kind == "sentence" else "\n"


def _parse_draft_sentences(item: object) -> Iterator[DraftSentence]:
    """Split an item of a model's reply into its parts, so that each is verified by itself."""
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        return
    ids = item.get("evidence")
    cited_ids = tuple(id for id in ids if isinstance(id, str)) if isinstance(ids, list) else ()
    for part in split_into_parts(item["text"]):
        text = part.text if part.kind == "code" else " ".join(part.text.split())
        yield DraftSentence(replace(part, text=text), cited_ids)


def _compute_certainty(parsed: Sequence[DraftSentence], evidence_ids: set[str]) -> float:
    """Return the share of sentences that cite given evidence and do not hedge, 0..1."""
    return sum(1 for s in parsed if evidence_ids.intersection(s.cited_ids) and not HEDGE_PATTERN.search(s.text)) / len(
        parsed
    )


def _draft_from_quotes(quotes: Sequence[tuple[str, str]]) -> Draft:
    return Draft(tuple(DraftSentence(make_part(text), (id,)) for text, id in quotes), True, 1.0)


def _fit_passage(query_text: str, content: str, max_tokens: int) -> tuple[int, int] | None:
    """Return the characters of all of a passage, or of the sentences that fit around the one with most query terms.

    None: no sentence fits in `max_tokens`.
    """
    if fits_token_limit(content, max_tokens):
        return 0, len(content)
    query_terms, ranges = extract_terms(query_text), find_sentences(content)
    scores = [len(query_terms & extract_terms(content[start:end])) for start, end in ranges]
    sizes = [count_tokens(content[start:end]) + 1 for start, end in ranges]  # with the space before it
    window = fit_sentence_window(scores, sizes, max_tokens)
    return window and (ranges[window[0]][0], ranges[window[1]][1])


def _cut_to_tokens(content: str, max_tokens: int) -> tuple[int, int]:
    """Return the characters of the first `max_tokens` tokens of a passage."""
    return 0, len(decode_tokens(encode_tokens(content)[:max_tokens]))
