"""The commands of `rag`; each imports its heavy modules itself, so that the others start fast."""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_core.cli.json_output import print_json
from rag_core.cli.named_documents import find_document_id
from rag_core.cli.opened_service import load_command_settings, run_with_index, run_with_rag
from rag_core.core.errors import InvalidRequest, Misconfigured, RagError
from rag_core.core.kit import Kit
from rag_core.core.model import Scope, Turn
from rag_core.core.run import Run
from rag_core.core.settings import Settings

if TYPE_CHECKING:
    from rag_core.ingestion.plan import DryRun
    from rag_core.rag import RAG

MAX_LISTED_QUERIES = 50  # saved queries shown by `rag replay`
EXIT_BUDGET_SPENT = 3  # exit code
LOOPBACK = "127.0.0.1"  # where nobody but this machine is served


def run_serve_command(arguments: Namespace) -> int:
    """Run the local emulator until it is stopped; with --azure, the emulated Azure services too."""
    from rag_core.cli.app_root import add_app_root_to_path

    add_app_root_to_path()
    from local_emulator import host

    if not arguments.azure:
        loaded = load_command_settings(arguments)
        key = None if arguments.host == LOOPBACK else _require_key(loaded, arguments.admin)
        host.serve_until_interrupted(
            loaded, interface=arguments.host, port=arguments.port, key=key, admin=arguments.admin
        )
        return 0
    if arguments.host != LOOPBACK:
        raise InvalidRequest("--host", "goes without --azure, whose services are for this machine alone")
    from local_emulator import azure

    with azure.serve_azure_services(load_command_settings(arguments)) as emulated:
        print(azure.describe_addresses(emulated), flush=True)
        host.serve_until_interrupted(emulated, port=arguments.port, admin=arguments.admin)
    return 0


def _require_key(settings: Settings, admin: bool) -> str:
    """Return the key that callers of other machines must send. Raises InvalidRequest where there is none."""
    if admin:
        raise InvalidRequest("--host", "goes without --admin: every caller would be an administrator")
    if not settings.functions_key:
        message = (
            f"other than {LOOPBACK} lets other machines in: set RAG_FUNCTIONS_KEY, which callers then have to send"
        )
        raise InvalidRequest("--host", message)
    return settings.functions_key


def run_setup_command(arguments: Namespace) -> int:
    """Create or upgrade the configured index or data folder; with --user, that of the user."""
    from rag_core.cli.data_location import get_user_data_dir
    from rag_core.composition import assembly

    loaded = load_command_settings(arguments)
    if arguments.user:
        if arguments.data:
            raise InvalidRequest("--user", "goes without --data")
        loaded = replace(loaded, data_dir=get_user_data_dir())
    done = asyncio.run(assembly.set_up_stores(loaded))
    print_json({"done": done}) if arguments.json else print(done)
    return 0


def run_completion_command(arguments: Namespace, parser: ArgumentParser) -> int:
    """Print the script that completes the commands and options of a parser in a shell."""
    from shtab import complete

    print(complete(parser, shell=arguments.shell))
    return 0


@run_with_rag
async def run_index_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Index files, with a progress bar on a terminal, else a line per file. Return 1 when a file was refused.

    With --database the schema of a database is indexed instead.
    """
    if arguments.database:
        from rag_core.cli import schema_commands

        return await schema_commands.index_database(arguments, rag)
    if not arguments.paths:
        raise InvalidRequest("PATH", "must be given, or --database")
    from rag_core.cli import enrichment_consent, indexing_output, input_files, terminal_layout, terminal_output
    from rag_core.cli.indexing_progress import IndexingProgress
    from rag_core.ingestion.plan import BudgetSpent
    from rag_core.rag import INDEXING_TIMEOUT_S
    from rag_core.replies import format_run

    indexing_run, stopped = Run(INDEXING_TIMEOUT_S), ""
    budgeted, rehearsal = _apply_budget(arguments, rag)
    files_by_path, scope = input_files.find_input_files(arguments.paths), Scope(arguments.workflow)
    progress = IndexingProgress(list(files_by_path), sys.stderr if arguments.json else sys.stdout)
    budgeted = progress.watch_embedding(budgeted)
    enrichment_usd = 0.0 if rehearsal else await enrichment_consent.ask_for_enrichment(arguments, rag, files_by_path)
    is_quiet = arguments.json or (not progress.bar.disable and rehearsal is None)
    try:
        with progress.bar:
            for path, is_named in files_by_path.items():
                spent_usd = indexing_run.cost_usd  # None: a price is not known, so no ceiling could be kept
                left_usd = 0.0 if spent_usd is None else enrichment_usd - spent_usd
                outcome = await input_files.index_file(
                    path, is_named, budgeted, scope, indexing_run, enrichment_usd=max(0.0, left_usd)
                )
                progress.finish_file(outcome)
                if not arguments.json:
                    indexing_output.print_file_outcome(outcome, progress.bar, is_quiet=is_quiet)
                    indexing_output.print_file_warnings(path, indexing_run, progress.bar)
    except BudgetSpent as error:
        stopped = f"{error.message}; {terminal_layout.format_count(progress.files_left, 'file')} left"
    except asyncio.CancelledError:  # Ctrl-C
        print(indexing_output.format_interruption(progress), file=sys.stderr)
        raise
    if arguments.json:
        plan = rehearsal.build_plan() if rehearsal else None
        print_json({"files": progress.outcomes, "plan": plan, "stopped": stopped, **format_run(indexing_run)})
        return _give_exit_code(stopped, progress.counts["refused"])
    if rehearsal:
        indexing_output.print_indexing_plan(rehearsal.build_plan())
    else:
        print(", ".join(f"{count} {verdict}" for verdict, count in progress.counts.items()))
    terminal_output.print_run(indexing_run)
    return _report_end(stopped, progress.counts["refused"])


@run_with_rag
async def run_ingest_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Index proposals, with a progress bar on a terminal. Return 1 when a record or chunk was not indexed."""
    from rag_core.cli import indexing_output, terminal_layout, terminal_output
    from rag_core.proposals import sources
    from rag_core.proposals.ingest import ingest_proposals
    from rag_core.rag import INDEXING_TIMEOUT_S, RAG
    from rag_core.replies import format_run

    loaded = rag.settings
    source = arguments.source or loaded.proposals_source
    if source is None:
        raise Misconfigured("name a SOURCE, or set RAG_PROPOSALS_SOURCE", field="RAG_PROPOSALS_SOURCE")
    records, indexing_run = list(sources.read_proposal_records(source)), Run(INDEXING_TIMEOUT_S)
    scope, bodies = Scope(arguments.workflow or loaded.collection), not arguments.no_bodies
    unpaid = RAG(replace(rag.kit, enrichment=None), rag.settings)
    budgeted, rehearsal = _apply_budget(arguments, unpaid)
    with terminal_layout.create_progress_bar(sys.stderr if arguments.json else sys.stdout) as bar:
        tracked = bar.track(records, description="ingesting")
        ingested_proposals = await ingest_proposals(
            tracked, scope, budgeted.kit, indexing_run, include_bodies=bodies, clear=arguments.clear
        )
    plan, refused = rehearsal.build_plan() if rehearsal else None, len(ingested_proposals.failed)
    if arguments.json:
        print_json({"ingested": ingested_proposals, "plan": plan, **format_run(indexing_run)})
        return _give_exit_code(ingested_proposals.stopped, refused)
    indexing_output.print_ingestion(ingested_proposals, plan)
    terminal_output.print_run(indexing_run)
    return _report_end(ingested_proposals.stopped, refused)


@run_with_index
async def run_query_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the passages relevant to a question, and how they were found."""
    from rag_core.cli import terminal_output
    from rag_core.retrieval.captions import add_lexical_captions

    query_text = _require_text(arguments.text)
    reply = await rag.search(
        query_text,
        scope=arguments.workflow,
        run=run,
        preset=arguments.preset,
        top_k=arguments.top_k,
    )
    if arguments.json:
        print(json.dumps(reply.to_json(), ensure_ascii=False, indent=2))
        return 0
    # a terminal has room for a sentence of each hit, also where the preset asks for no captions
    result = replace(reply.result, hits=add_lexical_captions(query_text, reply.result.hits))
    terminal_output.print_search_result(result, reply.preset.pipeline, run)
    terminal_output.print_run(run)
    terminal_output.print_saved_query_hint(reply.saved)
    return 0


@run_with_index
async def run_ask_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the answer to a question, each sentence once it is checked, then its sources and their verdicts."""
    from rag_core.cli import opened_citation, terminal_output
    from rag_core.cli.answer_stream import AnswerStream

    scope = await _limit_scope_to_documents(arguments.document, Scope(arguments.workflow), rag.kit)
    with AnswerStream(arguments.style, arguments.preset) as shown:
        run.listener = None if arguments.json else shown.show_event
        reply = await rag.answer(_require_text(arguments.text), scope=scope, run=run, preset=arguments.preset)
        run.listener = None
    opened_citation.save_last_citations(reply.answer, rag.settings.data_dir)
    if arguments.json:
        print(json.dumps(reply.to_json(arguments.style), ensure_ascii=False, indent=2))
        return 0
    shown.finish(reply.answer)
    terminal_output.print_answer_support(reply.answer)
    terminal_output.print_run(run)
    terminal_output.print_saved_query_hint(reply.saved)
    return 0


@run_with_index
async def run_chat_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Answer the lines of standard input one after the other, each read after the turns before; the end of input ends.

    A question that cannot be answered is said, and the conversation goes on without it. With --json each answer is a
    line.
    """
    from rag_core.cli import opened_citation, terminal_output
    from rag_core.cli.answer_stream import AnswerStream

    history: list[Turn] = []
    while question := await asyncio.to_thread(_read_question):
        run = rag.start_run()
        try:
            with AnswerStream(None, arguments.preset) as shown:
                run.listener = None if arguments.json else shown.show_event
                reply = await rag.answer(
                    question, scope=arguments.workflow, history=history, run=run, preset=arguments.preset
                )
        except RagError as error:
            print(f"rag: {error.message}", file=sys.stderr)
            continue
        opened_citation.save_last_citations(reply.answer, rag.settings.data_dir)
        if arguments.json:
            print(json.dumps(reply.to_json(), ensure_ascii=False), flush=True)
        else:
            shown.finish(reply.answer)
            terminal_output.print_answer_support(reply.answer)
            if reply.query.text != question:
                print(f"\nAsked as: {reply.query.text}")
            terminal_output.print_run(run)
        history += [Turn("user", question), Turn("assistant", reply.answer.text)]
    return 0


def _read_question() -> str:
    """Return the next line that is not blank, "" at the end of input; a terminal shows a prompt."""
    if sys.stdin.isatty():
        print("\n> ", end="", flush=True)
    return next((line.strip() for line in iter(sys.stdin.readline, "") if line.strip()), "")


@run_with_index
async def run_replay_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the ranking of a saved query beside that of another preset; without an id, list the saved queries."""
    from rag_core.cli import terminal_output

    scope = Scope(arguments.workflow)
    if arguments.id is None:
        saved = await rag.kit.archive.list_queries(scope, limit=MAX_LISTED_QUERIES)
        print_json(saved) if arguments.json else terminal_output.print_saved_queries(saved)
        return 0
    replay = await rag.replay(arguments.id, arguments.preset, scope=scope, run=run)
    if arguments.json:
        print_json(replay)
        return 0
    terminal_output.print_replay(replay)
    terminal_output.print_run(run)
    return 0


@run_with_index
async def run_facets_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the values of a field, most frequent first, and their number."""
    from rag_core.cli import terminal_output

    fields = await rag.kit.index.store.list_facet_fields(Scope(arguments.workflow))
    if arguments.field not in fields:
        raise InvalidRequest("field", f"must be one of {', '.join(fields) or '(none: nothing is indexed here)'}")
    (facet,) = await rag.facets((arguments.field,), scope=arguments.workflow, limit=arguments.limit, run=run)
    print_json(facet) if arguments.json else terminal_output.print_facet(facet)
    return 0


@run_with_index
async def run_graph_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the entities that occur together with an entity, or the shortest paths to another."""
    from rag_core.cli import terminal_output

    entity_graph = await rag.graph(
        "path" if arguments.to else "neighbors",
        scope=arguments.workflow,
        entity=arguments.entity,
        target=arguments.to,
        limit=arguments.limit,
        run=run,
    )
    if arguments.json:
        print_json(entity_graph)
    elif arguments.to:
        terminal_output.print_graph_paths(entity_graph, f"{arguments.entity} to {arguments.to}")
    else:
        terminal_output.print_graph_neighbours(arguments.entity, entity_graph)
    return 0


@run_with_index
async def run_summary_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print a document's summary."""
    from rag_core.cli import terminal_output

    scope = Scope(arguments.workflow)
    document_id = find_document_id(arguments.document, await rag.kit.index.store.list_documents(scope))
    summary = await rag.summarize(document_id, scope=scope, run=run)
    if arguments.json:
        print_json(summary)
        return 0
    terminal_output.print_document_summary(summary)
    terminal_output.print_run(run)
    return 0


@run_with_index
async def run_documents_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the documents, or those that can be restored."""
    from rag_core.cli import terminal_output

    store, scope = rag.kit.index.store, Scope(arguments.workflow)
    documents = await store.list_deleted(scope) if arguments.deleted else await store.list_documents(scope)
    print_json(documents) if arguments.json else terminal_output.print_documents(documents)
    return 0


@run_with_index
async def run_delete_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Delete a document, or with --purge remove it permanently."""
    store, scope = rag.kit.index.store, Scope(arguments.workflow)
    candidates = [*await store.list_documents(scope), *(await store.list_deleted(scope) if arguments.purge else ())]
    document_id = find_document_id(arguments.document, candidates)
    await rag.delete(document_id, scope=scope, purge=arguments.purge, run=run)
    done = "purged" if arguments.purge else "deleted"
    if arguments.json:
        print_json({"document_id": document_id, "done": done})
    else:
        print(f"{document_id}: {done}{'' if arguments.purge else '; rag restore restores it'}")
    return 0


@run_with_index
async def run_restore_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Restore a deleted document."""
    scope = Scope(arguments.workflow)
    document_id = find_document_id(arguments.document, await rag.kit.index.store.list_deleted(scope))
    await rag.restore(document_id, scope=scope, run=run)
    print_json({"document_id": document_id, "done": "restored"}) if arguments.json else print(
        f"{document_id}: restored"
    )
    return 0


@run_with_rag
async def run_audit_isolation_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the number of leaks of each audited path, and the leaks. Return 1 when there is a leak."""
    from rag_core.cli import terminal_layout
    from rag_core.evaluation.isolation_audit import run_isolation_audit

    audited_paths = await run_isolation_audit(rag.kit)
    if arguments.json:
        print_json(audited_paths)
        return 1 if any(path.leaks for path in audited_paths) else 0
    terminal_layout.print_table(
        ("path", "attempts", "leaks"), [(path.name, path.attempts, len(path.leaks)) for path in audited_paths]
    )
    leaks = [leak for path in audited_paths for leak in path.leaks]
    print("\n".join(leaks) or "No scope received data of another scope.")
    return 1 if leaks else 0


@run_with_rag
async def run_log_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the newest entries of the query log, the newest last."""
    from rag_core.cli import terminal_output

    entries = await rag.kit.query_log.list_latest(arguments.number)
    if arguments.json:
        print(json.dumps(entries, ensure_ascii=False, indent=2))
        return 0
    terminal_output.print_query_log(entries[::-1])
    return 0


@run_with_index
async def run_cite_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the support for each sentence of a text."""
    from rag_core.answering.claim_replies import format_claims
    from rag_core.cli import terminal_output
    from rag_core.replies import format_run

    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    claims = await rag.cite(_require_text(text), scope=arguments.workflow, run=run)
    if arguments.json:
        print_json({**format_run(run), "claims": format_claims(claims, "numbers")})
        return 0
    for claim in claims:
        terminal_output.print_claim(claim)
    terminal_output.print_run(run)
    return 0


def _apply_budget(arguments: Namespace, rag: "RAG") -> "tuple[RAG, DryRun | None]":
    """Return the service limited to the budget; with --plan, a dry run of it that indexes and pays nothing."""
    from rag_core.composition import index_assembly
    from rag_core.ingestion.plan import DryRun, meter_embedding
    from rag_core.rag import RAG

    tariff = index_assembly.build_embedding_tariff(rag.settings)
    if not arguments.plan:
        return RAG(meter_embedding(rag.kit, tariff, arguments.budget_usd), rag.settings), None
    dry_run = DryRun(rag.kit, tariff, arguments.budget_usd)
    return RAG(dry_run.kit, rag.settings), dry_run


def _report_end(stopped: str, refused: int) -> int:
    """Return the exit code of an indexing command; print why the budget stopped it, if it did."""
    if stopped:
        print(f"Stopped: {stopped}. Run the same command again to continue from here.")
    return _give_exit_code(stopped, refused)


def _give_exit_code(stopped: str, refused: int) -> int:
    if stopped:
        return EXIT_BUDGET_SPENT
    return 1 if refused else 0


def _require_text(text: str) -> str:
    """Return the text. Raises InvalidRequest when it is blank."""
    if not text.strip():
        raise InvalidRequest("the text", "must not be empty")
    return text


async def _limit_scope_to_documents(names: Sequence[str], scope: Scope, kit: Kit) -> Scope:
    """Limit the scope to the named documents; without names, return it unchanged."""
    if not names:
        return scope
    documents = await kit.index.store.list_documents(scope)
    return replace(scope, document_ids=tuple(find_document_id(name, documents) for name in names))
