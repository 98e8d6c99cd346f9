"""The address of every operation: all that the host must know before the first request.

A handler is named and not imported, because the host waits for this module and not for the domain.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Route:
    """A function of the app: its address, and the module of its handler, which is named `handle_` and its name.

    `{name}` in the path is a field of the request. An `anonymous` route needs no function key. A route with
    `tool_hints` (MCP's annotations) is offered as a tool of a model, by the name `tool_name` where it has one.
    """

    name: str
    methods: tuple[str, ...]
    path: str
    module: str
    anonymous: bool = False
    tool_hints: Mapping[str, bool] | None = None
    tool_name: str | None = None

    @property
    def handler(self) -> str:
        """The handler as "module:function"."""
        return f"{self.module}:handle_{self.name}"


HTTP_API_VERSION = "0.1"
RAG_QUERY = "rag_query"
READ_ONLY_HINTS = {"readOnlyHint": True, "openWorldHint": False}
SAFE_WRITE_HINTS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
GET, POST, PUT, PATCH, DELETE = ("GET",), ("POST",), ("PUT",), ("PATCH",), ("DELETE",)
GET_OR_POST = ("GET", "POST")
ROUTES = (
    Route("consult_rag", POST, "api/consult_rag", "functions.consult", tool_hints=READ_ONLY_HINTS),
    Route("link_schema", POST, "api/link_schema", "functions.schema_links", tool_hints=READ_ONLY_HINTS),
    Route("ask", POST, "api/rag/ask", "functions.answers", tool_hints=READ_ONLY_HINTS),
    Route("answer_events", GET_OR_POST, "api/rag/answer_events", "functions.answers"),
    Route(RAG_QUERY, POST, "api/rag/query", "functions.proposals"),
    Route("rag_ingest", POST, "api/rag/ingest", "functions.proposals"),
    Route("index_document", POST, "api/index_document", "functions.documents"),
    Route("index_job", GET, "api/index_jobs/{job_id}", "functions.jobs"),
    Route("cancel_index_job", DELETE, "api/index_jobs/{job_id}", "functions.jobs"),
    Route(
        "get_document_summary",
        GET_OR_POST,
        "api/get_document_summary",
        "functions.documents",
        tool_hints=SAFE_WRITE_HINTS,
    ),
    Route("delete_document", POST, "api/delete_document", "functions.documents"),
    Route("restore_document", POST, "api/restore_document", "functions.documents"),
    Route(
        "documents",
        GET_OR_POST,
        "api/documents",
        "functions.document_views",
        tool_hints=READ_ONLY_HINTS,
        tool_name="list_documents",
    ),
    Route(
        "document",
        GET_OR_POST,
        "api/document",
        "functions.document_views",
        tool_hints=READ_ONLY_HINTS,
        tool_name="read_document",
    ),
    Route("document_page", GET_OR_POST, "api/document_page", "functions.document_views"),
    Route("document_original", GET_OR_POST, "api/document_original", "functions.document_views"),
    Route("extract_citations", POST, "api/extract_citations", "functions.answers", tool_hints=READ_ONLY_HINTS),
    Route("graph_query", GET_OR_POST, "api/graph_query", "functions.graph", tool_hints=READ_ONLY_HINTS),
    Route("list_queries", GET, "rag/queries", "functions.saved_queries"),
    Route("get_query", GET, "rag/queries/{id}", "functions.saved_queries"),
    Route("edit_query", PATCH, "rag/queries/{id}", "functions.saved_queries"),
    Route("embed_query", POST, "rag/queries/{id}/embed", "functions.workbench_steps"),
    Route("retrieve_query", POST, "rag/queries/{id}/retrieve", "functions.workbench_steps"),
    Route("consolidate_query", POST, "rag/queries/{id}/consolidate", "functions.workbench_steps"),
    Route("augmented_prompt", GET, "rag/queries/{id}/augment/prompt", "functions.workbench_steps"),
    Route("run_augmented", POST, "rag/queries/{id}/augment/run", "functions.workbench_steps"),
    Route("paste_answer", POST, "rag/queries/{id}/augment/manual", "functions.workbench_steps"),
    Route("list_results", GET, "rag/queries/{id}/results", "functions.saved_results"),
    Route("get_result", GET, "rag/queries/{id}/results/{result_id}", "functions.saved_results"),
    Route("rate_answer", PUT, "rag/queries/{id}/feedback", "functions.kept_answers"),
    Route("answer_prompt", GET, "rag/queries/{id}/prompt", "functions.kept_answers"),
    Route("rated_answers", GET, "rag/ratings", "functions.kept_answers"),
    Route("cited_pages", GET, "rag/queries/{id}/evidence", "functions.kept_answers"),
    Route("replay_query", POST, "rag/queries/{id}/replay", "functions.saved_results"),
    Route("delete_query", DELETE, "rag/queries/{id}", "functions.saved_queries"),
    Route("expansion_prompt", POST, "rag/expansion/prompt", "functions.workbench_steps"),
    Route("run_expansion", POST, "rag/expansion/run", "functions.workbench_steps"),
    Route("paste_expansion", POST, "rag/expansion/manual", "functions.workbench_steps"),
    Route("usage", GET, "rag/usage", "functions.usage"),
    Route("list_presets", GET, "rag/presets", "functions.preset_and_prompt_edits"),
    Route("edit_preset", PUT, "rag/presets/{name}", "functions.preset_and_prompt_edits"),
    Route("reset_preset", DELETE, "rag/presets/{name}", "functions.preset_and_prompt_edits"),
    Route("list_prompts", GET, "rag/prompts", "functions.preset_and_prompt_edits"),
    Route("edit_prompt", PUT, "rag/prompts/{tag}", "functions.preset_and_prompt_edits"),
    Route("reset_prompt", DELETE, "rag/prompts/{tag}", "functions.preset_and_prompt_edits"),
    Route("health", GET, "api/health", "functions.health", anonymous=True),
    Route("openapi", GET, "api/openapi.json", "functions.openapi", anonymous=True),
)


def allow_anonymous(routes: Iterable[Route], name: str) -> tuple[Route, ...]:
    """Return the routes, the one of this name without a function key."""
    return tuple(replace(route, anonymous=True) if route.name == name else route for route in routes)
