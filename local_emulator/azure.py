"""Run the production path on this machine: the services that the app has beside it on Azure are served on loopback."""

import asyncio
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from local_emulator.chat_techniques import ChatTechniques
from local_emulator.document_service import DocumentService
from local_emulator.judging import WordJudge
from local_emulator.model_service import ModelService
from local_emulator.search_service import RankerUnavailable, SearchService, WordRewriter, run_search_service
from local_emulator.search_service.serving import serve_wsgi
from rag_core.composition import assembly, model_assembly
from rag_core.core.errors import Misconfigured, Unavailable
from rag_core.core.hosted_models import HOSTED_MODELS, find_hosted_model
from rag_core.core.ports import Reranker
from rag_core.core.settings import Settings
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.providers.local_techniques import LocalTechniques

SEARCH_FOLDER = "search-service"  # the folder below the data folder in which the emulated service keeps its indexes
ENDPOINTS = ("azure_search_endpoint", "azure_openai_endpoint", "doc_intelligence_endpoint")


@dataclass(frozen=True, slots=True)
class SemanticRanker:
    """The emulated search service ranks with our reranker, whose `Unavailable` is told as the service tells it."""

    reranker: Reranker

    async def score_passages(self, text: str, passages: Sequence[str]) -> Sequence[float]:
        try:
            return await self.reranker.score_passages(text, passages)
        except Unavailable as failure:
            raise RankerUnavailable(str(failure)) from failure


@contextmanager
def serve_azure_services(
    settings: Settings,
    *,
    picture_lines: Mapping[str, Sequence[Sequence[str]]] | None = None,
    priced: bool = False,
) -> Iterator[Settings]:
    """Serve the Azure services while the block runs, set up the index, and yield the settings that point at them.

    They want keys, made anew each time. `picture_lines` has the lines of pictures, as no text is recognised here.
    With `priced` the models' tokens have the prices of the models that are asked for; without, they are free.
    """
    embedder, reranker = model_assembly.build_local_embedder(settings), model_assembly.build_local_reranker(settings)
    key = secrets.token_urlsafe(24)
    folder = settings.data_dir and settings.data_dir / SEARCH_FOLDER
    search = SearchService(folder, keys={key}, reranker=SemanticRanker(reranker), rewriter=WordRewriter())
    techniques = ChatTechniques(LocalTechniques(reranker, select_key_sentences), WordJudge())
    models = ModelService(embedder, techniques, keys={key}, priced=priced)
    documents = DocumentService(keys={key}, picture_lines=picture_lines)
    with (
        run_search_service(search) as search_url,
        serve_wsgi(models) as models_url,
        serve_wsgi(documents) as documents_url,
    ):
        pointed = replace(
            settings,
            azure_search_endpoint=search_url,
            azure_search_key=key,
            llm_provider="azure",
            azure_openai_endpoint=models_url,
            azure_openai_key=key,
            embedding_dimensions=embedder.dimensions,
            doc_intelligence_endpoint=documents_url,
            doc_intelligence_key=key,
        )
        asyncio.run(assembly.set_up_stores(pointed))
        yield pointed


def describe_prices(pointed: Settings, *, priced: bool) -> str:
    """Describe what the tokens of the emulated models count as, in one line.

    Raises:
        Misconfigured: tokens are to be priced, and no price of a deployment is known by its name.
    """
    if not priced:
        return "  tokens             free: the models are local (--priced counts them at list prices)"
    told = [_describe_price(name) for name in dict.fromkeys((pointed.chat_deployment, pointed.embedding_deployment))]
    return f"  tokens             counted, not charged, per million: {'; '.join(told)}"


def _describe_price(deployment: str) -> str:
    model = find_hosted_model(deployment)
    if model is None:
        known = ", ".join(HOSTED_MODELS)
        raise Misconfigured(f"no price of the deployment {deployment} is known, as of {known}", field="--priced")
    written = f", {model.output_usd:g} USD out" if model.output_usd else ""
    return f"{deployment} {model.input_usd:g} USD in{written}"


def describe_addresses(pointed: Settings) -> str:
    """Describe where each service is, one line each."""
    return "\n".join(f"  {name.removesuffix('_endpoint'):18} {getattr(pointed, name)}" for name in ENDPOINTS)
