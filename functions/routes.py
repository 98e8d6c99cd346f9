"""The table of HTTP operations, from which routes, OpenAPI, MCP tools and tests are derived."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rag_core.core.errors import NotFound
from rag_core.core.run import Run
from rag_core.core.settings import Settings

if TYPE_CHECKING:
    from rag_core.core.kit import Kit
    from rag_core.core.model import Scope


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller as named by the platform's credential, never by the request; `workflows` None allows all of them."""

    user_id: str | None = None
    groups: tuple[str, ...] = ()
    workflows: tuple[str, ...] | None = None
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """The context of one request: settings, kit, run record, caller and HTTP headers."""

    settings: Settings
    kit: "Kit"
    run: Run
    who: Principal = Principal()
    headers: Mapping[str, str] = field(default_factory=dict)

    def scope(self, workflow_id: str, document_ids: tuple[str, ...] = ()) -> "Scope":
        """Return the scope of the request. Raises NotFound for a workflow that the caller must not name."""
        from rag_core.core.model import Scope  # imported late: the host waits for this module to learn the routes

        if self.who.workflows is not None and workflow_id not in self.who.workflows:
            raise NotFound("there is no such workflow", code="workflow_not_found", field="workflow_id")
        return Scope(workflow_id, self.who.user_id, self.who.groups, document_ids)


@dataclass(frozen=True, slots=True)
class Operation:
    """One HTTP operation: its route, its models, and its handler as "module:function".

    The handler is an async function of request and call that returns the JSON body of the reply. It is named and not
    imported, so that the host learns the routes without waiting for the domain.

    Attributes:
        route: relative to the host; `{name}` in it is a field of the request.
        request: the name of a model of `functions.wire`; None for an operation that reads nothing.
        reply: the name of the model of its 200.
        refusals: the error statuses that it can answer with.
        uploads: the body carries a document and may be as large as one.
        partial: it answers 207 when `failed` of its reply is not empty.
        accepted: the name of the model of its 202, for work that goes on after the reply.
        anonymous: it needs no function key.
        role: the role that the caller's credential must have besides the key.
        tool: MCP's annotations; with them the operation is offered as a tool.
        bodiless: a POST, PATCH or PUT may come without a body.
        example: a request that its model accepts.
    """

    name: str
    route: str
    methods: tuple[str, ...]
    handler: str
    summary: str
    request: str | None
    reply: str
    refusals: tuple[int, ...]
    uploads: bool = False
    partial: bool = False
    accepted: str | None = None
    anonymous: bool = False
    role: str | None = None
    tool: Mapping[str, bool] | None = None
    bodiless: bool = False
    example: Mapping[str, Any] | None = None


VERSION = "0.1"  # of the HTTP surface
RAG_QUERY = "rag_query"
READING = (400, 404, 503, 504)  # the error statuses of workbench operations, by what they do
STEPPING = (400, 404, 409, 503, 504)
CHANGING = (400, 404, 409, 413, 415, 503, 504, 507)
ADMINISTERING = (400, 403, 404, 413, 415, 503, 504, 507)
READS = {"readOnlyHint": True, "openWorldHint": False}
KEEPS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
OPERATIONS = (
    Operation(
        name="consult_rag",
        route="api/consult_rag",
        methods=("POST",),
        handler="functions.consult:consult_rag",
        summary="Find the passages that answer a question.",
        request="ConsultRequest",
        reply="ConsultReply",
        refusals=(400, 404, 409, 413, 415, 503, 504),
        tool=READS,
        example={"query": "What does P0700 mean?", "pipeline": "advanced", "top_k": 5},
    ),
    Operation(
        name="ask",
        route="api/rag/ask",
        methods=("POST",),
        handler="functions.answers:ask",
        summary="Answer a question from the documents; each sentence has citations checked against their sources.",
        request="AskRequest",
        reply="AskReply",
        refusals=(400, 404, 409, 413, 415, 503, 504),
        example={"query": "What stores P0700?", "pipeline": "standard", "style": "pages"},
    ),
    Operation(
        name=RAG_QUERY,
        route="api/rag/query",
        methods=("POST",),
        handler="functions.proposals:query",
        summary="Answer a question from the proposals; each proposal and stage is cited once.",
        request="ProposalQuery",
        reply="ProposalReply",
        refusals=(400, 404, 409, 413, 415, 503, 504),
        example={"query": "Which proposals add FXS?", "filters": {"stage": ["forum"], "status": ["active"]}, "topK": 5},
    ),
    Operation(
        name="rag_ingest",
        route="api/rag/ingest",
        methods=("POST",),
        handler="functions.proposals:ingest",
        summary="Index the proposals of the configured source (administrators only).",
        request="IngestRequest",
        reply="IngestReply",
        refusals=(400, 403, 404, 409, 413, 415, 503, 504, 507),
        partial=True,
        role="admin",
        example={"clear": False},
    ),
    Operation(
        name="index_document",
        route="api/index_document",
        methods=("POST",),
        handler="functions.documents:index_document",
        summary="Index a document, replacing its earlier version.",
        request="IndexRequest",
        reply="IndexReply",
        refusals=(400, 404, 409, 413, 415, 422, 503, 504, 507),
        uploads=True,
        partial=True,
        accepted="AcceptedReply",
        example={
            "document_id": "transmission-notes",
            "title": "Transmission notes",
            "content": "P0700 is stored by the TCM. P0700 often stands beside P0715, the input speed sensor.",
            "metadata": {"model_year": 2021},
        },
    ),
    Operation(
        name="index_job",
        route="api/index_jobs/{job_id}",
        methods=("GET",),
        handler="functions.jobs:index_job",
        summary="Get the progress of an indexing job, for the caller who started it.",
        request="JobRequest",
        reply="JobReply",
        refusals=(400, 404, 503, 504),
        example={"job_id": "0a1b2c3d4e5f60718293a4b5c6d7e8f9"},
    ),
    Operation(
        name="get_document_summary",
        route="api/get_document_summary",
        methods=("GET", "POST"),
        handler="functions.documents:get_document_summary",
        summary="Get a document's summary; it is written and stored when there is none.",
        request="SummaryRequest",
        reply="SummaryReply",
        refusals=(400, 404, 413, 415, 503, 504),
        tool=KEEPS,
        example={"document_id": "transmission-notes"},
    ),
    Operation(
        name="delete_document",
        route="api/delete_document",
        methods=("POST",),
        handler="functions.documents:delete_document",
        summary="Delete a document from every search at once; until it is purged it can be restored.",
        request="DeleteRequest",
        reply="DeleteReply",
        refusals=(400, 404, 413, 415, 503, 504, 507),
        example={"document_id": "transmission-notes"},
    ),
    Operation(
        name="restore_document",
        route="api/restore_document",
        methods=("POST",),
        handler="functions.documents:restore_document",
        summary="Restore a deleted document as it was, without embedding it again.",
        request="RestoreRequest",
        reply="RestoreReply",
        refusals=(400, 404, 409, 413, 415, 503, 504, 507),
        example={"document_id": "transmission-notes"},
    ),
    Operation(
        name="documents",
        route="api/documents",
        methods=("GET", "POST"),
        handler="functions.sources:documents",
        summary="List the documents, and the deleted ones that can be restored.",
        request="DocumentsRequest",
        reply="DocumentsReply",
        refusals=(400, 404, 413, 415, 503, 504),
        example={},
    ),
    Operation(
        name="document",
        route="api/document",
        methods=("GET", "POST"),
        handler="functions.sources:document",
        summary="Show a document: its chunks with their positions, and the lines of a text file as uploaded.",
        request="DocumentRequest",
        reply="DocumentReply",
        refusals=(400, 404, 413, 415, 503, 504),
        example={"document_id": "transmission-notes"},
    ),
    Operation(
        name="document_page",
        route="api/document_page",
        methods=("GET", "POST"),
        handler="functions.sources:document_page",
        summary="Render a page of an uploaded PDF as an image, to show where a citation is.",
        request="PageRequest",
        reply="PageReply",
        refusals=(400, 404, 413, 415, 422, 503, 504),
        example={"document_id": "transmission-manual", "page": 1},
    ),
    Operation(
        name="extract_citations",
        route="api/extract_citations",
        methods=("POST",),
        handler="functions.answers:extract_citations",
        summary="Check each sentence of a text against the indexed documents, with the passages that support it.",
        request="CitationsRequest",
        reply="CitationsReply",
        refusals=(400, 404, 409, 413, 415, 503, 504),
        tool=READS,
        example={"text": "P0700 is stored by the TCM."},
    ),
    Operation(
        name="graph_query",
        route="api/graph_query",
        methods=("GET", "POST"),
        handler="functions.graph:graph_query",
        summary="Query the graph of entities that occur in the same chunks.",
        request="GraphRequest",
        reply="GraphReply",
        refusals=(400, 404, 413, 415, 503, 504),
        tool=READS,
        example={"operation": "neighbors", "entity": "P0700"},
    ),
    Operation(
        name="list_queries",
        route="rag/queries",
        methods=("GET",),
        handler="functions.workbench:queries",
        summary="List the saved queries with their status, newest first.",
        request="QueriesRequest",
        reply="QueriesReply",
        refusals=READING,
        example={"limit": 20},
    ),
    Operation(
        name="get_query",
        route="rag/queries/{id}",
        methods=("GET",),
        handler="functions.workbench:query",
        summary="Get a saved query with the output of each step.",
        request="QueryRequest",
        reply="QueryReply",
        refusals=READING,
        example={"id": 12},
    ),
    Operation(
        name="edit_query",
        route="rag/queries/{id}",
        methods=("PATCH",),
        handler="functions.workbench:edit",
        summary="Change a saved query; the outputs of steps that used the changed fields are discarded.",
        request="QueryEdit",
        reply="QueryReply",
        refusals=CHANGING,
        example={"id": 12, "intent": "MECHANISM"},
    ),
    Operation(
        name="embed_query",
        route="rag/queries/{id}/embed",
        methods=("POST",),
        handler="functions.workbench:embed",
        summary="Embed the query, its expanded queries and its hypothetical answer.",
        request="QueryRequest",
        reply="EmbedReply",
        refusals=CHANGING,
        bodiless=True,
        example={"id": 12},
    ),
    Operation(
        name="retrieve_query",
        route="rag/queries/{id}/retrieve",
        methods=("POST",),
        handler="functions.workbench:retrieve",
        summary="Retrieve the passages that match an embedded query.",
        request="QueryRequest",
        reply="RetrieveReply",
        refusals=CHANGING,
        bodiless=True,
        example={"id": 12},
    ),
    Operation(
        name="consolidate_query",
        route="rag/queries/{id}/consolidate",
        methods=("POST",),
        handler="functions.workbench:consolidate",
        summary="Group and merge the retrieved passages.",
        request="QueryRequest",
        reply="ConsolidateReply",
        refusals=CHANGING,
        bodiless=True,
        example={"id": 12},
    ),
    Operation(
        name="augmented_prompt",
        route="rag/queries/{id}/augment/prompt",
        methods=("GET",),
        handler="functions.workbench:augment_prompt",
        summary="Show the prompt with the best contexts as it would be sent to a model.",
        request="AugmentRequest",
        reply="AugmentPrompt",
        refusals=STEPPING,
        example={"id": 12, "top_n": 5},
    ),
    Operation(
        name="run_augmented",
        route="rag/queries/{id}/augment/run",
        methods=("POST",),
        handler="functions.workbench:augment_run",
        summary="Answer the prompt with a model, and save the response.",
        request="AugmentRun",
        reply="AugmentReply",
        refusals=CHANGING,
        bodiless=True,
        example={"id": 12, "top_n": 5, "use_full_model": False},
    ),
    Operation(
        name="paste_answer",
        route="rag/queries/{id}/augment/manual",
        methods=("POST",),
        handler="functions.workbench:augment_paste",
        summary="Save a response that was written elsewhere.",
        request="AugmentPaste",
        reply="AugmentPasted",
        refusals=CHANGING,
        example={"id": 12, "response_text": "P0700 is stored by the TCM.", "top_n": 5},
    ),
    Operation(
        name="list_results",
        route="rag/queries/{id}/results",
        methods=("GET",),
        handler="functions.workbench:results",
        summary="List the saved results of a query, newest first.",
        request="QueryRequest",
        reply="ResultsReply",
        refusals=READING,
        example={"id": 12},
    ),
    Operation(
        name="get_result",
        route="rag/queries/{id}/results/{result_id}",
        methods=("GET",),
        handler="functions.workbench:result",
        summary="Get a saved result with the inputs that it was made from.",
        request="ResultRequest",
        reply="ResultReply",
        refusals=READING,
        example={"id": 12, "result_id": 1},
    ),
    Operation(
        name="replay_query",
        route="rag/queries/{id}/replay",
        methods=("POST",),
        handler="functions.workbench:replay",
        summary="Run a saved query again with another preset, and compare the rankings.",
        request="ReplayRequest",
        reply="ReplayReply",
        refusals=CHANGING,
        example={"id": 12, "preset": "standard"},
    ),
    Operation(
        name="delete_query",
        route="rag/queries/{id}",
        methods=("DELETE",),
        handler="functions.workbench:remove",
        summary="Delete a saved query with its results.",
        request="QueryRequest",
        reply="QueryDeleted",
        refusals=CHANGING,
        example={"id": 11},
    ),
    Operation(
        name="expansion_prompt",
        route="rag/expansion/prompt",
        methods=("POST",),
        handler="functions.workbench:expansion_prompt",
        summary="Show the query expansion prompt for a question, without calling a model.",
        request="ExpansionRequest",
        reply="ExpansionPromptReply",
        refusals=CHANGING,
        example={"original_query": "What does P0700 mean?"},
    ),
    Operation(
        name="run_expansion",
        route="rag/expansion/run",
        methods=("POST",),
        handler="functions.workbench:expansion_run",
        summary="Expand a question with a model, and save it as a query.",
        request="ExpansionRun",
        reply="ExpansionReply",
        refusals=CHANGING,
        example={"original_query": "What does P0700 mean?", "use_full_model": True},
    ),
    Operation(
        name="paste_expansion",
        route="rag/expansion/manual",
        methods=("POST",),
        handler="functions.workbench:expansion_paste",
        summary="Save a question with an expansion that was written elsewhere.",
        request="ExpansionPaste",
        reply="ExpansionPasted",
        refusals=CHANGING,
        example={
            "original_query": "What does P0700 mean?",
            "llm_response": '{"queries": ["What is P0700?"], "intent": "DEFINITION", "entities": ["P0700"]}',
        },
    ),
    Operation(
        name="list_presets",
        route="rag/presets",
        methods=("GET",),
        handler="functions.edits:presets",
        summary="List the presets as shipped and as edited.",
        request=None,
        reply="PresetsReply",
        refusals=(503, 504),
    ),
    Operation(
        name="edit_preset",
        route="rag/presets/{name}",
        methods=("PUT",),
        handler="functions.edits:edit_preset",
        summary="Change the numbers of a preset for the workbench and for replays (administrators only).",
        request="PresetEdit",
        reply="PresetSaved",
        refusals=ADMINISTERING,
        role="admin",
        example={"name": "standard", "config": {"candidates": 50}, "description": "wider"},
    ),
    Operation(
        name="reset_preset",
        route="rag/presets/{name}",
        methods=("DELETE",),
        handler="functions.edits:reset_preset",
        summary="Reset a preset to its shipped numbers (administrators only).",
        request="PresetRequest",
        reply="PresetSaved",
        refusals=ADMINISTERING,
        role="admin",
        example={"name": "standard"},
    ),
    Operation(
        name="list_prompts",
        route="rag/prompts",
        methods=("GET",),
        handler="functions.edits:prompts",
        summary="List the workbench's prompts as shipped and as edited.",
        request=None,
        reply="PromptsReply",
        refusals=(503, 504),
    ),
    Operation(
        name="edit_prompt",
        route="rag/prompts/{tag}",
        methods=("PUT",),
        handler="functions.edits:edit_prompt",
        summary="Change the wording of a workbench prompt (administrators only).",
        request="PromptEdit",
        reply="PromptSaved",
        refusals=ADMINISTERING,
        role="admin",
        example={"tag": "rag_augmentation", "wording": "You are an expert.\n\nQuery: {query}\n\nContext:\n{contexts}"},
    ),
    Operation(
        name="reset_prompt",
        route="rag/prompts/{tag}",
        methods=("DELETE",),
        handler="functions.edits:reset_prompt",
        summary="Reset a prompt to its shipped wording (administrators only).",
        request="PromptRequest",
        reply="PromptSaved",
        refusals=ADMINISTERING,
        role="admin",
        example={"tag": "rag_augmentation"},
    ),
    Operation(
        name="health",
        route="api/health",
        methods=("GET",),
        handler="functions.ops:health",
        summary="List the components in use, and check that the store answers.",
        request=None,
        reply="HealthReply",
        refusals=(503, 504),
        anonymous=True,
    ),
    Operation(
        name="openapi",
        route="api/openapi.json",
        methods=("GET",),
        handler="functions.ops:openapi",
        summary="Get this OpenAPI description; it has nothing that the public source does not have.",
        request=None,
        reply="OpenApiReply",
        refusals=(),
        anonymous=True,
    ),
)


def opened(operations: Iterable[Operation], name: str) -> tuple[Operation, ...]:
    """Return the operations, the one of this name without a function key."""
    return tuple(replace(o, anonymous=True) if o.name == name else o for o in operations)
