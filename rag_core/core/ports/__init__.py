"""What the domain needs from outside, as protocols: stores, providers and jobs implement them, composition chooses."""

from rag_core.core.ports.answer_log import AnswerLog
from rag_core.core.ports.archive import Archive, QueryLog
from rag_core.core.ports.jobs import JobNotifier, Jobs, Lease
from rag_core.core.ports.models import (
    LLM,
    ClaimToJudge,
    Completion,
    Embedder,
    EntailmentScorer,
    Judge,
    LayoutReader,
    LocatedWords,
    PassageScores,
    Prompt,
    Redactor,
    Reranker,
    RerankingLLM,
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
    "AnswerLog",
    "Archive",
    "Cache",
    "ChunkStore",
    "ClaimToJudge",
    "Completion",
    "Embedder",
    "EntailmentScorer",
    "IndexRebuild",
    "JobNotifier",
    "Jobs",
    "Judge",
    "KnowledgeBase",
    "LayoutReader",
    "Lease",
    "LocatedWords",
    "PassageScores",
    "Probe",
    "Prompt",
    "QueryLog",
    "Redactor",
    "ReplacementResult",
    "Reranker",
    "RerankingLLM",
    "StoreDescription",
    "WebResult",
    "WebSearch",
    "WordComparer",
]
