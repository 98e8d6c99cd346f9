"""The store on Azure AI Search, for indexes too large for one machine: one index of a service."""

from rag_core.stores.azure_search.store import AzureSearchStore

__all__ = ["AzureSearchStore"]
