"""The workbench in notebooks and scripts: the documented names as synchronous functions over its steps (S0-74..85).

Each takes `workflow_id`, "default" unless said, and a `kit`; without one its parts are those that the settings choose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from rag_core.background_loop import wait_for_result
from rag_core.composition import assembly
from rag_core.core import settings
from rag_core.core.errors import NotFound
from rag_core.core.kit import Kit
from rag_core.core.model import SavedQuery, Scope, Vector
from rag_core.core.ports import LLM, Embedder, Prompt
from rag_core.prompts import EDITABLE_PROMPT_TAGS, load_packaged_template
from rag_core.prompts.completions import complete_text
from rag_core.rag import RAG
from rag_core.retrieval.expansion import QueryExpansion
from rag_core.workbench import augmentation_step, expansion_step, preset_and_prompt_edits, retrieval_steps
from rag_core.workbench.pasted_expansion import parse_pasted_expansion
from rag_core.workbench.session import WorkbenchSession

CHAT = "chat"  # the task of a prompt that is not ours


@dataclass(frozen=True, slots=True)
class ParsedExpansion:
    """What a reply says: MQE queries, HyDE text, intent and entities; what is not there is empty."""

    expanded_queries: tuple[str, ...]
    hyde_answer: str
    intent: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryExpansionResult:
    """A question that was kept, and what was made of it."""

    query_id: int
    original_query: str
    expanded_queries: tuple[str, ...]
    hyde_answer: str
    intent: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryVectorizationResult:
    """`embeddings` counts those of the question, its MQE queries and its HyDE answer."""

    query_id: int
    vector_status: str
    embeddings: int
    dimensions: int


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The chunks, best first, with every score by name."""

    query_id: int
    chunks: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    """The groups, best first, of `original_count` chunks."""

    query_id: int
    original_count: int
    consolidated_count: int
    groups: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Message:
    """What a chat model said."""

    content: str


class Chat:
    """A chat model that is asked by `invoke`; also as `chat.invoke`, as the documented code has it."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    @property
    def chat(self) -> "Chat":
        return self

    def invoke(self, prompt: str) -> Message:
        """Raises Unavailable when it does not answer, and where only local techniques are configured."""
        asked = Prompt(CHAT, "", prompt, max_tokens=1024)
        return Message(wait_for_result(complete_text(asked, self._llm, sources=[prompt])).text)


class Embeddings:
    """The index's embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_query(self, text: str) -> Vector:
        return wait_for_result(self._embedder.embed_query(text))

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return wait_for_result(self._embedder.embed_documents(texts))


def expand_query(
    original_query: str, use_full_model: bool = True, verbose: bool = False, **parts: Any
) -> QueryExpansionResult:
    """Keep a question with what a model makes of it (S0-74)."""
    query = _step(
        verbose,
        lambda bench: expansion_step.expand_and_save_query(original_query, bench, use_full_model=use_full_model),
        **parts,
    )
    own = (query.expanded_queries, query.hyde_answer, query.intent, query.entities)
    return QueryExpansionResult(query.id, query.original_query, *own)


def generate_expansion_prompt(original_query: str, **parts: Any) -> str:
    """What `expand_query` would send (S0-75)."""
    return wait_for_result(expansion_step.build_expansion_prompt(original_query, _bench(**parts))).text


def parse_expansion_response(response_text: str) -> ParsedExpansion:
    """A model's reply read, JSON or headed lists (S0-76). Raises InvalidRequest when there is nothing to read."""
    found, _ = parse_pasted_expansion(response_text, "")
    return ParsedExpansion(found.expanded_queries, found.hyde_answer, found.intent, found.entities)


def save_expansion_to_db(original_query: str, parsed_expansion: ParsedExpansion, **parts: Any) -> int:
    """Keep a question with a reply that was read; its id (S0-77)."""
    said = parsed_expansion
    made = QueryExpansion(said.expanded_queries, said.hyde_answer, said.intent, said.entities)
    return wait_for_result(
        expansion_step.save_expanded_query(original_query, made, _bench(**parts), {"saved": True})
    ).id


def vectorize_query(query_id: int, verbose: bool = False, **parts: Any) -> QueryVectorizationResult:
    """Embed a kept question (S0-78)."""
    query = _step(verbose, lambda bench: retrieval_steps.embed_saved_query(query_id, bench), **parts)
    came_out = query.steps["embed"]["came_out"]
    return QueryVectorizationResult(query.id, query.vector_status, came_out["embeddings"], came_out["dimensions"])


def retrieve(query_id: int, verbose: bool = False, **parts: Any) -> RetrievalResult:
    """Find the passages for an embedded question (S0-79)."""
    query = _step(verbose, lambda bench: retrieval_steps.retrieve_for_saved_query(query_id, bench), **parts)
    return RetrievalResult(query.id, query.retrieved_context or ())


def consolidate_context(query_id: int, verbose: bool = False, **parts: Any) -> ConsolidationResult:
    """Group what was retrieved (S0-80)."""
    query = _step(verbose, lambda bench: retrieval_steps.consolidate_saved_query(query_id, bench), **parts)
    groups = query.clean_retrieval_context or ()
    return ConsolidationResult(query.id, len(query.retrieved_context or ()), len(groups), groups)


def generate_augmented_prompt(query_id: int, top_n: int = 5, **parts: Any) -> str:
    """The question with its best contexts, as it is sent (S0-81)."""
    return wait_for_result(augmentation_step.build_augmented_prompt(query_id, top_n, _bench(**parts))).text


def create_embeddings(kit: Kit | None = None) -> Embeddings:
    """S0-82."""
    return Embeddings((kit or _kit()).index.embedder)


def create_langchain_chat(full: bool = True, kit: Kit | None = None) -> Chat:
    """The FULL or LIGHT chat model (S0-82), without that library."""
    parts = kit or _kit()
    return Chat(parts.full_llm if full else parts.llm)


def load_template(function_tag: str, kit: Kit | None = None) -> str:
    """A prompt's wording, as it was edited or as it is shipped (S0-83). Raises NotFound for an unknown tag."""
    if function_tag not in EDITABLE_PROMPT_TAGS:
        raise NotFound(
            f"there are the templates {', '.join(EDITABLE_PROMPT_TAGS)}", code="prompt_not_found", field="function_tag"
        )
    edited = wait_for_result((kit or _kit()).archive.load_edited_prompts())
    return edited.get(function_tag) or load_packaged_template(function_tag)


def get_default_config(kit: Kit | None = None) -> Mapping[str, Any]:
    """The numbers of the workbench (S0-84)."""
    return get_config_by_name("default", kit)


def get_config_by_name(preset_name: str, kit: Kit | None = None) -> Mapping[str, Any]:
    """A preset's numbers, the edited ones in place of ours (S0-85). Raises InvalidRequest for an unknown name."""
    return wait_for_result(preset_and_prompt_edits.resolve_edited_preset(preset_name, kit or _kit())).export_numbers()


def _step(verbose: bool, step: Any, **parts: Any) -> SavedQuery:
    bench = _bench(**parts)
    query: SavedQuery = wait_for_result(step(bench))
    if verbose:
        print({"timings": bench.run.timings, "techniques": bench.run.techniques, "degraded": bench.run.degraded})
    return query


def _bench(workflow_id: str = "default", kit: Kit | None = None) -> WorkbenchSession:
    rag = RAG(kit, settings.load_settings()) if kit else _open_configured_rag()
    return WorkbenchSession(rag.kit, rag.start_run(), Scope(workflow_id))


@cache
def _open_configured_rag() -> RAG:
    configured = settings.load_settings()
    return RAG(assembly.KitHolder(lambda: configured), configured)


def _kit() -> Kit:
    return _open_configured_rag().kit
