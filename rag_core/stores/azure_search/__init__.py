"""The store for more than one machine can hold: one index of Azure AI Search."""

from rag_core.stores.azure_search.store import AzureSearchStore

__all__ = ["AzureSearchStore"]
