"""The chunk store of one PostgreSQL database."""

from collections.abc import Mapping, Sequence

from rag_core.core.model import Chunk, Document, Facet, Filter, Ranking, Scope, Vector
from rag_core.core.ports import Probe, Replaced, StoreDescription
from rag_core.stores.access import refuse_a_foreign_owner
from rag_core.stores.postgres import reads, records, schema, search, writes
from rag_core.stores.postgres.address import Address, Credential
from rag_core.stores.postgres.connections import Connection, Connections


class PostgresStore:
    """A `ChunkStore` in the database at `url`, with TLS as its `sslmode` says; `setup` creates the tables.

    `dimensions` are the embedder's, 0 without one; only `setup` uses them. A token of `credential` replaces the
    password; without one, an Azure server whose URL has no password gets a token of this machine's identity. Raises
    Misconfigured for an unusable `url`.
    """

    def __init__(self, url: str, *, dimensions: int = 0, credential: Credential | None = None) -> None:
        self._connections = Connections(Address(url, credential))
        self._dimensions = dimensions

    async def setup(self) -> str:
        """Create missing extension, tables and indexes, and return a one-line report. It may be repeated."""
        version = await self._connections.write(records.key("", ""), lambda db: schema.setup(db, self._dimensions))
        description = await self.describe()
        counts = f"{description.documents} documents, {description.chunks} chunks"
        return f"{description.location} is ready (pgvector {version}): {counts}"

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> Sequence[Ranking]:
        return await self._connections.read(lambda db: search.rankings(db, scope, probes, filters, limit, rrf_k))

    async def select(self, scope: Scope, *, filters: Sequence[Filter] = (), limit: int) -> Sequence[Chunk]:
        return await self._connections.read(lambda db: reads.select(db, scope, filters, limit))

    async def get(self, ids: Sequence[str], scope: Scope) -> Sequence[Chunk]:
        return await self._connections.read(lambda db: reads.get(db, scope, ids))

    async def neighbours(self, chunk: Chunk, scope: Scope, *, before: int, after: int) -> Sequence[Chunk]:
        return await self._connections.read(lambda db: reads.neighbours(db, scope, chunk, before, after))

    async def facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        return await self._connections.read(lambda db: reads.facets(db, scope, fields, filters, limit))

    async def facet_fields(self, scope: Scope) -> Sequence[str]:
        return await self._connections.read(lambda db: reads.facet_fields(db, scope))

    async def document(self, document_id: str, scope: Scope) -> Document | None:
        return await self._connections.read(lambda db: reads.document(db, scope, document_id))

    async def documents(self, scope: Scope) -> Sequence[Document]:
        return await self._connections.read(lambda db: reads.documents(db, scope))

    async def vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        return await self._connections.read(lambda db: reads.vectors(db, scope, document_id))

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> Replaced:
        refuse_a_foreign_owner(document, chunks, scope)
        return await self._connections.write(
            records.key(scope.workflow_id, document.id),
            lambda db: writes.replace(db, scope, document, chunks, vectors, space),
        )

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        key = records.key(scope.workflow_id, document_id)
        await self._connections.write(key, lambda db: writes.save_summary(db, scope, document_id, summary))

    async def delete(self, document_id: str, scope: Scope) -> bool:
        key = records.key(scope.workflow_id, document_id)
        return await self._connections.write(key, lambda db: writes.delete(db, scope, document_id))

    async def restore(self, document_id: str, scope: Scope) -> bool:
        key = records.key(scope.workflow_id, document_id)
        return await self._connections.write(key, lambda db: writes.restore(db, scope, document_id))

    async def purge(self, document_id: str, scope: Scope) -> bool:
        key = records.key(scope.workflow_id, document_id)
        return await self._connections.write(key, lambda db: writes.purge(db, scope, document_id))

    async def deleted(self, scope: Scope) -> Sequence[Document]:
        return await self._connections.read(lambda db: reads.deleted(db, scope))

    async def space(self) -> str:
        return (await self._connections.read(schema.space)).name

    async def version(self, scope: Scope) -> str:
        return await self._connections.read(lambda db: reads.version(db, scope))

    async def describe(self) -> StoreDescription:
        return await self._connections.read(_description)

    async def close(self) -> None:
        await self._connections.close()


async def _description(db: Connection) -> StoreDescription:
    sql = """
        select count(*), (select count(*) from document_chunks c join rag_documents d on d.id = c.document_id
            where d.deleted_at is null), current_setting('server_version'),
            (select extversion from pg_extension where extname = 'vector')
        from rag_documents where deleted_at is null"""
    ((documents, chunks, server, pgvector),) = await (await db.execute(sql)).fetchall()
    stored_space = await schema.space(db)
    location = f"{db.info.host}:{db.info.port}/{db.info.dbname}"
    details = {"postgresql": server, "pgvector": pgvector}
    return StoreDescription(
        "postgresql", location, stored_space.name, stored_space.dimensions, documents, chunks, details
    )
