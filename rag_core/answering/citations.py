"""Verification of claims: each sentence of a text is compared with passages of the index and gets a verdict.

A claim is verified only when a passage entails it word by word (`check_entailment`) and the cross-encoder finds that
passage relevant; a claim of two statements may have a passage for each. A claim that the nearest passage contradicts is
unsupported, with the reason and the passage. Any other claim with a related passage is partial, and the reader is shown
the quote. See docs/reference/citations-and-answers.md.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rag_core.answering.entailment import Entailment, check_entailment
from rag_core.answering.statements import (
    Statement,
    find_subject,
    is_fragment,
    make_claims,
    read_passage,
    read_statements,
    select_columns,
)
from rag_core.core.index import Index
from rag_core.core.model import Chunk, Citation, Claim, Evidence, QueryVariant, Ranking, Scope, SearchType, Verdict
from rag_core.core.ports import Probe, Reranker
from rag_core.ingestion.tables import TABLE_HEAD_FIELD
from rag_core.retrieval.search import VectorsByLabel
from rag_core.text.layout import remove_clause_number, remove_marks
from rag_core.text.quotes import find_words
from rag_core.text.stop_words import KEY_PHRASE_STOP_WORDS
from rag_core.text.terms import extract_terms

HITS_PER_CLAIM = 5
PASSAGES_PER_CLAIM = 8  # of one or two sentences each
MAX_CITATIONS_PER_CLAIM = 3
PASSAGES_FOR_JUDGE = 6
CHUNKS_FOR_JUDGE = 7  # of which each has one passage at least: an answer's five, and two more for a figure
SENTENCES_FOR_JUDGE = 3  # of a passage: a claim often needs the sentence before, and a longer one hides a fact
# the passage entails the claim, and the cross-encoder finds it not relevant
LOW_RELEVANCE_REASONS = ("relevance: low",)
OTHER_SUBJECT_REASONS = ("reference: another subject",)  # only passages about something else have the words
OTHER_WORDS_REASONS = ("unclear: a passage on the subject has other words",)
MAX_OTHER_WORDS_PASSAGES = 4
PAGE_LABEL_FIELD = "page_label"  # of a chunk's metadata, set by chunking
OWN_FIELDS = frozenset([PAGE_LABEL_FIELD, TABLE_HEAD_FIELD])
MIN_CITATION_RELEVANCE = 0.5  # even odds by the cross-encoder
MIN_TERM_SHARE_ALONE = 0.6  # share of the claim's terms from which a passage is partial evidence whatever its relevance
MIN_TERM_SHARE = 0.3  # share from which it is when the cross-encoder finds it relevant

# the boundary between two statements of one sentence, of which the second has a subject of its own
STATEMENT_BOUNDARY = re.compile(r"(?:;|,\s+(?:and|but|while|whereas))\s+(?=(?:the|an?|each|every|all|no|some)\s|[A-Z])")
MIN_STATEMENT_WORDS = 4


@dataclass(frozen=True, slots=True)
class ClaimPassage:
    """A passage of a chunk, compared with a claim; `term_share` is the share of the claim's terms that it has.

    `quote` is the text as it stands in the chunk, and `text` what is compared: a list item with its lead-in.
    """

    chunk: Chunk
    start: int
    end: int
    text: str
    term_share: float
    contexts: tuple[str, ...] = ()  # with which its first and last part are read

    @property
    def quote(self) -> str:
        return self.chunk.content[self.start : self.end]

    @property
    def frame(self) -> str:
        """What stands above it: title, headings, heads of a cut table, lead-in; they may say its year and scale."""
        head = str(self.chunk.metadata.get(TABLE_HEAD_FIELD, "")) if " | " in self.quote else ""
        above = [self.chunk.title, *self.chunk.heading_path, *head.split("\n"), *self.contexts]
        return "\n".join(dict.fromkeys(filter(None, above)))

    def write_in_frame(self) -> str:
        """Return the text with what stands above it in brackets, as `Claim.write_in_context` does."""
        return f"({'; '.join(self.frame.splitlines())}) {self.text}" if self.frame else self.text


def split_into_claims(text: str) -> list[Claim]:
    """Split a text into claims, one per statement, all "unsupported" yet; headings, lead-ins and the like are none."""
    return make_claims(read_statements(text))


def label_claims(claims_to_label: Sequence[Claim]) -> list[QueryVariant]:
    """Return the claims as query variants, labelled by their index from 0."""
    return [
        QueryVariant(str(number), f"{claim.context} {claim.statement}".strip())
        for number, claim in enumerate(claims_to_label)
    ]


async def search_claims(
    variants: Sequence[QueryVariant], vectors: VectorsByLabel, scope: Scope, index: Index, search_type: SearchType
) -> list[Ranking]:
    """Search for each claim by the legs of the search type, and return a ranking per claim, in order.

    Raises:
        Unavailable: the store did not answer.
    """
    used_vectors: VectorsByLabel = {} if search_type == "keyword" else vectors
    probes = [Probe(v.label, "" if search_type == "vector" else v.text, used_vectors.get(v.label)) for v in variants]
    return await index.search(probes, scope, limit=HITS_PER_CLAIM)


def evidence_from_hits(hits: Ranking) -> tuple[Evidence, ...]:
    """Return the hits' whole chunks as evidence, in order, with the ids "e1", "e2", …"""
    return tuple(Evidence(f"e{n}", hit, 0, len(hit.chunk.content)) for n, hit in enumerate(hits, 1))


def cite_quote(claim: Claim, evidence: Sequence[Evidence]) -> Claim:
    """Return a claim that was quoted from this evidence as verified, citing the words; as it is if none has them all.

    A sentence that was chosen from a passage is its words, however little relevant a ranker finds it.
    """
    for passage in evidence:
        if place := find_words(claim.text, passage.text):
            start, end = (passage.start + at for at in place)
            cited = ClaimPassage(passage.hit.chunk, start, end, claim.text, 1.0)
            return _attach_verdict(claim, "verified", [build_citation(cited, 1.0)])
    return claim


async def verify_with_cross_encoder(
    claims: Sequence[Claim], evidence: Sequence[Sequence[Evidence]], reranker: Reranker
) -> list[Claim]:
    """Return the claims with verdicts and citations, each compared with its own evidence (as many as claims).

    Raises:
        Unavailable: there is no cross-encoder, or it did not answer.
    """
    return [await _verify_claim(claim, passages, reranker) for claim, passages in zip(claims, evidence, strict=True)]


def verify_by_rule(claims: Sequence[Claim], evidence: Sequence[Sequence[Evidence]]) -> list[Claim]:
    """Return the claims with verdicts and citations without a cross-encoder, scored by the share of the claim's terms.

    A claim whose words a passage has is verified; sharing terms is no entailment, and makes one "partial".
    """
    return [_verify_claim_by_rule(claim, passages) for claim, passages in zip(claims, evidence, strict=True)]


async def _verify_claim(claim: Claim, evidence: Sequence[Evidence], reranker: Reranker) -> Claim:
    same_subject = await asyncio.to_thread(_select_same_subject, claim, evidence)
    passages = await asyncio.to_thread(rank_passages_by_shared_terms, claim.statement, same_subject)
    citations = await _cite_entailing_passages(claim.statement, passages, reranker)
    if citations:
        return _attach_verdict(claim, "verified", citations)
    if part_citations := await _cite_each_statement(_split_compound_sentence(claim.statement), same_subject, reranker):
        return replace(claim, verdict="verified", citations=part_citations)
    if len(same_subject) < len(evidence):
        passages = await asyncio.to_thread(rank_passages_by_shared_terms, claim.statement, evidence)
    return await _assess_unverified_claim(claim, passages, reranker)


async def _cite_each_statement(
    statements: Sequence[str], evidence: Sequence[Evidence], reranker: Reranker
) -> tuple[Citation, ...]:
    """Return a citation for each statement, each passage once; none unless every statement has one."""
    found = [
        await _cite_entailing_passages(s, await asyncio.to_thread(rank_passages_by_shared_terms, s, evidence), reranker)
        for s in statements
    ]
    best = [citations[0] for citations in found if citations]
    return tuple({(c.chunk_id, c.quote): c for c in best}.values()) if len(best) == len(statements) else ()


async def _cite_entailing_passages(
    statement: str, passages: Sequence[ClaimPassage], reranker: Reranker
) -> list[Citation]:
    """Cite the passages that entail the statement and are relevant to it, without those that contain another.

    The shortest are read first: one that contains a cited one is never read.
    """
    compared = await asyncio.to_thread(_check_entailments, statement, passages)
    entailing = [passage for result, passage in compared if result.is_entailed]
    unread, cited = set(range(len(entailing))), dict[int, float]()
    while unread:
        inner = [n for n in sorted(unread) if not _contains_any(entailing[n], [entailing[m] for m in unread])]
        scores = await reranker.score_passages(statement, [entailing[n].text for n in inner])
        cited |= {n: score for n, score in zip(inner, scores, strict=True) if score >= MIN_CITATION_RELEVANCE}
        quoted = [entailing[n] for n in cited]
        unread = {n for n in unread.difference(inner) if not _contains_any(entailing[n], quoted)}
    return [build_citation(entailing[n], cited[n]) for n in sorted(cited)]


def _contains_any(outer: ClaimPassage, passages: Sequence[ClaimPassage]) -> bool:
    """Return whether a quote of the same chunk is a proper part of the passage's."""
    return any(
        inner.chunk.id == outer.chunk.id and inner.quote != outer.quote and inner.quote in outer.quote
        for inner in passages
    )


async def _cite_relevant_passages(
    statement: str, passages: Sequence[ClaimPassage], reranker: Reranker
) -> list[Citation]:
    scores = await reranker.score_passages(statement, [passage.text for passage in passages]) if passages else []
    return [
        build_citation(p, score) for p, score in zip(passages, scores, strict=True) if score >= MIN_CITATION_RELEVANCE
    ]


async def _assess_unverified_claim(claim: Claim, passages: Sequence[ClaimPassage], reranker: Reranker) -> Claim:
    """Return the claim as "unsupported" if the nearest passage contradicts it, "partial" if a related one can be cited.

    A claim without related passage stays as it is. One that shares few of its terms with any may say it in other
    words: the cross-encoder alone then finds what is related.
    """
    if all(passage.term_share < MIN_TERM_SHARE for passage in passages):
        near = [passage for passage in passages if passage.term_share][:MAX_OTHER_WORDS_PASSAGES]
        citations = await _cite_relevant_passages(claim.statement, near, reranker)
        return _attach_verdict(claim, "partial", citations, OTHER_WORDS_REASONS) if citations else claim
    related = [p for p in passages if p.term_share >= MIN_TERM_SHARE and _has_own_terms(claim, p)]
    if not related:
        return claim
    compared = await asyncio.to_thread(_check_entailments, claim.statement, related)
    result, closest = max(compared, key=lambda pair: (pair[0].overlap, pair[1].start - pair[1].end))
    if result.contradicts:
        return _attach_verdict(claim, "unsupported", [build_citation(closest, closest.term_share)], result.reasons)
    citations = await _cite_relevant_passages(claim.statement, related, reranker)
    citations = citations or [
        build_citation(passage, passage.term_share) for passage in related if passage.term_share >= MIN_TERM_SHARE_ALONE
    ]
    reasons = result.reasons or (OTHER_SUBJECT_REASONS if find_subject(claim.context) else LOW_RELEVANCE_REASONS)
    return _attach_verdict(claim, "partial", citations, reasons) if citations else claim


def _has_own_terms(claim: Claim, passage: ClaimPassage) -> bool:
    """Return whether a passage has terms of a list item itself, and not only of its lead-in; True for other claims."""
    words = remove_marks(claim.text)
    is_joined = claim.statement != words and claim.statement.endswith(words)
    terms = extract_terms(words) - KEY_PHRASE_STOP_WORDS if is_joined else frozenset()  # "Yes" is no term of a passage
    return len(terms & extract_terms(passage.text)) >= MIN_TERM_SHARE * len(terms)


def _check_entailments(statement: str, passages: Sequence[ClaimPassage]) -> list[tuple[Entailment, ClaimPassage]]:
    return [(check_entailment(statement, passage.text), passage) for passage in passages]


def _select_same_subject(claim: Claim, evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    """Return the evidence whose chunk names what the claim's pronoun stands for; all without a pronoun."""
    subject = find_subject(claim.context)
    if not subject:
        return evidence
    named = (
        " ".join((item.hit.chunk.title, *item.hit.chunk.heading_path, item.hit.chunk.content)) for item in evidence
    )
    return [item for item, text in zip(evidence, named, strict=True) if subject in extract_terms(text)]


def _verify_claim_by_rule(claim: Claim, evidence: Sequence[Evidence]) -> Claim:
    same_subject = _select_same_subject(claim, evidence)
    passages = rank_passages_by_shared_terms(claim.statement, same_subject)
    compared = _check_entailments(claim.statement, passages)
    entailing = [passage for result, passage in compared if result.is_entailed]
    shortest = [passage for passage in entailing if not _contains_any(passage, entailing)]
    if shortest:
        return _attach_verdict(claim, "verified", [build_citation(passage, passage.term_share) for passage in shortest])
    if len(same_subject) < len(evidence):
        passages = rank_passages_by_shared_terms(claim.statement, evidence)
    related = [
        build_citation(p, p.term_share)
        for p in passages
        if p.term_share >= MIN_TERM_SHARE_ALONE and _has_own_terms(claim, p)
    ]
    return _attach_verdict(claim, "partial", related) if related else claim


def _split_compound_sentence(sentence: str) -> list[str]:
    """Split a sentence of two statements into its halves; return none when either half is too short for a statement."""
    for boundary in STATEMENT_BOUNDARY.finditer(sentence):
        halves = [sentence[: boundary.start()], sentence[boundary.end() :]]
        if all(len(half.split()) >= MIN_STATEMENT_WORDS for half in halves):
            return halves
    return []


def _attach_verdict(
    claim: Claim, verdict: Verdict, citations: Sequence[Citation], reasons: tuple[str, ...] = ()
) -> Claim:
    """Return the claim with a verdict and its best citations, one per chunk, best first."""
    best = sorted(citations, key=lambda citation: -citation.score)
    first = {citation.chunk_id: citation for citation in reversed(best)}
    one_per_chunk = tuple(citation for citation in best if first[citation.chunk_id] is citation)
    return replace(claim, verdict=verdict, citations=one_per_chunk[:MAX_CITATIONS_PER_CLAIM], reasons=reasons)


def rank_passages_by_shared_terms(statement: str, evidence: Sequence[Evidence]) -> list[ClaimPassage]:
    """Return the passages that share most terms with the statement, shorter ones first among equals."""
    claim_terms = extract_terms(statement)
    passages = [passage for item in evidence for passage in _generate_claim_passages(item, claim_terms)]
    return sorted(passages, key=lambda passage: (-passage.term_share, passage.end - passage.start))[:PASSAGES_PER_CLAIM]


def rank_passages_for_judge(
    statement: str, evidence: Sequence[Evidence], *, most: int = PASSAGES_FOR_JUDGE
) -> list[ClaimPassage]:
    """Return the passages of up to SENTENCES_FOR_JUDGE sentences that share most terms with the statement, best first.

    There are `most` at most, or one for each of the CHUNKS_FOR_JUDGE that share most terms: a claim in other words may
    share no term with what states it.
    """
    claim_terms = extract_terms(statement)
    ranked = [
        sorted(_generate_windows(item, claim_terms), key=lambda passage: -passage.term_share) for item in evidence
    ]
    best = sorted((windows[0] for windows in ranked if windows), key=lambda passage: -passage.term_share)
    others = sorted((w for windows in ranked for w in windows[1:]), key=lambda passage: -passage.term_share)
    count = max(most, min(len(best), CHUNKS_FOR_JUDGE))
    return sorted([*best, *others][:count], key=lambda passage: -passage.term_share)


def _generate_windows(evidence: Evidence, claim_terms: frozenset[str]) -> Iterator[ClaimPassage]:
    """Yield passages of SENTENCES_FOR_JUDGE parts of the evidence, of which each begins with the last of another.

    Evidence of fewer parts is one passage. Each part is read as by itself, but a lead-in only once; a row of a table is
    said with its heads.
    """
    statements = [one for one in _read_evidence(evidence) if one.reading or one.part.kind not in ("row", "rule")]
    for first in range(0, max(1, len(statements) - 1), SENTENCES_FOR_JUDGE - 1):
        window = statements[first : first + SENTENCES_FOR_JUDGE]
        if window:
            others = (_read_alone(one) if one.part.kind == "row" else one.words for one in window[1:])
            text = "\n".join(filter(None, [_read_alone(window[0]), *others]))
            yield _build_claim_passage(evidence, window[0], window[-1], text, claim_terms)


def _read_evidence(evidence: Evidence) -> tuple[Statement, ...]:
    return read_passage(evidence.text, (evidence.hit.chunk.heading_path or ("",))[-1])


def _read_alone(statement: Statement) -> str:
    return statement.reading.statement if statement.reading else statement.words


def _generate_claim_passages(evidence: Evidence, claim_terms: frozenset[str]) -> Iterator[ClaimPassage]:
    """Yield each part of the evidence, then each two consecutive ones of which the second is a sentence.

    A list item is read with its lead-in; one that is a whole sentence, and a row of a table, by itself as well, and a
    clause without its number. A row is also read by the columns alone that the claim names.
    """
    statements = _read_evidence(evidence)
    for statement in statements:
        alone = {statement.words} if statement.part.kind == "row" or not is_fragment(statement.words) else set()
        whole = _read_alone(statement)
        for text in sorted({whole, remove_clause_number(whole)} | alone):
            yield _build_claim_passage(evidence, statement, statement, text, claim_terms)
    for row, text in select_columns(statements, claim_terms):
        yield _build_claim_passage(evidence, row, row, text, claim_terms)
    for first, second in pairwise(statements):
        if second.part.kind == "sentence":
            between = evidence.text[first.part.end : second.part.start]
            text = f"{_read_alone(first)}{between}{second.words}"
            yield _build_claim_passage(evidence, first, second, text, claim_terms)


def _build_claim_passage(
    evidence: Evidence, first: Statement, last: Statement, text: str, claim_terms: frozenset[str]
) -> ClaimPassage:
    """Return the passage from one part of the evidence to another, with the share of the claim's terms in its text."""
    share = len(extract_terms(text) & claim_terms) / max(1, len(claim_terms))
    start, end = evidence.start + first.part.start, evidence.start + last.part.end
    contexts = tuple(one.reading.context for one in (first, last) if one.reading)
    return ClaimPassage(evidence.hit.chunk, start, end, text, share, contexts)


def build_citation(passage: ClaimPassage, score: float) -> Citation:
    """Return a citation of the passage, with its place in its document."""
    chunk = passage.chunk
    label, place = chunk.metadata.get(PAGE_LABEL_FIELD), chunk.locate(passage.start, passage.end)
    return Citation(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        title=chunk.title,
        source=chunk.source,
        quote=passage.quote,
        score=score,
        section=place.section if place else chunk.heading_path,
        place=place,
        boxes=chunk.locate_boxes(passage.start, passage.end),
        page_label=None if label is None else str(label),
        metadata={name: value for name, value in chunk.metadata.items() if name not in OWN_FIELDS},
    )
