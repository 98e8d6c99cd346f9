"""Summaries of a document in a few sentences: written by a chat model, or its own key sentences."""

from collections.abc import Sequence

from rag_core import prompts
from rag_core.core.ports import LLM
from rag_core.ingestion.enrichment import key_sentences
from rag_core.prompts.replies import garbled
from rag_core.prompts.screening import screen

SUMMARY_CHARS = 2000
SENTENCES = 5


async def summarize(title: str, passages: Sequence[str], llm: LLM) -> tuple[str, bool]:
    """Summarize a document by chat model; return the summary and whether a local technique wrote it.

    Links that the passages do not contain are removed.

    Raises:
        Unavailable: the model did not answer, or its reply is empty (llm_output_invalid).
    """
    reply = await llm.complete(prompts.summary(title, passages))
    summary, _ = screen(reply.text.strip()[:SUMMARY_CHARS], passages)
    if not summary:
        raise garbled("is empty")
    return summary, reply.local


def extract(passages: Sequence[str]) -> str:
    """Return the document's own key sentences, in place of a model's summary."""
    return " ".join(key_sentences("\n\n".join(passages), SENTENCES))[:SUMMARY_CHARS]
