"""A document in a few sentences: a chat model's, or its own best ones."""

from collections.abc import Sequence

from rag_core import prompts
from rag_core.core.ports import LLM
from rag_core.ingestion.enrichment import key_sentences
from rag_core.prompts.replies import garbled
from rag_core.prompts.screening import screen

SUMMARY_CHARS = 2000
SENTENCES = 5


async def summarize(title: str, passages: Sequence[str], llm: LLM) -> tuple[str, bool]:
    """A summary, without links that the document does not have, and whether it is a local technique's.

    Raises:
        Unavailable: the model did not answer, or with nothing (llm_output_invalid).
    """
    reply = await llm.complete(prompts.summary(title, passages))
    summary, _ = screen(reply.text.strip()[:SUMMARY_CHARS], passages)
    if not summary:
        raise garbled("is empty")
    return summary, reply.local


def extract(passages: Sequence[str]) -> str:
    """The document's own key sentences."""
    return " ".join(key_sentences("\n\n".join(passages), SENTENCES))[:SUMMARY_CHARS]
