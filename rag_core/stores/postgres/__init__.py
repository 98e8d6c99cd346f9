"""The store for those who keep their rows and their vectors in one database: PostgreSQL with pgvector."""

from rag_core.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
