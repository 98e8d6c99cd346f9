"""The whole HTTP surface as one list: routes, OpenAPI and the tests are read off it."""

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
    """Who asks, by the platform's credential and never by the request. `workflows` None is any."""

    user_id: str | None = None
    groups: tuple[str, ...] = ()
    workflows: tuple[str, ...] | None = None
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """What a handler is given besides the request: the parts, the diary, and who asks."""

    settings: Settings
    kit: "Kit"
    run: Run
    who: Principal = Principal()
    headers: Mapping[str, str] = field(default_factory=dict)

    def scope(self, workflow_id: str, document_ids: tuple[str, ...] = ()) -> "Scope":
        """Whose documents the request is about. Raises NotFound for a workflow that is not the caller's to name."""
        from rag_core.core.model import Scope  # which no host waits for that only asks what functions there are

        if self.who.workflows is not None and workflow_id not in self.who.workflows:
            raise NotFound("there is no such workflow", code="workflow_not_found", field="workflow_id")
        return Scope(workflow_id, self.who.user_id, self.who.groups, document_ids)


@dataclass(frozen=True, slots=True)
class Operation:
    """One function: an async `handler(request, call)`, named "module:function", that gives the body of its reply.

    `request` and `reply` name models of `functions.wire`; an operation without a request model reads nothing.
    `refusals` are the statuses it can answer besides 200. `uploads` carry a document and may be as large as
    one; `anonymous` needs no function key, and a `role` is wanted of the caller's credential besides it. A `partial`
    operation answers 207 when its reply names what `failed`, one with a model of an `accepted` reply 202 for work that
    goes on. A `bodiless` one may be called without a body. `{name}` in a route is a field of the request.
    With hints for models' clients (MCP's annotations) it is a `tool` that they may call.
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
READING = (400, 404, 503, 504)  # what the routes of the workbench may refuse with
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
        summary="Answer a question from the documents, each sentence with its checked citations.",
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
        summary="Answer a question from the proposals, with each proposal and stage cited once.",
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
        summary="Index the proposals of the configured source; for administrators.",
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
        summary="Make a document searchable, in place of its earlier version.",
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
        summary="Say how far a document is that was taken on with 202; to who sent it.",
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
        summary="Get a document's summary, made when there is none.",
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
        summary="Take a document out of everything at once; until it is purged it can be restored.",
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
        summary="Bring a deleted document back as it was, with nothing embedded anew.",
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
        summary="List the documents, and those that can be restored.",
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
        summary="Show a document: its passages with their places, and the lines of a text as it came.",
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
        summary="Draw a page of a PDF as it came, to show where a citation stands.",
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
        summary="Say for each sentence of a text what the indexed documents say to it, and where.",
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
        summary="Query the graph of entities that stand in the same passages.",
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
        summary="List the kept questions with their status, newest first.",
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
        summary="Get a kept question with what each step made of it.",
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
        summary="Change a kept question; what was made of the changed part is taken back.",
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
        summary="Embed the question, its other wordings and the imagined answer.",
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
        summary="Retrieve the passages that bear on an embedded question.",
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
        summary="Group and merge the passages that were retrieved.",
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
        summary="Show the prompt with the best contexts, as it would be sent.",
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
        summary="Have the prompt answered, and keep the response.",
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
        summary="Keep a response that was had elsewhere.",
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
        summary="List the responses to a kept question, newest first.",
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
        summary="Get a response with what it was made with.",
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
        summary="Ask a kept question again by another preset, and compare the rankings.",
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
        summary="Remove a kept question with its results.",
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
        summary="Show the expansion prompt of a question; no model is asked.",
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
        summary="Expand a question, and keep it.",
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
        summary="Keep a question with an expansion that was had elsewhere.",
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
        summary="List the presets, as they are shipped and as they are edited.",
        request=None,
        reply="PresetsReply",
        refusals=(503, 504),
    ),
    Operation(
        name="edit_preset",
        route="rag/presets/{name}",
        methods=("PUT",),
        handler="functions.edits:edit_preset",
        summary="Give a preset other numbers in the workbench and in replays; for administrators.",
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
        summary="Take the edit of a preset back; for administrators.",
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
        summary="List the wordings of the workbench's prompts, as shipped and as edited.",
        request=None,
        reply="PromptsReply",
        refusals=(503, 504),
    ),
    Operation(
        name="edit_prompt",
        route="rag/prompts/{tag}",
        methods=("PUT",),
        handler="functions.edits:edit_prompt",
        summary="Word a prompt of the workbench otherwise; for administrators.",
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
        summary="Take the edit of a prompt back; for administrators.",
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
        summary="Say which parts are in use, and whether the store answers.",
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
        summary="This description of the HTTP surface; it says nothing that the public source does not.",
        request=None,
        reply="OpenApiReply",
        refusals=(),
        anonymous=True,
    ),
)


def opened(operations: Iterable[Operation], name: str) -> tuple[Operation, ...]:
    """The operations, of which the one of this name wants no key."""
    return tuple(replace(o, anonymous=True) if o.name == name else o for o in operations)
