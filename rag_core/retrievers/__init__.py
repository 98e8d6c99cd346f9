"""Retrievers of other libraries over `rag_core.client`; each module is imported by who has its library installed."""
