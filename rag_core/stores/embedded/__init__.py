"""The embedded store: one folder with an SQLite database, from which the search indexes are derived.

Its modules are imported when the store is first named: the packages that they need are not deployed to Azure.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_core.stores.embedded.store import EmbeddedStore

    InMemoryVectorStore = EmbeddedStore  # without a path it writes nothing to disk

__all__ = ["EmbeddedStore", "InMemoryVectorStore"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rag_core.stores.embedded.store import EmbeddedStore

    return EmbeddedStore
