"""Responses to an augmented prompt: their generation, and the verification of each sentence."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from rag_core import replies
from rag_core.answering import citation_styles, citations
from rag_core.answering.answer import UNKNOWN, judged, quoted
from rag_core.core.kit import Kit
from rag_core.core.model import Claim, Evidence
from rag_core.core.ports import LLM, Prompt
from rag_core.core.run import Run
from rag_core.prompts.screening import screen
from rag_core.workbench.contexts import Item, holder

ANSWER_S = 120.0
STEP = "answer"
CHECKED = 500  # verifying 2,000 sentences took 10 s
OWN_SENTENCES = "the documents' own sentences"


async def response(
    question: str, prompt: Prompt, evidence: tuple[Evidence, ...], llm: LLM, kit: Kit, run: Run
) -> tuple[str, str]:
    """Return a model's response to the prompt, and the model's name.

    When the model is unavailable or its response is empty, or without evidence, the response is an extractive answer.
    """
    if evidence:
        completion = await run.attempt(
            STEP, llm.complete(prompt), otherwise=None, fallback=OWN_SENTENCES, within_s=ANSWER_S
        )
        if completion and (completion.text.strip() or completion.local):
            return completion.text.strip() or UNKNOWN, completion.model
    answer = await quoted(question, evidence, kit, run)
    return answer.text, f"local: {OWN_SENTENCES}"


async def checked(text: str, evidence: Sequence[Evidence], kit: Kit, run: Run) -> tuple[str, list[Claim]]:
    """Remove links that the passages do not contain, and verify each sentence of a response.

    Returns the response without these links, and its claims with verdicts and citations.
    """
    screened, removed = screen(text, [passage.text for passage in evidence])
    if removed:
        reason = "a link or image does not occur in the contexts"
        run.degrade("screen", "link_removed", reason, "removed from the response")
    claims = [] if screened == UNKNOWN else await asyncio.to_thread(citations.claims, screened)
    if len(claims) > CHECKED:
        run.warn("claims_cut", f"only the first {CHECKED} of {len(claims):,} sentences are verified")
    claims = claims[:CHECKED]
    return screened, await judged(claims, [evidence] * len(claims), kit, run)


def told(claims: Sequence[Claim], contexts: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the claims in the form of a reply, each citation with the retrieved chunk in which it occurs."""
    formatted = replies.checked(claims, citation_styles.usual("advanced"))
    return [{**claim, "citations": [_placed(c, contexts) for c in claim["citations"]]} for claim in formatted]


def _placed(citation: Mapping[str, Any], contexts: Sequence[Item]) -> dict[str, Any]:
    return {**citation, "chunk_id": holder(citation["chunk_id"], citation["lines"], contexts)}
