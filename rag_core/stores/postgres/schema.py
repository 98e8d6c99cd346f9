"""The PostgreSQL tables: the specified columns (S2-26, S3-02 to S3-07), further columns of chunks, and their setup."""

from collections.abc import Sequence
from uuid import NAMESPACE_OID, uuid5

from psycopg import errors

from rag_core.core.errors import Misconfigured
from rag_core.core.model import Vector
from rag_core.stores.document_rules import EmbeddingSpace, join_embedding_space
from rag_core.stores.postgres import row_security
from rag_core.stores.postgres.connections import PostgresConnection, compute_advisory_lock_id

SPACE_LOCK_ID = compute_advisory_lock_id(
    uuid5(NAMESPACE_OID, "azure-rag: the space of the vectors")
)  # shared by writers of vectors
MIN_PGVECTOR_VERSION = (0, 8)  # from 0.8 a filtered index search continues until it has enough rows (iterative scan)
MAX_INDEXED_DIMENSIONS = 2000  # dimensions that an HNSW index supports

# `storage main` keeps the columns that every search reads in the row, rather than in TOAST
POSTGRES_TABLES_SQL = """
create table if not exists rag_documents(
    id uuid primary key, collection varchar not null, external_id varchar not null, title text not null,
    source text not null, content_hash text not null, extractor text not null, pages integer, summary text not null,
    user_id text, groups text[] not null, metadata jsonb not null, readers text[] not null, space text not null,
    deleted_at timestamptz, unique(collection, external_id));
create table if not exists rag_workflows(collection varchar primary key, version uuid not null);
create table if not exists document_chunks(
    id uuid primary key default gen_random_uuid(),
    document_id uuid not null references rag_documents on delete cascade,
    collection varchar not null, external_id varchar not null, ordinal integer not null,
    content text not null, embedding vector, deleted_embedding vector, page_number integer,
    x0 numeric, y0 numeric, x1 numeric, y1 numeric, line_start integer, line_end integer,
    content_hash text not null, words tsvector not null, facts jsonb not null, metadata jsonb not null default '{}',
    record jsonb not null);
alter table document_chunks alter words set storage main, alter embedding set storage main;
create index if not exists idx_llamaindex_proposal_vectors_external_id on document_chunks(external_id);
create index if not exists idx_llamaindex_proposal_vectors_collection on document_chunks(collection);
create index if not exists document_chunks_by_document on document_chunks(document_id, ordinal);
create index if not exists document_chunks_by_words on document_chunks using gin(words);
create index if not exists document_chunks_by_facts on document_chunks using gin(facts jsonb_path_ops);
"""

# Like English, but without a stop word list, so that "the" alone can be searched for
TEXT_SEARCH_CONFIGURATION_SQL = """
create text search dictionary rag_stem (template = pg_catalog.snowball, language = english);
create text search configuration rag_words (copy = pg_catalog.english);
alter text search configuration rag_words alter mapping replace pg_catalog.english_stem with rag_stem;
"""


async def set_up_postgres_schema(db: PostgresConnection, dimensions: int) -> str:
    """Create what is missing, fit the vector column to the embedder, run ANALYZE (S2-32); return pgvector's version."""
    await db.execute("select pg_advisory_xact_lock(%s)", (SPACE_LOCK_ID,))
    version = await _create_pgvector_extension(db)
    await db.execute(POSTGRES_TABLES_SQL)
    if not await (await db.execute("select 1 from pg_ts_config where cfgname = 'rag_words'")).fetchone():
        await db.execute(TEXT_SEARCH_CONFIGURATION_SQL)
    await row_security.set_up_row_security(db)
    if dimensions and not (await load_postgres_embedding_space(db)).name:
        await _resize_embedding_column(db, dimensions)
    await db.execute("analyze rag_documents, document_chunks")
    return version


async def load_postgres_embedding_space(db: PostgresConnection) -> EmbeddingSpace:
    """Load the space of the live documents' vectors; deleted documents may have vectors of another model."""
    sql = (
        f"select space, atttypmod from {row_security.SPACE_VIEW}, pg_attribute "  # noqa: S608 - a constant
        "where attrelid = 'document_chunks'::regclass and attname = 'embedding'"
    )
    row = await (await db.execute(sql)).fetchone()
    return EmbeddingSpace(*row) if row else EmbeddingSpace("", 0)


async def join_postgres_space(db: PostgresConnection, name: str, vectors: Sequence[Vector | None]) -> None:
    """Require vectors of the stored space; the first vectors written determine it, once all other writers are done.

    Raises:
        Conflict: other space or dimensions (code "reindex_required"); nothing has been written.
    """
    has_vectors = any(vector is not None for vector in vectors)
    is_first = has_vectors and not (await load_postgres_embedding_space(db)).name
    await db.execute(f"select pg_advisory_xact_lock{'' if is_first else '_shared'}(%s)", (SPACE_LOCK_ID,))
    stored_space = await load_postgres_embedding_space(db)
    space = join_embedding_space(stored_space, name, vectors, remedy="use the first, or index into an empty store")
    if space != stored_space:
        if not is_first:
            raise errors.SerializationFailure("the last vectors were deleted just now")
        await _resize_embedding_column(db, space.dimensions)


async def _resize_embedding_column(db: PostgresConnection, dimensions: int) -> None:
    """Change the dimensions of the vector column and rebuild its index; no live document has vectors.

    Those of deleted documents are set aside in all workflows, for which the account must own the tables as it must for
    the rest.
    """
    sql = "select atttypmod from pg_attribute where attrelid = 'document_chunks'::regclass and attname = 'embedding'"
    if await (await db.execute(sql)).fetchone() == (dimensions,):
        return
    await db.execute("drop index if exists document_chunks_by_meaning")
    await db.execute(
        "update document_chunks set deleted_embedding = embedding, embedding = null where embedding is not null"
    )
    await row_security.change_vector_type(db, dimensions)
    if dimensions <= MAX_INDEXED_DIMENSIONS:
        await db.execute(
            "create index document_chunks_by_meaning on document_chunks using hnsw (embedding vector_cosine_ops)"
        )


async def _create_pgvector_extension(db: PostgresConnection) -> str:
    await db.execute("create extension if not exists vector")
    row = await (await db.execute("select extversion from pg_extension where extname = 'vector'")).fetchone()
    version = str(row[0]) if row else "0"
    if tuple(map(int, version.split(".")[:2])) < MIN_PGVECTOR_VERSION:
        raise Misconfigured(f"pgvector {version} is too old: version 0.8 or later is needed", field="POSTGRES_URL")
    return version
