"""The tables: those of the documents (S2-26, S3-02..07) with what our chunks need besides, and how they are made."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from psycopg import errors

from rag_core.core.errors import Conflict, Misconfigured
from rag_core.core.model import Vector
from rag_core.stores.postgres.connections import Connection, lock

SPACE = lock(uuid5(NAMESPACE_OID, "azure-rag: the space of the vectors"))  # shared by all who write vectors of it
PGVECTOR = (0, 8)  # from here on a filtered search of its index goes on until it has found enough
WIDEST = 2000  # numbers of a vector that its index takes

# `storage main`: what every question reads stays in the row, whatever else is moved out of it
TABLES = """
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

# As English, but stop words are words too: "the" alone can be looked for
ANALYSIS = """
create text search dictionary rag_stem (template = pg_catalog.snowball, language = english);
create text search configuration rag_words (copy = pg_catalog.english);
alter text search configuration rag_words alter mapping replace pg_catalog.english_stem with rag_stem;
"""

# The columns that LlamaIndex's PGVectorStore reads. It knows collections but no users: it is shown what all may see.
VIEW = """
create or replace view llamaindex_proposal_vectors as
    select c.id, c.external_id, c.collection, c.content as document,
        d.metadata || c.metadata || jsonb_build_object(
            'document_id', d.external_id, 'title', d.title, 'source', d.source, 'content_hash', c.content_hash,
            'page_number', c.page_number, 'line_start', c.line_start, 'line_end', c.line_end) as metadata,
        c.embedding as embeddings
    from document_chunks c join rag_documents d on d.id = c.document_id
    where d.deleted_at is null and '*' = any(d.readers);
"""


class Space(NamedTuple):
    """The embedding space of the stored vectors; "" and 0 while there are none."""

    name: str
    dimensions: int


async def setup(db: Connection, dimensions: int) -> str:
    """Make what is lacking, the columns as wide as the embedder's vectors, and have the planner look at it (S2-32)."""
    await db.execute("select pg_advisory_xact_lock(%s)", (SPACE,))
    version = await _extension(db)
    await db.execute(TABLES)
    if not await (await db.execute("select 1 from pg_ts_config where cfgname = 'rag_words'")).fetchone():
        await db.execute(ANALYSIS)
    await db.execute(VIEW)
    if dimensions and not (await space(db)).name:
        await _widen(db, dimensions)
    await db.execute("analyze rag_documents, document_chunks")
    return version


async def space(db: Connection) -> Space:
    """That of the live documents: what is deleted may have come from another model."""
    sql = (
        "select space, atttypmod from rag_documents, pg_attribute where deleted_at is null and space <> '' "
        "and attrelid = 'document_chunks'::regclass and attname = 'embedding' limit 1"
    )
    found = await (await db.execute(sql)).fetchone()
    return Space(*found) if found else Space("", 0)


async def join_space(db: Connection, name: str, vectors: Sequence[Vector | None]) -> None:
    """Refuse vectors of another space than those that are kept; the first vectors decide it, and wait for all others.

    Raises:
        Conflict: code "reindex_required"; nothing has been written.
    """
    widths = {len(vector) for vector in vectors if vector is not None}
    first = bool(widths) and not (await space(db)).name
    await db.execute(f"select pg_advisory_xact_lock{'' if first else '_shared'}(%s)", (SPACE,))
    kept = await space(db)
    _refuse_another(kept, name, widths)
    if widths and not kept.name:
        if not first:
            raise errors.SerializationFailure("the last vectors were deleted just now")
        await db.execute(
            "update document_chunks set deleted_embedding = embedding, embedding = null where embedding is not null"
        )
        await _widen(db, widths.pop())


def _refuse_another(kept: Space, name: str, widths: set[int]) -> None:
    other_name = kept.name and name != kept.name and (name or widths)
    other_width = len(widths | {kept.dimensions} - {0}) > 1
    if other_name or other_width:
        raise Conflict(
            f"the index holds vectors of {kept.name} ({kept.dimensions} dimensions), these are of {name or 'no model'} "
            f"({', '.join(map(str, sorted(widths))) or 'none'}): use the first, or index into an empty store",
            code="reindex_required",
        )


async def _widen(db: Connection, dimensions: int) -> None:
    """Make the column, in which no live document has a vector, as wide as those to come, with an index of it."""
    sql = "select atttypmod from pg_attribute where attrelid = 'document_chunks'::regclass and attname = 'embedding'"
    if await (await db.execute(sql)).fetchone() == (dimensions,):
        return
    await db.execute("drop index if exists document_chunks_by_meaning")
    await db.execute("drop view llamaindex_proposal_vectors")  # a column that a view shows keeps its type
    await db.execute(f"alter table document_chunks alter embedding type vector({dimensions:d})")
    await db.execute("alter table document_chunks alter embedding set storage main")  # a new type forgets it
    await db.execute(VIEW)
    if dimensions <= WIDEST:
        await db.execute(
            "create index document_chunks_by_meaning on document_chunks using hnsw (embedding vector_cosine_ops)"
        )


async def _extension(db: Connection) -> str:
    await db.execute("create extension if not exists vector")
    found = await (await db.execute("select extversion from pg_extension where extname = 'vector'")).fetchone()
    version = str(found[0]) if found else "0"
    if tuple(map(int, version.split(".")[:2])) < PGVECTOR:
        raise Misconfigured(f"pgvector {version} is too old: 0.8 or later is wanted", field="POSTGRES_URL")
    return version
