"""Citations for any text: each sentence with its verdict and with the passages of the index that bear on it."""

import asyncio
from functools import partial

from rag_core.answering import citations
from rag_core.answering.verification import verify_claims
from rag_core.core.errors import InvalidRequest
from rag_core.core.kit import Kit
from rag_core.core.model import Claim, Scope
from rag_core.core.run import Run
from rag_core.core.techniques import note_techniques
from rag_core.retrieval.search import embed_variants
from rag_core.retrieval.steps import search_with_leg_fallback

CITE_TIMEOUT_S = 120.0
MAX_CITED_SENTENCES = 1000  # each is embedded, by a hosted model in a call of its own


async def cite_text(text: str, scope: Scope, kit: Kit, run: Run) -> tuple[Claim, ...]:
    """Return each sentence of `text` with a verdict and its citations.

    Raises:
        InvalidRequest: there are more sentences than `MAX_CITED_SENTENCES`.
        Unavailable: the store did not answer.
    """
    claims = await asyncio.to_thread(citations.split_into_claims, text)
    if len(claims) > MAX_CITED_SENTENCES:
        message = f"must have at most {MAX_CITED_SENTENCES} sentences, this has {len(claims)}: send it in parts"
        raise InvalidRequest("text", message)
    if not claims:
        return ()
    variants = citations.label_claims(claims)
    embedding = embed_variants(variants, kit.index, search_type="hybrid")
    vectors = await run.attempt("embed", embedding, otherwise={}, fallback="lexical search only")
    search = partial(citations.search_claims, variants, vectors, scope, kit.index)
    rankings = await search_with_leg_fallback(search, "hybrid" if vectors else "keyword", run)
    evidence = [citations.evidence_from_hits(hits) for hits in rankings]
    noting_kit = note_techniques(kit, run)
    return tuple(await verify_claims(claims, evidence, noting_kit, run, step="cite", within_s=CITE_TIMEOUT_S))
