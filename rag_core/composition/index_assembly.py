"""Construction of the chunk store and its embedder, of the current index or of one that is being rebuilt."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core.composition.choices import (
    ProviderChoice,
    choose_chat_provider,
    find_named_embedding_provider,
    list_available_providers,
    require_preview_version,
    require_provider,
)
from rag_core.composition.model_assembly import (
    EMBEDDING_MODEL_FIELDS,
    build_embedder,
    build_provider_profile,
    get_embedding_space,
)
from rag_core.core.errors import Misconfigured, RagError, Unavailable
from rag_core.core.hosted_models import find_hosted_model
from rag_core.core.index import Index
from rag_core.core.ports import ChunkStore, Embedder, IndexRebuild
from rag_core.core.settings import Settings
from rag_core.core.sqlite_files import make_moved_error
from rag_core.stores.embedded import current_index
from rag_core.stores.embedded.current_index import IndexLocation

if TYPE_CHECKING:
    from rag_core.ingestion.plan import Tariff
    from rag_core.stores.azure_search import AzureSearchStore
    from rag_core.stores.azure_search.previews import SearchPreviews
    from rag_core.stores.azure_search.schema import QueryVectorizer, VectorCompression
    from rag_core.stores.postgres import PostgresStore

OUTBOX_FILE = "outbox.sqlite3"  # chunks that Azure AI Search has not accepted yet


async def set_up_chunk_store(settings: Settings) -> str:
    """Create or upgrade the chunk store and return in words what was done."""
    if settings.azure_search_endpoint or settings.postgres_url:
        return await set_up_remote_store(settings, build_current_embedder(settings))
    store = _build_embedded_store(settings)
    description = await store.describe()
    await store.close()
    return f"{description.location} is ready: {description.documents} documents, {description.chunks} chunks"


async def set_up_remote_store(settings: Settings, embedder: Embedder) -> str:
    """Create or upgrade the index in Azure AI Search or PostgreSQL for the vectors of an embedder."""
    if settings.azure_search_endpoint:
        search = _build_azure_search_store(settings.azure_search_endpoint, settings, embedder)
        try:
            done = f"{settings.azure_search_endpoint}, index {settings.azure_search_index}: {await search.setup()}"
            return f"{done}; {await _set_up_knowledge_base(search)}"
        finally:
            await search.close()
    database = _build_postgres_store(settings.postgres_url or "", embedder)
    try:
        return await database.setup()
    finally:
        await database.close()


async def _set_up_knowledge_base(search: "AzureSearchStore") -> str:
    """Create or update the knowledge base and return in words what was done; not every region and plan offers one."""
    try:
        await search.set_up_knowledge_base()
    except Unavailable:
        raise
    except RagError as refusal:
        return f"without a knowledge base, which the pipeline agentic needs: {refusal.message}"
    return "its knowledge base is ready"


def build_index(settings: Settings, embedder: Embedder) -> Index:
    """Build the index of the chosen store, with the knowledge base that Azure AI Search has over it."""
    if settings.azure_search_endpoint:
        search = _build_azure_search_store(settings.azure_search_endpoint, settings, embedder)
        return Index(search, embedder, search)
    return Index(build_chunk_store(settings, embedder), embedder)


def build_chunk_store(settings: Settings, embedder: Embedder) -> ChunkStore:
    """Build the chunk store: Azure AI Search, else PostgreSQL, else the embedded one."""
    if settings.azure_search_endpoint:
        return _build_azure_search_store(settings.azure_search_endpoint, settings, embedder)
    return (
        _build_postgres_store(settings.postgres_url, embedder)
        if settings.postgres_url
        else _build_embedded_store(settings)
    )


def _build_postgres_store(url: str, embedder: Embedder) -> "PostgresStore":
    try:
        from rag_core.stores.postgres import PostgresStore
    except ModuleNotFoundError as error:
        message = "POSTGRES_URL requires: pip install 'psycopg[binary]'"
        raise Misconfigured(message, field="POSTGRES_URL") from error
    return PostgresStore(url, dimensions=embedder.dimensions)


def _build_azure_search_store(endpoint: str, settings: Settings, embedder: Embedder) -> "AzureSearchStore":
    from rag_core.stores.azure_search import AzureSearchStore

    return AzureSearchStore(
        endpoint,
        settings.azure_search_key,
        settings.azure_search_index,
        outbox=settings.data_dir and settings.data_dir / OUTBOX_FILE,
        space=embedder.space,
        dimensions=embedder.dimensions,
        embedder=embedder,
        stores_vectors=settings.azure_search_vectors_stored,
        compression=_choose_compression(settings),
        vectorizer=_build_vectorizer(settings) if settings.azure_search_vectorizer else None,
        vector_weight=settings.azure_search_vector_weight,
        previews=_choose_previews(settings),
    )


def _choose_previews(settings: Settings) -> "SearchPreviews":
    """Return the preview features in use. Raises Misconfigured for one that lacks what it requires."""
    from rag_core.stores.azure_search.previews import SearchPreviews

    require_preview_version(settings)
    return SearchPreviews(
        settings.azure_search_preview or "",
        settings.azure_search_query_rewrites,
        settings.azure_search_query_language,
        settings.azure_search_max_text_recall_size,
        settings.azure_search_document_acl,
    )


def _build_vectorizer(settings: Settings) -> "QueryVectorizer":
    """Build the vectorizer from the deployment that embeds the index. Raises Misconfigured unless it is Azure's."""
    from rag_core.stores.azure_search.schema import QueryVectorizer

    provider = choose_embedding_provider(settings).name
    model = find_hosted_model(settings.embedding_deployment)
    if provider != "azure" or settings.azure_openai_endpoint is None or model is None:
        message = (
            "AZURE_SEARCH_VECTORIZER requires that Azure OpenAI embeds the index, by a deployment that has its model's "
            "name, such as text-embedding-3-small"
        )
        raise Misconfigured(message, field="AZURE_SEARCH_VECTORIZER")
    return QueryVectorizer(
        settings.azure_openai_endpoint, settings.embedding_deployment, model.name, settings.azure_openai_key
    )


def _choose_compression(settings: Settings) -> "VectorCompression | None":
    from rag_core.stores.azure_search.schema import VectorCompression

    kept = settings.azure_search_truncated_dimensions
    if settings.azure_search_compression != "none":
        return VectorCompression(settings.azure_search_compression, kept)
    if kept:
        message = "AZURE_SEARCH_TRUNCATED_DIMENSIONS requires AZURE_SEARCH_COMPRESSION to be scalar or binary"
        raise Misconfigured(message, field="AZURE_SEARCH_TRUNCATED_DIMENSIONS")
    return None


def _build_embedded_store(settings: Settings) -> ChunkStore:
    try:
        from rag_core.stores.embedded import EmbeddedStore
    except ModuleNotFoundError as error:
        raise Misconfigured(
            f"no store: AZURE_SEARCH_ENDPOINT is not set, and the embedded store lacks {error.name}: "
            "set AZURE_SEARCH_ENDPOINT, or pip install 'azure-rag[local]' for the embedded store",
            field="AZURE_SEARCH_ENDPOINT",
        ) from error
    return (
        EmbeddedStore()
        if settings.data_dir is None
        else build_embedded_store_at(load_current_place(settings), settings.data_dir)
    )


def load_current_place(settings: Settings) -> IndexLocation:
    """Return the place of the embedded store's current index; the default place for other stores."""
    elsewhere = settings.data_dir is None or settings.azure_search_endpoint or settings.postgres_url
    return IndexLocation() if elsewhere else current_index.read_index_locations(require_data_dir(settings)).current


def has_data_folder(settings: Settings, place: IndexLocation | None = None) -> bool:
    """Return whether the data folder is there, with the embedded store's index at a place, by default the current one.

    True without a data folder. Raises Unavailable while a backup is being put in its place.
    """
    if settings.data_dir is None:
        return True
    if settings.azure_search_endpoint or settings.postgres_url:
        return settings.data_dir.is_dir()
    place = place or load_current_place(settings)
    return (settings.data_dir / place.folder / current_index.INDEX_FILE).is_file()


def require_data_folder(settings: Settings) -> None:
    """Raise Unavailable unless the data folder is there: a service that had it open must not begin another."""
    if not has_data_folder(settings):
        raise make_moved_error()


def load_stored_space(settings: Settings, place: IndexLocation) -> str:
    """Return the space of the embedded store's vectors at a place, "" for another store and without vectors."""
    if settings.data_dir is None or settings.azure_search_endpoint or settings.postgres_url:
        return ""
    try:
        from rag_core.stores.embedded.stored_space import read_stored_space
    except ModuleNotFoundError:  # the error of the store, which is built next, names what is missing
        return ""
    return read_stored_space(settings.data_dir / place.folder)


def require_data_dir(settings: Settings) -> Path:
    """Return the folder of the indexes. Raises Misconfigured when they are only in memory."""
    if settings.data_dir is None:
        message = "RAG_DATA_DIR is :memory:, which ends with this process: it must be a folder"
        raise Misconfigured(message, field="RAG_DATA_DIR")
    return settings.data_dir


def build_current_embedder(settings: Settings) -> Embedder:
    """Build the embedder of the current index."""
    return build_embedder_at(load_current_place(settings), settings)


def build_embedder_at(place: IndexLocation, settings: Settings) -> Embedder:
    """Build the embedder for the index of a place."""
    provider_name = choose_embedding_provider(settings, place).name
    return build_embedder(_apply_place_to_settings(place, settings), provider_name)


def choose_embedding_provider(settings: Settings, place: IndexLocation | None = None) -> ProviderChoice:
    """Return the provider of the embedding model for the index of a place, by default the current one.

    It is the one for which `rag reindex` built the index; else the one that the settings name; else, of those that are
    set, the one whose model made the vectors of the embedded store; else that of the chat model. What the vectors in
    other stores were made by is not known without asking them, which is not done here.

    Raises:
        Misconfigured: a variable that the provider requires is not set, or the embedded store cannot be read.
    """
    place = place or load_current_place(settings)
    if place.profile:
        require_provider(place.profile, settings, wanted_by="the index is embedded by")
        return ProviderChoice(place.profile, "rag reindex built the index with it")
    if named := find_named_embedding_provider(settings):
        return named
    chat = choose_chat_provider(settings)
    candidates = list(dict.fromkeys((chat.name, *list_available_providers(settings), "local")))
    stored_space = load_stored_space(settings, place) if len(candidates) > 1 else ""
    for name in candidates if stored_space else ():
        if get_embedding_space(settings, name) == stored_space:
            return ProviderChoice(name, "the index was embedded with it")
    return ProviderChoice(chat.name, f"as the chat model: {chat.why}")


def name_embedding_model(settings: Settings) -> Settings:
    """Return the settings that embed another index as the current one is embedded."""
    place = load_current_place(settings)
    provider_name = choose_embedding_provider(settings, place).name
    return replace(_apply_place_to_settings(place, settings), embedding_provider=provider_name)


def build_embedding_tariff(settings: Settings, place: IndexLocation | None = None) -> "Tariff":
    """Return the price of embedding for the current index, or for the index of a place."""
    from rag_core.ingestion.plan import Tariff
    from rag_core.providers.prices import calculate_cost_usd

    place = place or load_current_place(settings)
    provider_name = choose_embedding_provider(settings, place).name
    if provider_name == "local":
        return Tariff("the local model", 0.0)
    model_profile, _ = build_provider_profile(_apply_place_to_settings(place, settings), provider_name)
    model = model_profile.embedding_model
    price = 0.0 if model_profile.provider == "ollama" else calculate_cost_usd(model, input_tokens=1_000_000)
    return Tariff(model, price, model_profile.document_prefix, model_profile.max_text_tokens)


def choose_rebuild_place(
    settings: Settings, *, profile_name: str, model: str | None, dimensions: int | None
) -> IndexLocation:
    """Return the place where an index with a profile's embedding model is built, or was begun.

    Raises:
        Misconfigured: the store is not the embedded one, or a setting that the profile requires is not set.
    """
    if settings.azure_search_endpoint or settings.postgres_url:
        raise Misconfigured(
            "rag reindex is for the embedded store: elsewhere give the other model an index or database of its own, "
            "fill it by rag index, then point the service at it (docs/reference/stores.md)",
            field="AZURE_SEARCH_INDEX" if settings.azure_search_endpoint else "POSTGRES_URL",
        )
    from rag_core.stores.embedded.rebuild import choose_rebuild_folder

    requested = IndexLocation("", profile_name, model or _get_embedding_model_name(profile_name, settings), dimensions)
    require_provider(profile_name, settings, wanted_by="--profile is")
    requested_settings = _apply_place_to_settings(requested, settings)
    model_name = (
        None if profile_name == "local" else build_provider_profile(requested_settings, profile_name)[0].embedding_model
    )
    place = IndexLocation("", profile_name, model_name, dimensions)
    places = current_index.read_index_locations(require_data_dir(settings))
    used = {used_place.folder for used_place in (places.current, places.previous) if used_place}
    return replace(
        place, folder=choose_rebuild_folder(build_embedder_at(place, settings).space, require_data_dir(settings), used)
    )


def open_index_rebuild(settings: Settings, place: IndexLocation, embedder: Embedder) -> IndexRebuild:
    """Open the rebuild of the current index at a place, new or begun before."""
    from rag_core.stores.embedded.rebuild import EmbeddedRebuild

    folder = require_data_dir(settings)
    return EmbeddedRebuild(
        folder / load_current_place(settings).folder, folder / place.folder, embedder.space, embedder.dimensions
    )


def build_index_at(settings: Settings, place: IndexLocation) -> Index:
    """Build the index of a place, whether it is the current one or not."""
    return Index(build_embedded_store_at(place, require_data_dir(settings)), build_embedder_at(place, settings))


def build_embedded_store_at(place: IndexLocation, data: Path) -> ChunkStore:
    from rag_core.stores.embedded import EmbeddedStore

    return EmbeddedStore(data / place.folder, is_current=partial(current_index.is_current_index, data, place))


def _get_embedding_model_name(profile_name: str, settings: Settings) -> str | None:
    """Return the embedding model that the settings name for a provider, None for its default."""
    model_name: str | None = getattr(settings, EMBEDDING_MODEL_FIELDS.get(profile_name, "embedding_model"))
    return model_name


def _apply_place_to_settings(place: IndexLocation, settings: Settings) -> Settings:
    """Return the settings with the embedding model of a place, where it has one of its own."""
    if place.profile is None:
        return settings
    model = {EMBEDDING_MODEL_FIELDS.get(place.profile, "embedding_model"): place.model}
    return replace(settings, embedding_dimensions=place.dimensions, **model)  # type: ignore[arg-type]
