"""Adapters for models, caches and web search; besides stores and extractors, only this package imports vendors."""
