"""The two indexes of a move to another store: that of the data folder, and the one that the settings name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_core.composition import index_assembly
from rag_core.core.errors import Misconfigured
from rag_core.core.index import Index
from rag_core.core.model import Document
from rag_core.core.settings import Settings


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """The documents of the embedded index, it and the index that they are to be moved to, and its embedding provider.

    `deleted` counts the documents that can be restored, which are not moved. `setup` says in words what was set up.
    """

    documents: Sequence[Document]
    deleted: int
    old: Index
    new: Index
    embedding_provider: str
    setup: str


async def open_migration(settings: Settings) -> MigrationPlan:
    """Open the index of the data folder and, set up for its vectors, the store that the settings name beside it.

    Raises:
        Misconfigured: the settings name no other store, or the model that made the vectors is not available.
    """
    if not (settings.azure_search_endpoint or settings.postgres_url):
        raise Misconfigured(
            "rag migrate moves the index of the data folder to another store: "
            "set AZURE_SEARCH_ENDPOINT or POSTGRES_URL",
            field="AZURE_SEARCH_ENDPOINT",
        )
    from rag_core.stores.embedded.export import count_deleted_documents, list_documents_of_everyone

    local = replace(settings, azure_search_endpoint=None, postgres_url=None)
    place, data_dir = index_assembly.load_current_place(local), index_assembly.require_data_dir(settings)
    embedder = index_assembly.build_embedder_at(place, local)
    stored_space = index_assembly.load_stored_space(local, place)
    if stored_space and not embedder.dimensions:
        raise Misconfigured(
            f"the model of the index, {stored_space}, is not available: rag doctor shows what is missing"
        )
    documents = list_documents_of_everyone(data_dir / place.folder)
    deleted = count_deleted_documents(data_dir / place.folder)
    report = await index_assembly.set_up_remote_store(settings, embedder)
    return MigrationPlan(
        documents,
        deleted,
        Index(index_assembly.build_embedded_store_at(place, data_dir), embedder),
        Index(index_assembly.build_chunk_store(settings, embedder), embedder),
        index_assembly.choose_embedding_provider(local, place).name,
        report,
    )
