"""What the domain needs from outside, as protocols: stores, providers and jobs implement them, composition chooses."""

from rag_core.core.ports.archive import Archive, QueryLog
from rag_core.core.ports.jobs import JobNotifier, Jobs, Lease
from rag_core.core.ports.models import (
    LLM,
    ClaimToJudge,
    Completion,
    Embedder,
    Judge,
    LayoutReader,
    LocatedWords,
    Prompt,
    Redactor,
    Reranker,
    WebResult,
    WebSearch,
    WordComparer,
)
from rag_core.core.ports.stores import (
    Cache,
    ChunkStore,
    IndexRebuild,
    KnowledgeBase,
    Probe,
    ReplacementResult,
    StoreDescription,
)

__all__ = [
    "LLM",
    "Archive",
    "Cache",
    "ChunkStore",
    "ClaimToJudge",
    "Completion",
    "Embedder",
    "IndexRebuild",
    "JobNotifier",
    "Jobs",
    "Judge",
    "KnowledgeBase",
    "LayoutReader",
    "Lease",
    "LocatedWords",
    "Probe",
    "Prompt",
    "QueryLog",
    "Redactor",
    "ReplacementResult",
    "Reranker",
    "StoreDescription",
    "WebResult",
    "WebSearch",
    "WordComparer",
]
