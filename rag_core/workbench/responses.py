"""Responses to an augmented prompt: their generation, and the verification of each sentence."""

import asyncio
from collections.abc import Sequence

from rag_core.answering import citation_styles, citations
from rag_core.answering.answer import REFUSAL_TEXT, REFUSAL_TEXTS, answer_by_extraction
from rag_core.answering.claim_replies import CitationReply, ClaimReply, format_claims
from rag_core.answering.verification import verify_claims
from rag_core.core.kit import Kit
from rag_core.core.model import Claim, Evidence
from rag_core.core.ports import LLM, Prompt
from rag_core.core.run import Run
from rag_core.prompts.completions import complete_text
from rag_core.prompts.screening import screen_text
from rag_core.workbench.contexts import StoredContext, find_cited_chunk_id

ANSWER_TIMEOUT_S = 120.0
ANSWER_STEP = "answer"
MAX_CHECKED_SENTENCES = 500  # verifying 2,000 sentences took 10 s
EXTRACTIVE_ORIGIN = "the documents' own sentences"


async def generate_response(
    query_text: str, prompt: Prompt, evidence: tuple[Evidence, ...], llm: LLM, kit: Kit, run: Run
) -> tuple[str, str]:
    """Return a model's response to the prompt, and the model's name.

    When the model is unavailable or its response is empty, or without evidence, the response is an extractive answer.
    """
    if evidence:
        asking = complete_text(prompt, llm, sources=[passage.text for passage in evidence])
        reply = await run.attempt(
            ANSWER_STEP, asking, otherwise=None, fallback=EXTRACTIVE_ORIGIN, within_s=ANSWER_TIMEOUT_S
        )
        if reply and reply.removed:
            _note_removed_links(run)
        if reply and (reply.text or reply.local):
            return reply.text or REFUSAL_TEXT, reply.model
    answer = await answer_by_extraction(query_text, evidence, kit, run)
    return answer.text, f"local: {EXTRACTIVE_ORIGIN}"


async def verify_response(
    response_text: str, evidence: Sequence[Evidence], kit: Kit, run: Run
) -> tuple[str, list[Claim]]:
    """Remove links that the passages do not contain, and verify each sentence of a response.

    Returns the response without these links, and its claims with verdicts and citations.
    """
    screened, removed = await asyncio.to_thread(screen_text, response_text, [passage.text for passage in evidence])
    if removed:
        _note_removed_links(run)
    claims = [] if screened in REFUSAL_TEXTS else await asyncio.to_thread(citations.split_into_claims, screened)
    if len(claims) > MAX_CHECKED_SENTENCES:
        run.warn("claims_cut", f"only the first {MAX_CHECKED_SENTENCES} of {len(claims):,} sentences are verified")
    claims = claims[:MAX_CHECKED_SENTENCES]
    return screened, await verify_claims(claims, [evidence] * len(claims), kit, run)


def _note_removed_links(run: Run) -> None:
    reason = "a link or image does not occur in the contexts"
    run.degrade("screen", "link_removed", reason, "removed from the response")


def format_response_claims(claims: Sequence[Claim], contexts: Sequence[StoredContext]) -> list[ClaimReply]:
    """Return the claims in the form of a reply, each citation with the retrieved chunk in which it occurs."""
    formatted = format_claims(claims, citation_styles.choose_default_style("advanced"))
    return [{**claim, "citations": [_locate_citation(c, contexts) for c in claim["citations"]]} for claim in formatted]


def _locate_citation(citation: CitationReply, contexts: Sequence[StoredContext]) -> CitationReply:
    return {**citation, "chunk_id": find_cited_chunk_id(citation["chunk_id"], citation["lines"], contexts)}
