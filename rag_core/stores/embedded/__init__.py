"""The embedded store: one folder with an SQLite database, from which the search indexes are derived."""

from rag_core.stores.embedded.store import EmbeddedStore

InMemoryVectorStore = EmbeddedStore  # without a path it writes nothing to disk

__all__ = ["EmbeddedStore", "InMemoryVectorStore"]
