"""The commands of `rag`; each imports its heavy modules itself, so that the others start fast."""

import asyncio
import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core import replies
from rag_core.core import presets, settings
from rag_core.core.errors import InvalidRequest, Misconfigured, NotFound
from rag_core.core.kit import Kit
from rag_core.core.model import Document, Scope
from rag_core.core.run import Run

if TYPE_CHECKING:
    from rag_core.ingestion.plan import Rehearsal

Work = Callable[[Namespace, Kit, Run], Awaitable[int]]
LISTED = 50  # saved queries shown by `rag replay`
BUDGET_SPENT = 3  # exit code


def configured(chosen: Namespace) -> settings.Settings:
    """Load the settings, with the data folder of the command line if one is given."""
    loaded = settings.load()
    return replace(loaded, data_dir=chosen.data) if chosen.data else loaded


def with_kit(work: Work) -> Callable[[Namespace], int]:
    """Turn a coroutine on a kit into a command that builds the kit before and closes it after."""

    async def run(chosen: Namespace) -> int:
        from rag_core.composition import assembly

        loaded = configured(chosen)
        kit = assembly.build(loaded)
        try:
            return await work(chosen, kit, Run(within_s=loaded.request_timeout_s))
        finally:
            await kit.close()

    return lambda chosen: asyncio.run(run(chosen))


def serve(chosen: Namespace) -> int:
    """Run the local emulator until it is stopped; with --azure, the emulated Azure services too."""
    from local_emulator import host

    if not chosen.azure:
        host.serve(configured(chosen), port=chosen.port, admin=chosen.admin)
        return 0
    from local_emulator import azure

    with azure.neighbours(configured(chosen)) as emulated:
        print(azure.addresses(emulated), flush=True)
        host.serve(emulated, port=chosen.port, admin=chosen.admin)
    return 0


def setup(chosen: Namespace) -> int:
    """Create or upgrade the configured index or data folder."""
    from rag_core.composition import assembly

    print(asyncio.run(assembly.setup(configured(chosen))))
    return 0


@with_kit
async def index(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Index files, with a progress bar on a terminal, else a line per file. Return 1 when a file was refused."""
    from rag_core.cli import files, show
    from rag_core.ingestion.indexing import Limits
    from rag_core.ingestion.plan import BudgetSpent

    loaded = configured(chosen)
    limits, indexing_run, stopped = Limits(loaded.max_upload_bytes, loaded.parse_timeout_s), Run(files.PATIENCE_S), ""
    kit, rehearsal = _priced(chosen, kit, loaded)
    counts: Counter[str] = Counter()
    files_by_path = files.meant(chosen.paths)
    try:
        with show.progress(sys.stdout) as bar:
            for path, is_named in bar.track(files_by_path.items(), description="indexing"):
                outcome = await files.index_file(path, is_named, Scope(chosen.workflow), kit, limits, indexing_run)
                counts[outcome.verdict] += 1
                show.outcome(outcome, bar, planned=rehearsal is not None)
    except BudgetSpent as error:
        stopped = f"{error.message}; {show.many(len(files_by_path) - counts.total(), 'file')} left"
    if rehearsal:
        show.plan(rehearsal.plan())
    else:
        print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    show.diary(replace(indexing_run, warnings=[]))  # the warnings do not name their file
    return _ended(stopped, counts["refused"])


@with_kit
async def ingest(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Index proposals, with a progress bar on a terminal. Return 1 when a record or chunk was not indexed."""
    from rag_core.cli import files, show
    from rag_core.proposals import sources
    from rag_core.proposals.ingest import ingest as ingest_records

    loaded = configured(chosen)
    source = chosen.source or loaded.proposals_source
    if source is None:
        raise Misconfigured("name a SOURCE, or set RAG_PROPOSALS_SOURCE", field="RAG_PROPOSALS_SOURCE")
    records, indexing_run = list(sources.records(source)), Run(files.PATIENCE_S)
    scope, bodies = Scope(chosen.workflow or loaded.collection), not chosen.no_bodies
    kit, rehearsal = _priced(chosen, kit, loaded)
    with show.progress(sys.stdout) as bar:
        tracked = bar.track(records, description="ingesting")
        ingested_proposals = await ingest_records(tracked, scope, kit, indexing_run, bodies=bodies, clear=chosen.clear)
    show.ingested(ingested_proposals, rehearsal.plan() if rehearsal else None)
    show.diary(indexing_run)
    return _ended(ingested_proposals.stopped, len(ingested_proposals.failed))


@with_kit
async def query(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the passages relevant to a question, and how they were found."""
    from rag_core import service
    from rag_core.cli import show
    from rag_core.workbench import runs

    preset, _ = presets.choose(pipeline=chosen.pipeline, top_k=chosen.top_k, house=settings.load().house)
    scoped_query = preset.query(_said(chosen.text), Scope(chosen.workflow))
    result = await service.consult(scoped_query, kit, run, pipeline=preset.pipeline)
    saved_ids = await runs.keep(scoped_query, result, preset, "consult_rag", kit, run)
    if chosen.json:
        print(
            json.dumps(replies.consulted(result, scoped_query, preset, run) | saved_ids, ensure_ascii=False, indent=2)
        )
        return 0
    show.result(result, preset.pipeline, run)
    show.diary(run)
    show.kept(saved_ids)
    return 0


@with_kit
async def ask(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the answer to a question, with its sources and their verdicts."""
    from rag_core import replies, service
    from rag_core.answering import citation_styles
    from rag_core.cli import show
    from rag_core.workbench import runs

    preset, _ = presets.choose(preset=chosen.preset, house=settings.load().house)
    query = preset.query(_said(chosen.text), await _only(chosen.document, Scope(chosen.workflow), kit))
    answer = await service.ask(query, kit, run, pipeline=preset.pipeline)
    saved_ids = await runs.keep_answer(query, answer, preset, "ask", kit, run)
    if chosen.json:
        reply = replies.answered(answer, query, preset, run, chosen.style) | saved_ids
        print(json.dumps(reply, ensure_ascii=False, indent=2))
        return 0
    show.answer(answer, chosen.style or citation_styles.usual(preset.pipeline))
    show.diary(run)
    show.kept(saved_ids)
    return 0


@with_kit
async def replay(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the ranking of a saved query beside that of another preset; without an id, list the saved queries."""
    from rag_core.cli import show
    from rag_core.workbench import runs
    from rag_core.workbench.steps import Bench

    scope = Scope(chosen.workflow)
    if chosen.id is None:
        show.replayable(await kit.archive.queries(scope, limit=LISTED))
        return 0
    house = settings.load().house
    show.replayed(await runs.replay(chosen.id, chosen.preset, Bench(kit, run, scope), house=house))
    show.diary(run)
    return 0


@with_kit
async def facets(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the values of a field, most frequent first, and their number."""
    from rag_core.cli import show

    fields = await kit.index.store.facet_fields(Scope(chosen.workflow))
    if chosen.field not in fields:
        raise InvalidRequest("field", f"must be one of {', '.join(fields) or '(none: nothing is indexed here)'}")
    (facet,) = await kit.index.store.facets((chosen.field,), Scope(chosen.workflow), limit=chosen.limit)
    show.facet(facet)
    return 0


@with_kit
async def graph(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the entities that occur together with an entity, or the shortest paths to another."""
    from rag_core.cli import show
    from rag_core.retrieval.graph import explore

    entity_graph = await explore(
        "path" if chosen.to else "neighbors",
        Scope(chosen.workflow),
        kit.index,
        entity=chosen.entity,
        target=chosen.to,
        limit=chosen.limit,
    )
    if chosen.to:
        show.paths(entity_graph, f"{chosen.entity} to {chosen.to}")
    else:
        show.neighbours(chosen.entity, entity_graph)
    return 0


@with_kit
async def summary(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print a document's summary."""
    from rag_core import service
    from rag_core.cli import show

    scope = Scope(chosen.workflow)
    document_id = _named(chosen.document, await kit.index.store.documents(scope))
    show.summary(await service.summarize(document_id, scope, kit, run))
    show.diary(run)
    return 0


@with_kit
async def documents(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the documents, or those that can be restored."""
    from rag_core.cli import show

    store, scope = kit.index.store, Scope(chosen.workflow)
    show.documents(await store.deleted(scope) if chosen.deleted else await store.documents(scope))
    return 0


@with_kit
async def delete(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Delete a document, or with --purge remove it permanently."""
    from rag_core.ingestion import lifecycle

    store, scope = kit.index.store, Scope(chosen.workflow)
    candidates = [*await store.documents(scope), *(await store.deleted(scope) if chosen.purge else ())]
    document_id = _named(chosen.document, candidates)
    await lifecycle.delete(document_id, scope, kit, run, purge=chosen.purge)
    print(f"{document_id}: {'purged' if chosen.purge else 'deleted; rag restore restores it'}")
    return 0


@with_kit
async def restore(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Restore a deleted document."""
    from rag_core.ingestion import lifecycle

    scope = Scope(chosen.workflow)
    document_id = _named(chosen.document, await kit.index.store.deleted(scope))
    await lifecycle.restore(document_id, scope, kit.index, run)
    print(f"{document_id}: restored")
    return 0


@with_kit
async def audit_isolation(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the number of leaks of each audited path, and the leaks. Return 1 when there is a leak."""
    from rag_core.cli import show
    from rag_core.evaluation.audit import isolation

    audited_paths = await isolation(kit)
    show.table(("path", "attempts", "leaks"), [(path.name, path.tries, len(path.leaks)) for path in audited_paths])
    leaks = [leak for path in audited_paths for leak in path.leaks]
    print("\n".join(leaks) or "No scope received data of another scope.")
    return 1 if leaks else 0


@with_kit
async def log(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the newest entries of the query log, the newest last."""
    from rag_core.cli import show

    entries = await kit.audit.last(chosen.number)
    if chosen.json:
        print(json.dumps(entries, ensure_ascii=False, indent=2))
        return 0
    show.log(entries[::-1])
    return 0


@with_kit
async def cite(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the support for each sentence of a text."""
    from rag_core import service
    from rag_core.cli import show

    text = sys.stdin.read() if chosen.text == "-" else chosen.text
    for claim in await service.cite(_said(text), Scope(chosen.workflow), kit, run):
        show.claim(claim)
    show.diary(run)
    return 0


def _priced(chosen: Namespace, kit: Kit, read: settings.Settings) -> "tuple[Kit, Rehearsal | None]":
    """Limit the kit to the budget; with --plan, return the kit of a rehearsal."""
    from rag_core.composition import assembly
    from rag_core.ingestion.plan import Rehearsal, metered

    tariff = assembly.tariff(read)
    if not chosen.plan:
        return metered(kit, tariff, chosen.budget_usd), None
    rehearsal = Rehearsal(kit, tariff, chosen.budget_usd)
    return rehearsal.kit, rehearsal


def _ended(stopped: str, refused: int) -> int:
    """Return the exit code of an indexing command; print why the budget stopped it, if it did."""
    if stopped:
        print(f"Stopped: {stopped}. Run the same command again to continue from here.")
        return BUDGET_SPENT
    return 1 if refused else 0


def _said(text: str) -> str:
    """Return the text. Raises InvalidRequest when it is blank."""
    if not text.strip():
        raise InvalidRequest("the text", "must not be empty")
    return text


async def _only(names: Sequence[str], scope: Scope, kit: Kit) -> Scope:
    """Limit the scope to the named documents; without names, return it unchanged."""
    if not names:
        return scope
    documents = await kit.index.store.documents(scope)
    return replace(scope, document_ids=tuple(_named(name, documents) for name in names))


def _named(name: str, documents: Sequence[Document]) -> str:
    """Return the id of the single document with this id, source, path or title.

    Raises:
        NotFound: there is no such document.
        InvalidRequest: several documents match.
    """
    path = str(Path(name).resolve())
    ids = [
        document.id
        for document in documents
        if name in (document.id, document.source, document.title, Path(document.source).name) or path == document.source
    ]
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise InvalidRequest("DOC", f"matches {len(ids)} documents: give one of the ids {', '.join(ids)}")
    titles = ", ".join(document.title for document in documents[:10]) or "none: nothing is indexed here"
    raise NotFound(
        f"no document has this id, path or title; the documents are {titles}{' …' if documents[10:] else ''}"
    )
