"""A front door whose chat model is the stub of `local_emulator.chat_stub`, asked by the vendor's client over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from local_emulator.chat_stub import ChatStub
from local_emulator.model_service import ModelService
from local_emulator.search_service.serving import serve_wsgi
from rag_core.answering.chat_judge import ChatJudge
from rag_core.core.kit import Kit
from rag_core.core.model import Answer
from rag_core.core.run import Run
from rag_core.guard.redaction import RuleBasedRedactor
from rag_core.providers.openai import OpenAIChatModel
from rag_core.providers.provider_profiles import PROVIDER_PROFILES
from rag_core.rag import RAG
from tests import hosted, local
from tests.fakes import SCOPE, ConceptEmbedder, chunk, filled

QUESTION = "How often are the signing keys rotated?"
FACT = "The signing keys are rotated every 90 days by the platform team."
MANUAL = (
    chunk("keys", f"This chapter is about keys. {FACT} A copy of each key is kept in the vault."),
    chunk("lamps", "The warning lamp is lit when a key is older than 120 days.", document="lamps"),
)
OWN_WORDS = "An interval of 90 days applies whenever the signing keys get rotated."
TRUTHS = {  # what a competent judge finds about what the stub says, by words of it; the first that occur
    "are not rotated": ("contradicted", "are rotated every 90 days"),
    "interval of 90 days": ("supported", "rotated every 90 days"),
    "alle 90": ("supported", "rotated every 90 days"),
    "rotated every 90 days": ("supported", "rotated every 90 days"),
    "every 30 days": ("contradicted", "rotated every 90 days"),
}


@asynccontextmanager
async def opened(*, has_judge: bool = True, **stub: Any) -> AsyncIterator[RAG]:
    """A service over MANUAL with a stub of these styles, in which it says FACT unless `answers` says otherwise."""
    said = {"answers": {QUESTION: [FACT]}, "truths": TRUTHS, "model": "gpt-4o-mini", **stub}
    with serve_wsgi(ModelService(ConceptEmbedder(), ChatStub(hosted.text(), **said), keys={"key"})) as url:
        client = OpenAIChatModel(replace(PROVIDER_PROFILES["openai"], base_url=f"{url}/v1"), key="key")
        kit = Kit(
            await filled(*MANUAL),
            client,
            local.reranker(),
            judge=ChatJudge(client) if has_judge else None,
            redactor=RuleBasedRedactor(),
        )
        yield RAG(kit)
        await client.close()


async def ask(rag: RAG, pipeline: str = "standard") -> tuple[Answer, Run]:
    """The answer to QUESTION, and the record of the call."""
    run = rag.start_run()
    reply = await rag.answer(QUESTION, scope=SCOPE, pipeline=pipeline, run=run)
    return reply.answer, run
