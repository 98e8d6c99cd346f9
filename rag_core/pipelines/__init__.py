"""The pipelines by name: each an async function of a query, the kit and the run."""

from collections.abc import Awaitable, Callable, Mapping

from rag_core.kit import Kit
from rag_core.model import Query, Result
from rag_core.pipelines.advanced import advanced
from rag_core.pipelines.classical import classical
from rag_core.pipelines.facets import facets
from rag_core.pipelines.rerank import rerank
from rag_core.pipelines.standard import standard
from rag_core.run import Run

Pipeline = Callable[[Query, Kit, Run], Awaitable[Result]]

PIPELINES: Mapping[str, Pipeline] = {
    "standard": standard,
    "rerank": rerank,
    "advanced": advanced,
    "facets": facets,
    "classical": classical,
}
