"""The store on PostgreSQL with pgvector: rows and vectors in one database."""

from rag_core.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
