"""The front door: one object that every entrance uses to search, answer, index, summarize and cite.

It alone resolves the preset with the operator's settings, the limits and the time, runs the pipeline, saves the run,
collects the warnings and makes the reply. HTTP, the command line, the clients, notebooks, the workbench, the audit and
the evaluation add only their own codec.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from rag_core import parts
from rag_core.composition.assembly import KitHolder, build_in_memory_kit
from rag_core.composition.index_assembly import build_embedding_tariff
from rag_core.core.errors import InvalidRequest, UnreadableDocument
from rag_core.core.kit import Kit
from rag_core.core.metrics import record_answer
from rag_core.core.model import Citation, Claim, EntityGraph, Facet, Filter, IndexingResult, Job, Scope, Turn
from rag_core.core.preset_choice import PresetChoice, resolve_choice
from rag_core.core.run import Run
from rag_core.core.settings import DEFAULT_SETTINGS, Settings, load_settings
from rag_core.pipelines import answer_in_conversation, search_with_pipeline
from rag_core.replies import AnswerReply, SearchReply
from rag_core.retrieval.conversation import resolve_conversation
from rag_core.workbench import rated_answers, saved_runs
from rag_core.workbench.rated_answers import MAX_RATED_ANSWERS, RatedAnswers
from rag_core.workbench.saved_runs import Replay
from rag_core.workbench.session import WorkbenchSession

INDEXING_TIMEOUT_S = 30 * 24 * 3600.0  # without an HTTP timeout: a large folder takes hours to embed


class RAG:
    """An open service.

    `scope` is whose documents a call is about: a Scope, or the id of a workflow.

    `run` is the record of the call, with its deadline; without one the call makes its own, within the settings' time.
    Every method raises `RagError`s: `InvalidRequest` is for the caller to put right, `Unavailable` for time.
    """

    def __init__(self, kit: Kit | Callable[[], Kit] | None = None, settings: Settings = DEFAULT_SETTINGS) -> None:
        """Use this kit, or the one that a function returns at each call; by default local parts, in memory."""
        given = kit or build_in_memory_kit(settings)
        self._get_kit: Callable[[], Kit] = (lambda: given) if isinstance(given, Kit) else given
        self.settings = settings

    @property
    def kit(self) -> Kit:
        """The adapters in use now: after a reindex by another process, those of the new index."""
        return self._get_kit()

    def start_run(self) -> Run:
        """Return a record for one call that ends within the time limit of the settings."""
        return Run(within_s=self.settings.request_timeout_s)

    async def search(
        self,
        text: str,
        *,
        scope: Scope | str = "default",
        filters: Sequence[Filter] = (),
        facets: Sequence[str] = (),
        history: Sequence[Turn] = (),
        run: Run | None = None,
        **choice: Unpack[PresetChoice],
    ) -> SearchReply:
        """Return the passages that bear on a question, best first, and how they were found.

        `history` has the turns before the question, in order.
        """
        kit, run = self.kit, run or self.start_run()
        preset = resolve_choice(choice, kit, run, preset_overrides=self.settings.preset_overrides)
        query_text = text if preset.pipeline == "facets" else _require_text(text, "query")  # facets count all
        query = preset.build_query(query_text, as_scope(scope), filters=filters, facets=facets, history=history)
        query, kit = await resolve_conversation(query, kit, run)
        result = await search_with_pipeline(query, kit, run, pipeline=preset.pipeline)
        saved = await saved_runs.save_run(query, result, preset, "consult_rag", kit, run)
        return SearchReply(result, query, preset, run, saved)

    async def answer(
        self,
        text: str,
        *,
        scope: Scope | str = "default",
        filters: Sequence[Filter] = (),
        history: Sequence[Turn] = (),
        origin: str = "ask",
        keep: bool = False,
        follows: int | None = None,
        run: Run | None = None,
        **choice: Unpack[PresetChoice],
    ) -> AnswerReply:
        """Return an answer whose every sentence was checked against the passages that it cites; it prints as its text.

        `history` has the turns before the question, in order. `origin` is the name of the entrance, under which the run
        is saved where runs are, or with `keep`; `follows` is the id of the saved query that the question goes on from.
        """
        kit, run = self.kit, run or self.start_run()
        kit = replace(kit, keep_runs=kit.keep_runs or keep)
        preset = resolve_choice(choice, kit, run, preset_overrides=self.settings.preset_overrides)
        query = preset.build_query(_require_text(text, "query"), as_scope(scope), filters=filters, history=history)
        query, answer = await answer_in_conversation(query, kit, run)
        record_answer(preset.pipeline, answer.status, [claim.verdict for claim in answer.claims])
        reply = AnswerReply(answer, query, preset, run, {})
        shown = {"asked": text, "follows": follows, "reply": reply.to_json()} if kit.keep_runs else {}
        saved = await saved_runs.save_answer_run(query, answer, preset, origin, kit, run, shown=shown)
        return replace(reply, saved=saved)

    async def answer_proposals(
        self,
        text: str,
        *,
        metadata_filters: "parts.answering.MetadataFilters | None" = None,
        top_k: int | None = None,
        scope: Scope | None = None,
        run: Run | None = None,
    ) -> tuple[AnswerReply, list[Citation]]:
        """Return an answer from the proposals, and its citations: each proposal and stage once (S2-33 to S2-43).

        By default as many passages are searched for as the settings say, among the proposals that everyone may see.
        """
        kit, run, allowed = self.kit, run or self.start_run(), metadata_filters or {}
        scope = scope or Scope(self.settings.collection)
        passages = parts.answering.limit_passages(top_k or self.settings.proposals_top_k, run)
        reply = await self.answer(
            text,
            scope=scope,
            filters=parts.answering.build_stage_filters(allowed),
            origin="rag_query",
            run=run,
            preset="proposals",
            top_k=passages,
            top_n=passages,
        )
        return reply, await parts.answering.cite_each_stage(reply.answer, scope, allowed, kit, run)

    async def index(
        self,
        source: "parts.upload.Upload | Path | str",
        *,
        title: str | None = None,
        scope: Scope | str = "default",
        chunking: "parts.chunking.Chunking | None" = None,
        run: Run | None = None,
    ) -> IndexingResult:
        """Make a document searchable and wait until it is: an upload, or a file by its path.

        Raises:
            InvalidRequest: there is no such file.
            TooLarge, UnsupportedDocument, UnreadableDocument: the file cannot be indexed as it is.
        """
        if isinstance(source, parts.upload.Upload):
            upload = source
        else:
            upload = await asyncio.to_thread(parts.upload.upload_from_file, _require_file(source))
        upload = replace(upload, title=title) if title else upload
        run, chunking = run or Run(within_s=INDEXING_TIMEOUT_S), chunking or parts.chunking.Chunking()
        return await parts.indexing.index_document(
            upload, as_scope(scope), self.kit, run, chunking=chunking, limits=self.upload_limits
        )

    async def estimate(
        self,
        source: "parts.upload.Upload | Path | str",
        *,
        scope: Scope | str = "default",
        chunking: "parts.chunking.Chunking | None" = None,
        run: Run | None = None,
    ) -> "parts.plan.IndexingPlan":
        """Return what indexing a document would do and cost; nothing is written, embedded, described or billed.

        Files are read by the local parsers, because the layout service bills by the page: what it would cost is said.
        """
        rehearsal, run = parts.plan.DryRun(self.kit, build_embedding_tariff(self.settings)), run or self.start_run()
        rehearsed = RAG(rehearsal.kit, self.settings)
        try:
            await rehearsed.index(rehearsal.take(source, run), scope=scope, chunking=chunking, run=run)
        except UnreadableDocument:
            if not run.planned_layout_pages:  # else only the layout service can read it
                raise
        return rehearsal.build_plan(run)

    async def submit(
        self,
        upload: "parts.upload.Upload",
        *,
        scope: Scope | str = "default",
        chunking: "parts.chunking.Chunking | None" = None,
        key: str | None = None,
        as_job: bool = False,
        run: Run | None = None,
    ) -> IndexingResult | Job:
        """Index a short document now and return the result; take a long one on as a job and return the job.

        With `as_job` any document becomes a job. The same `key` again returns the first call's job or result.
        """
        indexer = parts.indexer.Indexer(self.kit, run or self.start_run(), self.indexing_policy)
        return await indexer.index(
            upload, as_scope(scope), chunking=chunking or parts.chunking.Chunking(), key=key, as_job=as_job
        )

    async def summarize(
        self,
        document_id: str,
        *,
        scope: Scope | str = "default",
        refresh: bool = False,
        write: bool = True,
        run: Run | None = None,
    ) -> "parts.summaries.Summary":
        """Return the stored summary of a document, or a new one where there is none or with `refresh`.

        Without `write`, which `refresh` needs, no model is asked and nothing is stored.
        """
        kit, run = self.kit, run or self.start_run()
        return await parts.summaries.summarize_document(
            document_id, as_scope(scope), kit, run, refresh=refresh, write=write
        )

    async def cite(self, text: str, *, scope: Scope | str = "default", run: Run | None = None) -> tuple[Claim, ...]:
        """Return each sentence of any text with a verdict and the passages of the index that bear on it."""
        checked = _require_text(text, "text")
        return await parts.text_citation.cite_text(checked, as_scope(scope), self.kit, run or self.start_run())

    async def graph(
        self,
        operation: "parts.graph.GraphOperation",
        *,
        entity: str | None = None,
        target: str | None = None,
        depth: int = 1,
        limit: int = 20,
        scope: Scope | str = "default",
        run: Run | None = None,
    ) -> EntityGraph:
        """Return a part of the graph of entities that occur together in chunks."""
        exploring = parts.graph.explore_graph(
            operation, as_scope(scope), self.kit.index, entity=entity, target=target, depth=depth, limit=limit
        )
        return await (run or self.start_run()).step("graph", exploring)

    async def index_database(
        self, source: "parts.ingest.DatabaseSource", *, scope: Scope | str = "default", run: Run | None = None
    ) -> "parts.ingest.IndexedDatabase":
        """Read a database, which nothing is written to, and index its schema: tables, columns, keys, frequent values.

        No value that looks like personal data is kept.
        """
        return await parts.ingest.index_database(
            source, as_scope(scope), self.kit, run or Run(within_s=INDEXING_TIMEOUT_S)
        )

    async def link_schema(
        self,
        text: str,
        *,
        database: str | None = None,
        budget: "parts.linking.LinkBudget | None" = None,
        by_model: bool = False,
        scope: Scope | str = "default",
        run: Run | None = None,
    ) -> "parts.schema_reply.SchemaReply":
        """Return what a writer of SQL needs for a question: tables, columns, joins, values, rules, questions before.

        Without a name the only database of the scope is meant. Rules are passages of the scope's other documents.
        `by_model` a chat model chooses among the likeliest tables and splits the question, by one call that is priced.

        Raises:
            NotFound: no such database is indexed here.
            InvalidRequest: there are several, and none is named.
        """
        run, scope, budget = run or self.start_run(), as_scope(scope), budget or parts.linking.LinkBudget()
        linked = await parts.link_question.link_question(
            _require_text(text, "query"), database, scope, self.kit, run, budget=budget, by_model=by_model
        )
        return parts.schema_reply.SchemaReply(linked, run, scope.workflow_id)

    async def facets(
        self, fields: Sequence[str], *, limit: int = 100, scope: Scope | str = "default", run: Run | None = None
    ) -> Sequence[Facet]:
        """Return the values of each field with the number of chunks that have them, most frequent first."""
        counting = self.kit.index.store.count_facets(tuple(fields), as_scope(scope), limit=limit)
        return await (run or self.start_run()).step("facets", counting)

    async def documents(
        self, *, scope: Scope | str = "default", run: Run | None = None
    ) -> "parts.source_view.DocumentList":
        """Return the documents of a scope, and those of them that were deleted and can be restored."""
        return await parts.source_view.list_documents(as_scope(scope), self.kit, run or self.start_run())

    async def read(
        self,
        document_id: str,
        *,
        first_passage: int = 0,
        max_tokens: int = 4000,
        scope: Scope | str = "default",
        run: Run | None = None,
    ) -> "parts.document_reading.DocumentPassages":
        """Return the passages of a document in its own order, from one on as many as fit, and at least that one."""
        run, scope = run or self.start_run(), as_scope(scope)
        return await parts.document_reading.read_document_passages(
            document_id, scope, self.kit.index, run, first_passage=first_passage, max_tokens=max_tokens
        )

    async def delete(
        self, document_id: str, *, purge: bool = False, scope: Scope | str = "default", run: Run | None = None
    ) -> None:
        """Take a document out of every search, to be restored; with `purge` remove every copy of it for good."""
        await parts.lifecycle.delete_document(
            document_id, as_scope(scope), self.kit, run or self.start_run(), purge=purge
        )

    async def restore(self, document_id: str, *, scope: Scope | str = "default", run: Run | None = None) -> None:
        """Bring a deleted document back as it was."""
        await parts.lifecycle.restore_document(document_id, as_scope(scope), self.kit.index, run or self.start_run())

    async def replay(
        self, query_id: int, preset: str, *, scope: Scope | str = "default", run: Run | None = None
    ) -> Replay:
        """Search again for a saved query with another preset, edits included, and compare the two rankings."""
        session = WorkbenchSession(self.kit, run or self.start_run(), as_scope(scope))
        saved_query, query = await saved_runs.prepare_replay(
            query_id, preset, session, preset_overrides=self.settings.preset_overrides
        )
        result = await search_with_pipeline(query, session.kit, session.run, pipeline=query.preset.pipeline)
        return saved_runs.compare_rankings(saved_query, query, result)

    async def rated_answers(
        self, *, scope: Scope | str = "default", limit: int = MAX_RATED_ANSWERS, run: Run | None = None
    ) -> RatedAnswers:
        """Return the newest answers that were rated, as the rows of a labelled set for `rag eval answers`."""
        session = WorkbenchSession(self.kit, run or self.start_run(), as_scope(scope))
        return await rated_answers.collect_rated_answers(session, limit=limit)

    async def usage(
        self, *, days: int, scope: Scope | str = "default", run: Run | None = None
    ) -> "parts.usage.UsageReport":
        """Return what the saved runs of the last `days` days have used, today included."""
        session = WorkbenchSession(self.kit, run or self.start_run(), as_scope(scope))
        return await parts.usage.report_usage(session, days=days)

    async def close(self) -> None:
        """Close every adapter that holds something open."""
        await self.kit.close()

    @property
    def upload_limits(self) -> "parts.upload.UploadLimits":
        """The limits that the settings put on an upload."""
        return parts.upload.UploadLimits(
            self.settings.max_upload_bytes, self.settings.parse_timeout_s, self.settings.layout_budget_usd
        )

    @property
    def indexing_policy(self) -> "parts.indexer.IndexingPolicy":
        """Which documents the settings let be indexed within a request."""
        said = self.settings
        return parts.indexer.IndexingPolicy(
            self.upload_limits, said.inline_max_bytes, said.inline_max_chunks, said.require_vectors
        )


@asynccontextmanager
async def open(settings: Settings | None = None) -> AsyncIterator[RAG]:
    """Open the service that the settings choose, by default those of the environment, and close it at the end.

    Raises:
        Misconfigured: a chosen part lacks a setting or a package; the variable is named.
    """
    chosen = settings or load_settings()
    holder = KitHolder(lambda: chosen)
    try:
        yield RAG(holder, chosen)
    finally:
        await holder.close()


def as_scope(scope: Scope | str) -> Scope:
    """Return a scope as it is, and the id of a workflow as the scope of all that the workflow shares."""
    return Scope(scope) if isinstance(scope, str) else scope


def _require_text(text: str, field: str) -> str:
    """Return the text of a request. Raises InvalidRequest when it is blank or no text."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequest(field, "must be a text that is not blank")
    return text


def _require_file(source: Path | str) -> Path:
    file = Path(source)
    if not file.is_file():
        raise InvalidRequest("source", f"must be a file: there is none at {source}")
    return file
