"""The pipelines by name; each is an async function of a query, the kit and the run."""

from collections.abc import Awaitable, Callable, Mapping

from rag_core.core.kit import Kit
from rag_core.core.model import Query, Result
from rag_core.core.run import Run
from rag_core.guard.classical import classical
from rag_core.retrieval.advanced import advanced
from rag_core.retrieval.facets import facets
from rag_core.retrieval.rerank import rerank
from rag_core.retrieval.standard import standard

Pipeline = Callable[[Query, Kit, Run], Awaitable[Result]]

PIPELINES: Mapping[str, Pipeline] = {
    "standard": standard,
    "rerank": rerank,
    "advanced": advanced,
    "facets": facets,
    "classical": classical,
}
