"""The response to an augmented prompt, whoever wrote it, sentence by sentence against the passages of the prompt."""

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
CHECKED = 500  # sentences of a response: of two thousand the check took ten seconds
OWN_SENTENCES = "the documents' own sentences"


async def response(
    question: str, prompt: Prompt, evidence: tuple[Evidence, ...], llm: LLM, kit: Kit, run: Run
) -> tuple[str, str]:
    """What the model says to the prompt, and who it is; the passages' own sentences when it does not answer."""
    if evidence:
        said = await run.attempt(STEP, llm.complete(prompt), otherwise=None, fallback=OWN_SENTENCES, within_s=ANSWER_S)
        if said and (said.text.strip() or said.local):
            return said.text.strip() or UNKNOWN, said.model
    answer = await quoted(question, evidence, kit, run)
    return answer.text, f"local: {OWN_SENTENCES}"


async def checked(text: str, evidence: Sequence[Evidence], kit: Kit, run: Run) -> tuple[str, list[Claim]]:
    """The text without links that the passages do not have, and its sentences with verdicts and citations."""
    shown, removed = screen(text, [passage.text for passage in evidence])
    if removed:
        run.degrade("screen", "link_removed", "a link or image does not stand in the contexts", "left out")
    claims = [] if shown == UNKNOWN else await asyncio.to_thread(citations.claims, shown)
    if len(claims) > CHECKED:
        run.warn("claims_cut", f"of {len(claims):,} sentences the first {CHECKED} are checked")
    first = claims[:CHECKED]
    return shown, await judged(first, [evidence] * len(first), kit, run)


def told(claims: Sequence[Claim], contexts: Sequence[Item]) -> list[dict[str, Any]]:
    """The claims as a reply has them, each citation with the retrieved passage on whose lines it stands."""
    made = replies.checked(claims, citation_styles.usual("advanced"))
    return [{**claim, "citations": [_placed(c, contexts) for c in claim["citations"]]} for claim in made]


def _placed(citation: Mapping[str, Any], contexts: Sequence[Item]) -> dict[str, Any]:
    return {**citation, "chunk_id": holder(citation["chunk_id"], citation["lines"], contexts)}
