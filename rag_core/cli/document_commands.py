"""The commands about single documents: their summary, their list, deletion and restoring."""

from argparse import Namespace
from typing import TYPE_CHECKING

from rag_core.cli.json_output import print_json
from rag_core.cli.named_documents import find_document_id, is_named, sort_newest_first
from rag_core.cli.opened_service import run_with_index
from rag_core.core.errors import NotFound
from rag_core.core.model import Scope
from rag_core.core.run import Run

if TYPE_CHECKING:
    from rag_core.rag import RAG


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
    if arguments.json:
        print_json(documents)
    elif arguments.deleted:
        terminal_output.print_deleted_documents(documents, arguments.workflow)
    else:
        terminal_output.print_documents(documents, arguments.workflow)
    return 0


@run_with_index
async def run_delete_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Delete a document, or with --purge remove it permanently."""
    store, scope = rag.kit.index.store, Scope(arguments.workflow)
    named = await store.load_document(arguments.document, scope)  # by its id no other document is read
    live, deleted = ([named], []) if named else (await store.list_documents(scope), await store.list_deleted(scope))
    if not arguments.purge and is_named(arguments.document, deleted) and not is_named(arguments.document, live):
        raise NotFound(f"{arguments.document} is deleted already: rag restore restores it")
    document_id = find_document_id(arguments.document, [*live, *deleted] if arguments.purge else live)
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
    deleted = sort_newest_first(await rag.kit.index.store.list_deleted(scope))
    document_id = find_document_id(arguments.document, deleted, kind="deleted document")
    await rag.restore(document_id, scope=scope, run=run)
    print_json({"document_id": document_id, "done": "restored"}) if arguments.json else print(
        f"{document_id}: restored"
    )
    return 0
