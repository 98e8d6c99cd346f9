"""Models and what stands in for them: the only room, besides stores and extractors, that knows vendors."""
