"""The chunk store of one PostgreSQL database."""

from collections.abc import Mapping, Sequence

from rag_core.core.model import Chunk, Document, Facet, Filter, Ranking, Scope, Vector
from rag_core.core.ports import Probe, ReplacementResult, StoreDescription
from rag_core.stores.access import require_writable_document
from rag_core.stores.postgres import reads, records, row_security, schema, search, writes
from rag_core.stores.postgres.address import PostgresAddress, TokenCredential
from rag_core.stores.postgres.connections import PostgresConnection, PostgresConnections

ROW_SECURITY_BYPASSED = (
    "bypassed by this account, a superuser or the owner of the tables: give the service one that reads and writes rows "
    "only (docs/reference/stores.md)"
)


class PostgresStore:
    """A `ChunkStore` in the database at `url`, with TLS as its `sslmode` says; `setup` creates the tables.

    `dimensions` are the embedder's, 0 without one; only `setup` uses them. A token of `credential` replaces the
    password; without one, an Azure server whose URL has no password gets a token of this machine's identity. Raises
    Misconfigured for an unusable `url`.
    """

    def __init__(self, url: str, *, dimensions: int = 0, credential: TokenCredential | None = None) -> None:
        self._connections = PostgresConnections(PostgresAddress(url, credential))
        self._dimensions = dimensions

    async def setup(self) -> str:
        """Create missing extension, tables and indexes, and return a one-line report. It may be repeated."""
        version = await self._connections.write(
            records.make_postgres_row_id("", ""), lambda db: schema.set_up_postgres_schema(db, self._dimensions)
        )
        description = await self.describe()
        counts = f"{description.documents} documents, {description.chunks} chunks"
        return f"{description.location} is ready (pgvector {version}): {counts}"

    async def search(
        self, probes: Sequence[Probe], scope: Scope, *, limit: int, filters: Sequence[Filter] = (), rrf_k: int = 60
    ) -> Sequence[Ranking]:
        return await self._connections.read(
            lambda db: search.search_postgres(db, scope, probes, filters, limit, rrf_k), scope
        )

    async def select(self, scope: Scope, *, filters: Sequence[Filter] = (), limit: int) -> Sequence[Chunk]:
        return await self._connections.read(lambda db: reads.select_postgres_chunks(db, scope, filters, limit), scope)

    async def get(self, ids: Sequence[str], scope: Scope) -> Sequence[Chunk]:
        return await self._connections.read(lambda db: reads.get_postgres_chunks(db, scope, ids), scope)

    async def load_neighbours(self, chunk: Chunk, scope: Scope, *, before: int, after: int) -> Sequence[Chunk]:
        return await self._connections.read(
            lambda db: reads.load_postgres_neighbours(db, scope, chunk, before, after), scope
        )

    async def count_facets(
        self, fields: Sequence[str], scope: Scope, *, filters: Sequence[Filter] = (), limit: int
    ) -> Sequence[Facet]:
        return await self._connections.read(
            lambda db: reads.count_postgres_facets(db, scope, fields, filters, limit), scope
        )

    async def list_facet_fields(self, scope: Scope) -> Sequence[str]:
        return await self._connections.read(lambda db: reads.list_postgres_facet_fields(db, scope), scope)

    async def load_document(self, document_id: str, scope: Scope) -> Document | None:
        return await self._connections.read(lambda db: reads.load_postgres_document(db, scope, document_id), scope)

    async def list_documents(self, scope: Scope, *, source_prefix: str = "") -> Sequence[Document]:
        return await self._connections.read(lambda db: reads.list_postgres_documents(db, scope, source_prefix), scope)

    async def load_vectors(self, document_id: str, scope: Scope) -> Mapping[str, Vector]:
        return await self._connections.read(lambda db: reads.load_postgres_vectors(db, scope, document_id), scope)

    async def is_embedded(self, document: Document, chunks: Sequence[Chunk], scope: Scope) -> bool:
        return False  # every vector can be read back

    async def replace_document(
        self, document: Document, chunks: Sequence[Chunk], vectors: Sequence[Vector | None], scope: Scope, *, space: str
    ) -> ReplacementResult:
        require_writable_document(document, chunks, scope)
        return await self._connections.write(
            records.make_postgres_row_id(scope.workflow_id, document.id),
            lambda db: writes.replace_postgres_document(db, scope, document, chunks, vectors, space),
            scope,
        )

    async def save_summary(self, document_id: str, summary: str, scope: Scope) -> None:
        key = records.make_postgres_row_id(scope.workflow_id, document_id)
        await self._connections.write(
            key, lambda db: writes.save_postgres_summary(db, scope, document_id, summary), scope
        )

    async def delete(self, document_id: str, scope: Scope) -> bool:
        key = records.make_postgres_row_id(scope.workflow_id, document_id)
        return await self._connections.write(
            key, lambda db: writes.delete_postgres_document(db, scope, document_id), scope
        )

    async def restore(self, document_id: str, scope: Scope) -> bool:
        key = records.make_postgres_row_id(scope.workflow_id, document_id)
        return await self._connections.write(
            key, lambda db: writes.restore_postgres_document(db, scope, document_id), scope
        )

    async def purge(self, document_id: str, scope: Scope) -> bool:
        key = records.make_postgres_row_id(scope.workflow_id, document_id)
        return await self._connections.write(
            key, lambda db: writes.purge_postgres_document(db, scope, document_id), scope
        )

    async def list_deleted(self, scope: Scope) -> Sequence[Document]:
        return await self._connections.read(lambda db: reads.list_deleted_postgres_documents(db, scope), scope)

    async def load_embedding_space(self) -> str:
        return (await self._connections.read(schema.load_postgres_embedding_space)).name

    async def load_corpus_version(self, scope: Scope) -> str:
        return await self._connections.read(lambda db: reads.load_postgres_corpus_version(db, scope), scope)

    async def describe(self) -> StoreDescription:
        return await self._connections.read(_describe_postgres_store)

    async def close(self) -> None:
        await self._connections.close()


async def _describe_postgres_store(db: PostgresConnection) -> StoreDescription:
    sql = f"""
        select documents, chunks, current_setting('server_version'),
            (select extversion from pg_extension where extname = 'vector'), row_security_active('document_chunks')
        from {row_security.TOTALS_VIEW}"""  # noqa: S608 - a constant
    ((documents, chunks, server, pgvector, is_locked),) = await (await db.execute(sql)).fetchall()
    stored_space = await schema.load_postgres_embedding_space(db)
    location = f"{db.info.host}:{db.info.port}/{db.info.dbname}"
    lock = "in force" if is_locked else ROW_SECURITY_BYPASSED
    details = {"postgresql": server, "pgvector": pgvector, "row security": lock}
    return StoreDescription(
        "postgresql", location, stored_space.name, stored_space.dimensions, documents, chunks, details
    )
