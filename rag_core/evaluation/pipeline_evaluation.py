"""`rag eval run`: ranking quality and latency of each leg and pipeline on a labelled collection."""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

from rag_core.composition import assembly, index_assembly, model_assembly
from rag_core.composition.choices import PROVIDER_VARIABLES, choose_chat_provider
from rag_core.core.errors import InvalidRequest, Misconfigured, RagError, UnsupportedScript
from rag_core.core.index import Index
from rag_core.core.kit import Kit
from rag_core.core.model import Ranking, Scope, Vector
from rag_core.core.ports import ChunkStore, Probe
from rag_core.core.presets import Preset, resolve_preset
from rag_core.core.run import Run
from rag_core.core.settings import DEFAULT_SETTINGS, Settings
from rag_core.evaluation import labelled_collection
from rag_core.evaluation.bulk_indexing import EVALUATION_TIMEOUT_S, index_uploads
from rag_core.evaluation.evaluation_cache import DEFAULT_CACHE_FILE, CachedEmbedder, CachedReranker, EvaluationCache
from rag_core.evaluation.evaluation_report import EvaluationReport, EvaluationRow, compare_rows
from rag_core.evaluation.labelled_collection import LabelledCollection, LabelledQuestion
from rag_core.evaluation.model_usage import PRICED_MODELS, CountingLLM, ModelUsage
from rag_core.ingestion.enrichment import select_key_sentences
from rag_core.ingestion.upload import UploadLimits
from rag_core.providers.local_techniques import LocalTechniques
from rag_core.rag import RAG
from rag_core.stores.azure_search.store import AzureSearchStore

T = TypeVar("T")

EVALUATED_PIPELINES = ("standard", "rerank", "advanced")
RANKING_DEPTH = 100  # hits per leg; several may be chunks of one document
TIMED_QUESTIONS = 10  # questions per row that are timed: without a cache a pipeline takes seconds per question

QuestionSearch = Callable[[LabelledQuestion, ModelUsage, bool], Awaitable[Ranking]]  # the bool: ignore cached scores
EvaluationProgress = Callable[[str, int, int], None]  # name of the work, done, total


def evaluate_pipelines(
    directory: Path,
    *,
    max_questions: int | None = None,
    half: str = "",
    workflow_field: str | None = None,
    pipelines: Sequence[str] = EVALUATED_PIPELINES,
    settings: Settings = DEFAULT_SETTINGS,
    cache_file: Path = DEFAULT_CACHE_FILE,
    progress: EvaluationProgress = lambda *_: None,
) -> EvaluationReport:
    """Index a labelled folder into a temporary store and score each pipeline on its first `max_questions` questions.

    `half` is one of `labelled_collection.HALVES`, or "" for all questions. A judged document or page has the rank of
    its best chunk. `cache_file` holds vectors of documents and scores of pairs; timed queries compute both anew.

    Raises:
        Misconfigured: the folder's layout is unknown.
        InvalidRequest: there is no preset of a given name.
    """
    collection = labelled_collection.load_labelled_collection(
        directory, max_questions=max_questions, half=half, workflow_field=workflow_field
    )
    presets = {spec: parse_preset(spec) for spec in pipelines}

    async def evaluate(indexed_collection: IndexedCollection) -> EvaluationReport:
        leg_rows = [
            await indexed_collection.evaluate_search(name, search)
            for name, search in indexed_collection.build_leg_searches().items()
        ]
        pipeline_rows = [
            await indexed_collection.evaluate_search(spec, indexed_collection.build_pipeline_search(row_preset))
            for spec, row_preset in presets.items()
        ]
        return EvaluationReport(
            collection.title,
            len(collection.uploads),
            indexed_collection.chunk_count,
            tuple(compare_rows(leg_rows, pipeline_rows)),
        )

    return run_on_collection(collection, evaluate, settings=settings, cache_file=cache_file, progress=progress)


def run_on_collection(
    collection: LabelledCollection,
    measure: Callable[["IndexedCollection"], Awaitable[T]],
    *,
    settings: Settings,
    cache_file: Path,
    progress: EvaluationProgress,
    hosted: bool = False,
) -> T:
    """Index the collection and return the result of `measure` on it. Raises like `index_collection`."""
    evaluation_cache = EvaluationCache(cache_file)

    async def run_measurement() -> T:
        async with index_collection(
            collection, settings, evaluation_cache, progress, hosted=hosted
        ) as indexed_collection:
            return await measure(indexed_collection)

    try:
        return asyncio.run(run_measurement())
    finally:
        evaluation_cache.close()


def parse_preset(spec: str) -> Preset:
    """Parse a preset with overrides, such as "advanced" or "advanced:rewordings=0,how=vector".

    Raises:
        InvalidRequest: there is no such preset or number, or a number is out of its range.
    """
    name, _, numbers = spec.partition(":")
    pairs = [pair.partition("=") for pair in numbers.split(",") if pair]
    try:
        return resolve_preset(name, **dict(_parse_preset_number(field, value) for field, _, value in pairs))
    except ValueError:
        raise InvalidRequest("preset", f"{spec}: write a number as in rewordings=0") from None


def _parse_preset_number(field: str, text: str) -> tuple[str, str | int | float]:
    if field in ("how", "search_type"):  # `how` is what the commands have called it since 0.1
        return "search_type", text
    return field, int(text) if text.isdecimal() else float(text)


@dataclass(frozen=True, slots=True)
class IndexedCollection:
    """A labelled collection, indexed into a store of its own.

    The store's workflow ids are those of the collection with `prefix` in front.
    """

    collection: LabelledCollection
    kit: Kit
    settings: Settings
    cache: EvaluationCache
    progress: EvaluationProgress
    hosted: bool
    workflow_prefix: str
    chunk_count: int

    def create_scope(self, workflow: str) -> Scope:
        return Scope(f"{self.workflow_prefix}{workflow}")

    def build_leg_searches(self) -> Mapping[str, QuestionSearch]:
        """Return lexical, vector and hybrid search without a pipeline, by name; without an embedder only the first."""
        index = self.kit.index

        def build_leg_search(use_lexical: bool, use_vector: bool) -> QuestionSearch:
            async def search(question: LabelledQuestion, _: ModelUsage, __: bool) -> Ranking:
                vector = await _embed_question(question.text, index) if use_vector else None
                probe = Probe("original", question.text if use_lexical else "", vector)
                if not probe.lexical_query and probe.vector is None:
                    return []
                return (await index.search([probe], self.create_scope(question.workflow_id), limit=RANKING_DEPTH))[0]

            return search

        vector_searches = (
            {"meaning": build_leg_search(False, True), "hybrid": build_leg_search(True, True)}
            if index.embedder.dimensions
            else {}
        )
        return {"words": build_leg_search(True, False), **vector_searches}

    def build_pipeline_search(self, preset: Preset) -> QuestionSearch:
        """Return a search by the preset's pipeline: with the kit's models, or local techniques and a token count."""
        # a new one: the previous row's has cached pair scores
        reranker = model_assembly.build_local_reranker(self.settings)

        async def search(question: LabelledQuestion, usage: ModelUsage, recompute: bool) -> Ranking:
            cached_reranker = CachedReranker(reranker, self.cache, recompute)
            llm = (
                self.kit.llm
                if self.hosted
                else CountingLLM(LocalTechniques(cached_reranker, select_key_sentences), usage)
            )
            rag = RAG(replace(self.kit, reranker=cached_reranker, llm=llm), self.settings)
            scope, run = self.create_scope(question.workflow_id), Run(EVALUATION_TIMEOUT_S)
            reply = await rag.search(question.text, scope=scope, history=question.history, preset=preset, run=run)
            usage.add_run(run, reply.query)
            return reply.hits

        return search

    async def evaluate_search(self, name: str, search: QuestionSearch) -> EvaluationRow:
        """Ask the questions one by one, after a warm-up question that is neither scored nor counted."""
        questions = self.collection.questions
        rankings: dict[str, Ranking] = {}
        times: list[tuple[float, float]] = []
        usage = ModelUsage()
        await search(replace(next(iter(questions.values())), text="warm up"), ModelUsage(), True)
        for number, (question_id, question) in enumerate(questions.items(), start=1):
            started_s, started_cpu_s = time.perf_counter(), time.process_time()
            rankings[question_id] = await search(question, usage, number <= TIMED_QUESTIONS)
            times.append(((time.perf_counter() - started_s) * 1000, (time.process_time() - started_cpu_s) * 1000))
            self.progress(name, number, len(questions))
        wall_times, cpu_times = zip(*times[:TIMED_QUESTIONS], strict=True)
        return EvaluationRow(
            name,
            self.collection.score(rankings),
            wall_times,
            cpu_times,
            usage,
            self._cost_per_1000_questions(usage),
        )

    def _cost_per_1000_questions(self, usage: ModelUsage) -> dict[str, float | None]:
        usd_by_model = (
            {self.kit.llm.name: usage.paid_usd}
            if self.hosted
            else {model: usage.estimate_usd(model) for model in PRICED_MODELS}
        )
        return {
            model: None if usd is None else 1000 * usd / len(self.collection.questions)
            for model, usd in usd_by_model.items()
        }


@asynccontextmanager
async def index_collection(
    collection: LabelledCollection,
    settings: Settings,
    cache: EvaluationCache,
    progress: EvaluationProgress,
    *,
    hosted: bool = False,
) -> AsyncIterator[IndexedCollection]:
    """Index a collection for the duration of the block; `hosted` uses the models and the store of the settings.

    Raises:
        Misconfigured: `hosted` is set, and the settings name no hosted service.
    """
    with tempfile.TemporaryDirectory() as folder:
        isolated_settings = _isolate_settings(settings, Path(folder), hosted=hosted)
        is_shared_store = bool(isolated_settings.azure_search_endpoint or isolated_settings.postgres_url)
        kit = assembly.build_kit(isolated_settings)
        kit = replace(kit, index=replace(kit.index, embedder=CachedEmbedder(kit.index.embedder, cache)))
        prefix = f"eval-{token_hex(4)}-" if is_shared_store else ""
        indexed_collection = IndexedCollection(collection, kit, isolated_settings, cache, progress, hosted, prefix, 0)
        limits = UploadLimits(isolated_settings.max_upload_bytes, EVALUATION_TIMEOUT_S)
        uploads = [(indexed_collection.create_scope(workflow), upload) for workflow, upload in collection.uploads]
        try:
            chunk_count = await index_uploads(uploads, kit, limits=limits, progress=partial(progress, "index"))
            yield replace(indexed_collection, chunk_count=chunk_count)
        finally:
            try:
                if is_shared_store:
                    await _purge_workflows({scope for scope, _ in uploads}, kit.index.store)
            finally:
                await kit.close()


def _isolate_settings(settings: Settings, folder: Path, *, hosted: bool) -> Settings:
    """Return settings for a temporary store that keeps nothing elsewhere.

    Unless `hosted`, no service is called: neither the configured models nor the search service nor the web.
    """
    models = index_assembly.name_embedding_model(settings) if hosted else settings
    nowhere = dict.fromkeys(("archive_url", "redis_url", "jobs_storage"))
    temporary = replace(models, data_dir=folder, keep_originals=False, **nowhere)  # type: ignore[arg-type]
    if not hosted:
        unset: dict[str, Any] = dict.fromkeys(("azure_search_endpoint", "postgres_url", "doc_intelligence_endpoint"))
        return replace(temporary, chat_provider="local", embedding_provider="local", web_fallback=False, **unset)
    are_local = choose_chat_provider(settings).name == temporary.embedding_provider == "local"
    if are_local and settings.azure_search_endpoint is None:
        variables = ", ".join(name for names in PROVIDER_VARIABLES.values() for name in names)
        raise Misconfigured(f"nothing hosted is configured: set AZURE_SEARCH_ENDPOINT or one of {variables}")
    return temporary


async def _purge_workflows(scopes: Iterable[Scope], store: ChunkStore) -> None:
    """Purge these workflows, and print those that may still hold documents.

    It does not raise, because an error here would lose the measured scores or hide an earlier error.
    """
    is_flushed = await _flush_outbox(
        store
    )  # before the documents are listed: an interrupted upload is not in the list yet
    unconfirmed = [
        scope.workflow_id for scope in scopes if not (await _purge_workflow_documents(scope, store) and is_flushed)
    ]
    if unconfirmed:
        await _flush_outbox(store)
        print(
            f"could not confirm that these workflows are purged; check them: {', '.join(sorted(unconfirmed))}",
            file=sys.stderr,
        )


async def _purge_workflow_documents(scope: Scope, store: ChunkStore) -> bool:
    try:
        documents = await store.list_documents(scope)
    except RagError:
        return False
    return all([await _purge_evaluated_document(document.id, scope, store) for document in documents])


async def _purge_evaluated_document(document_id: str, scope: Scope, store: ChunkStore) -> bool:
    try:
        await store.purge(document_id, scope)
    except RagError:
        return False
    return True


async def _flush_outbox(store: ChunkStore) -> bool:
    """Flush the store's outbox, which is in the temporary folder; tell whether it is empty."""
    return not (isinstance(store, AzureSearchStore) and await store.flush())


async def _embed_question(query_text: str, index: Index) -> Vector | None:
    """Embed a question; return None for a script that the model does not read, as in the pipelines."""
    with suppress(UnsupportedScript):
        return (await index.embed_queries([query_text]))[0]
    return None
