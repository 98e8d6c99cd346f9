"""What each command does. Everything heavy is imported by the command that needs it."""

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
LISTED = 50  # kept questions
BUDGET_SPENT = 3  # the exit code of what stopped for that


def configured(chosen: Namespace) -> settings.Settings:
    """The settings, with the folder that the command line names."""
    read = settings.load()
    return replace(read, data_dir=chosen.data) if chosen.data else read


def with_kit(work: Work) -> Callable[[Namespace], int]:
    """A command over the parts, which are made before it and closed after it."""

    async def run(chosen: Namespace) -> int:
        from rag_core.composition import assembly

        read = configured(chosen)
        kit = assembly.build(read)
        try:
            return await work(chosen, kit, Run(within_s=read.request_timeout_s))
        finally:
            await kit.close()

    return lambda chosen: asyncio.run(run(chosen))


def serve(chosen: Namespace) -> int:
    """Run the local emulator until it is stopped; with --azure, its neighbours too."""
    from local_emulator import host

    if not chosen.azure:
        host.serve(configured(chosen), port=chosen.port, admin=chosen.admin)
        return 0
    from local_emulator import azure

    with azure.neighbours(configured(chosen)) as pointed:
        print(azure.addresses(pointed), flush=True)
        host.serve(pointed, port=chosen.port, admin=chosen.admin)
    return 0


def setup(chosen: Namespace) -> int:
    """Create the index or the folder that the settings name, or upgrade it."""
    from rag_core.composition import assembly

    print(asyncio.run(assembly.setup(configured(chosen))))
    return 0


@with_kit
async def index(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Index files with a progress bar or, where nobody watches, a line each. 1 when a file was refused."""
    from rag_core.cli import files, show
    from rag_core.ingestion.indexing import Limits
    from rag_core.ingestion.plan import BudgetSpent

    read = configured(chosen)
    limits, patient, stopped = Limits(read.max_upload_bytes, read.parse_timeout_s), Run(files.PATIENCE_S), ""
    kit, rehearsal = _priced(chosen, kit, read)
    counts: Counter[str] = Counter()
    meant = files.meant(chosen.paths)
    try:
        with show.progress(sys.stdout) as bar:
            for path, named in bar.track(meant.items(), description="indexing"):
                outcome = await files.index_file(path, named, Scope(chosen.workflow), kit, limits, patient)
                counts[outcome.verdict] += 1
                show.outcome(outcome, bar, planned=rehearsal is not None)
    except BudgetSpent as spent:
        stopped = f"{spent.message}; {show.many(len(meant) - counts.total(), 'file')} left"
    if rehearsal:
        show.plan(rehearsal.plan())
    else:
        print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    show.diary(replace(patient, warnings=[]))  # they do not name the file that they are of
    return _ended(stopped, counts["refused"])


@with_kit
async def ingest(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Index proposals, with a progress bar where somebody watches. 1 when some of it is not searchable."""
    from rag_core.cli import files, show
    from rag_core.proposals import sources
    from rag_core.proposals.ingest import ingest as ingested

    read = configured(chosen)
    source = chosen.source or read.proposals_source
    if source is None:
        raise Misconfigured("name a SOURCE, or set RAG_PROPOSALS_SOURCE", field="RAG_PROPOSALS_SOURCE")
    records, patient = list(sources.records(source)), Run(files.PATIENCE_S)
    scope, bodies = Scope(chosen.workflow or read.collection), not chosen.no_bodies
    kit, rehearsal = _priced(chosen, kit, read)
    with show.progress(sys.stdout) as bar:
        tracked = bar.track(records, description="ingesting")
        done = await ingested(tracked, scope, kit, patient, bodies=bodies, clear=chosen.clear)
    show.ingested(done, rehearsal.plan() if rehearsal else None)
    show.diary(patient)
    return _ended(done.stopped, len(done.failed))


@with_kit
async def query(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the passages that bear on a question, and how they were found."""
    from rag_core import service
    from rag_core.cli import show
    from rag_core.workbench import runs

    preset, _ = presets.choose(pipeline=chosen.pipeline, top_k=chosen.top_k, house=settings.load().house)
    asked = preset.query(_said(chosen.text), Scope(chosen.workflow))
    result = await service.consult(asked, kit, run, pipeline=preset.pipeline)
    told = await runs.keep(asked, result, preset, "consult_rag", kit, run)
    if chosen.json:
        print(json.dumps(replies.consulted(result, asked, preset, run) | told, ensure_ascii=False, indent=2))
        return 0
    show.result(result, preset.pipeline, run)
    show.diary(run)
    show.kept(told)
    return 0


@with_kit
async def ask(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the answer to a question, with what bears it out."""
    from rag_core import replies, service
    from rag_core.answering import citation_styles
    from rag_core.cli import show
    from rag_core.workbench import runs

    preset, _ = presets.choose(preset=chosen.preset, house=settings.load().house)
    query = preset.query(_said(chosen.text), await _only(chosen.document, Scope(chosen.workflow), kit))
    answer = await service.ask(query, kit, run, pipeline=preset.pipeline)
    told = await runs.keep_answer(query, answer, preset, "ask", kit, run)
    if chosen.json:
        replied = replies.answered(answer, query, preset, run, chosen.style) | told
        print(json.dumps(replied, ensure_ascii=False, indent=2))
        return 0
    show.answer(answer, chosen.style or citation_styles.usual(preset.pipeline))
    show.diary(run)
    show.kept(told)
    return 0


@with_kit
async def replay(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the ranking of a kept question beside that of another preset; without a question, those that are kept."""
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
    """Print the values of a field, most frequent first, and how many there are."""
    from rag_core.cli import show

    fields = await kit.index.store.facet_fields(Scope(chosen.workflow))
    if chosen.field not in fields:
        raise InvalidRequest("field", f"must be one of {', '.join(fields) or '(none: nothing is indexed here)'}")
    (facet,) = await kit.index.store.facets((chosen.field,), Scope(chosen.workflow), limit=chosen.limit)
    show.facet(facet)
    return 0


@with_kit
async def graph(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print what an entity stands together with, or the shortest ways from it to another."""
    from rag_core.cli import show
    from rag_core.retrieval.graph import explore

    drawn = await explore(
        "path" if chosen.to else "neighbors",
        Scope(chosen.workflow),
        kit.index,
        entity=chosen.entity,
        target=chosen.to,
        limit=chosen.limit,
    )
    show.paths(drawn, f"{chosen.entity} to {chosen.to}") if chosen.to else show.neighbours(chosen.entity, drawn)
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
    """Take a document out of everything, to be restored or for good."""
    from rag_core.ingestion import lifecycle

    store, scope = kit.index.store, Scope(chosen.workflow)
    known = [*await store.documents(scope), *(await store.deleted(scope) if chosen.purge else ())]
    document_id = _named(chosen.document, known)
    await lifecycle.delete(document_id, scope, kit, run, purge=chosen.purge)
    print(f"{document_id}: {'purged' if chosen.purge else 'deleted; rag restore brings it back'}")
    return 0


@with_kit
async def restore(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Bring a deleted document back as it was."""
    from rag_core.ingestion import lifecycle

    scope = Scope(chosen.workflow)
    document_id = _named(chosen.document, await kit.index.store.deleted(scope))
    await lifecycle.restore(document_id, scope, kit.index, run)
    print(f"{document_id}: restored")
    return 0


@with_kit
async def audit_isolation(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print what each read path gave away to others. 1 when that is anything."""
    from rag_core.cli import show
    from rag_core.evaluation.audit import isolation

    found = await isolation(kit)
    show.table(("path", "tries", "leaks"), [(path.name, path.tries, len(path.leaks)) for path in found])
    leaks = [leak for path in found for leak in path.leaks]
    print("\n".join(leaks) or "No canary was seen from outside of its scope.")
    return 1 if leaks else 0


@with_kit
async def log(chosen: Namespace, kit: Kit, run: Run) -> int:
    """Print the newest entries of the log of queries, the newest last."""
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
    """The parts, which keep to the budget; with --plan those of a rehearsal."""
    from rag_core.composition import assembly
    from rag_core.ingestion.plan import Rehearsal, metered

    tariff = assembly.tariff(read)
    if not chosen.plan:
        return metered(kit, tariff, chosen.budget_usd), None
    rehearsal = Rehearsal(kit, tariff, chosen.budget_usd)
    return rehearsal.kit, rehearsal


def _ended(stopped: str, refused: int) -> int:
    """How an indexing command ends: when the budget stopped it, it says so."""
    if stopped:
        print(f"Stopped: {stopped}. The same command again goes on from here.")
        return BUDGET_SPENT
    return 1 if refused else 0


def _said(text: str) -> str:
    if not text.strip():
        raise InvalidRequest("the text", "must not be empty")
    return text


async def _only(names: Sequence[str], scope: Scope, kit: Kit) -> Scope:
    """The scope, kept to the documents of these names when there are any."""
    if not names:
        return scope
    documents = await kit.index.store.documents(scope)
    return replace(scope, document_ids=tuple(_named(name, documents) for name in names))


def _named(name: str, documents: Sequence[Document]) -> str:
    """The id of the one document with this id, source, path or title."""
    path = str(Path(name).resolve())
    ids = [d.id for d in documents if name in (d.id, d.source, d.title, Path(d.source).name) or path == d.source]
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise InvalidRequest("DOC", f"is the name of {len(ids)} documents: give one of the ids {', '.join(ids)}")
    titles = ", ".join(d.title for d in documents[:10]) or "none: nothing is indexed here"
    raise NotFound(f"no document of that id, path or title; there are {titles}{' …' if documents[10:] else ''}")
