"""The modules that a first search does without: each is imported when it is first used.

A search would else wait a tenth of its CPU for what it does not use. Type checkers read the imports, Python the table.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_core import schema_reply as schema_reply
    from rag_core.answering import summaries as summaries
    from rag_core.answering import text_citation as text_citation
    from rag_core.ingestion import chunking as chunking
    from rag_core.ingestion import indexing as indexing
    from rag_core.ingestion import lifecycle as lifecycle
    from rag_core.ingestion import plan as plan
    from rag_core.ingestion import source_view as source_view
    from rag_core.ingestion import upload as upload
    from rag_core.jobs import indexer as indexer
    from rag_core.proposals import answering as answering
    from rag_core.retrieval import document_reading as document_reading
    from rag_core.retrieval import graph as graph
    from rag_core.schema import ingest as ingest
    from rag_core.schema import link_question as link_question
    from rag_core.schema import linking as linking
    from rag_core.workbench import usage as usage

_PATHS = (
    "schema_reply",
    "answering.summaries",
    "answering.text_citation",
    "ingestion.chunking",
    "ingestion.indexing",
    "ingestion.lifecycle",
    "ingestion.plan",
    "ingestion.source_view",
    "ingestion.upload",
    "jobs.indexer",
    "proposals.answering",
    "retrieval.document_reading",
    "retrieval.graph",
    "schema.ingest",
    "schema.link_question",
    "schema.linking",
    "workbench.usage",
)
_MODULES = {path.rpartition(".")[2]: path for path in _PATHS}


def __getattr__(name: str) -> ModuleType:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return import_module(f"rag_core.{_MODULES[name]}")
