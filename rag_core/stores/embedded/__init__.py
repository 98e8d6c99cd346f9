"""The store that needs nothing but a folder: SQLite is the truth, a word index and a matrix are read off it."""

from rag_core.stores.embedded.store import EmbeddedStore

InMemoryVectorStore = EmbeddedStore  # with no path nothing is written to disk

__all__ = ["EmbeddedStore", "InMemoryVectorStore"]
