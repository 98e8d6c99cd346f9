"""Handlers of the workbench's steps (S0-20 to S0-39): expand, embed, retrieve, consolidate, augment."""

from typing import Annotated

from pydantic import StringConstraints

from functions.answers import PassageCount
from functions.operations import CHANGE_ERRORS, STEP_ERRORS, Call, operation
from functions.requests import Identifier, NonBlankText, Request
from functions.saved_queries import QueryRequest, QueryText, open_session
from rag_core.core.model import VectorStatus
from rag_core.run_reply import Done, format_run
from rag_core.workbench import augmentation_step, expansion_step, retrieval_steps

PastedText = Annotated[NonBlankText, StringConstraints(max_length=100_000)]


class EmbedReply(Done):
    """A saved query that was embedded."""

    message: str
    vector_status: VectorStatus


@operation(
    "Embed the query, its expanded queries and its hypothetical answer.",
    errors=CHANGE_ERRORS,
    example={"id": 12},
    body_optional=True,
    heavy=True,
)
async def handle_embed_query(request: QueryRequest, call: Call) -> EmbedReply:
    """Embed a saved query, its expanded queries and its hypothetical answer."""
    saved = await retrieval_steps.embed_saved_query(request.id, open_session(request.workflow_id, call))
    return {
        **format_run(call.run),
        "message": "Query vectorized successfully",
        "vector_status": saved.vector_status,
    }


class RetrieveReply(Done):
    """A saved query whose passages were retrieved."""

    message: str
    chunks_retrieved: int


@operation(
    "Retrieve the passages that match an embedded query.",
    errors=CHANGE_ERRORS,
    example={"id": 12},
    body_optional=True,
    heavy=True,
)
async def handle_retrieve_query(request: QueryRequest, call: Call) -> RetrieveReply:
    """Retrieve the passages for an embedded query."""
    saved = await retrieval_steps.retrieve_for_saved_query(request.id, open_session(request.workflow_id, call))
    count = len(saved.retrieved_context or ())
    return {**format_run(call.run), "message": f"Retrieved {count} chunks", "chunks_retrieved": count}


class ConsolidateReply(Done):
    """A saved query whose passages were merged."""

    message: str
    original_count: int
    consolidated_count: int


@operation(
    "Group and merge the retrieved passages.",
    errors=CHANGE_ERRORS,
    example={"id": 12},
    body_optional=True,
)
async def handle_consolidate_query(request: QueryRequest, call: Call) -> ConsolidateReply:
    """Merge the retrieved chunks into groups."""
    saved = await retrieval_steps.consolidate_saved_query(request.id, open_session(request.workflow_id, call))
    chunks, groups = len(saved.retrieved_context or ()), len(saved.clean_retrieval_context or ())
    return {
        **format_run(call.run),
        "message": f"Consolidated {chunks} chunks into {groups} groups",
        "original_count": chunks,
        "consolidated_count": groups,
    }


class AugmentRequest(QueryRequest):
    """A saved query whose `top_n` best contexts go into the prompt."""

    top_n: PassageCount = 5


class AugmentPrompt(Done):
    """The prompt of a saved query, with the number of contexts in it."""

    prompt: str
    context_count: int


@operation(
    "Show the prompt with the best contexts as it would be sent to a model.",
    errors=STEP_ERRORS,
    example={"id": 12, "top_n": 5},
)
async def handle_augmented_prompt(request: AugmentRequest, call: Call) -> AugmentPrompt:
    """Reply with the prompt that holds the best contexts, without calling a model."""
    session = open_session(request.workflow_id, call)
    augmented = await augmentation_step.build_augmented_prompt(request.id, request.top_n, session)
    return {**format_run(call.run), "prompt": augmented.text, "context_count": augmented.context_count}


class AugmentRun(AugmentRequest):
    """A saved query to be answered, by the small chat model or the full one."""

    use_full_model: bool = False


class AugmentReply(Done):
    """A saved response; `model` names the model or local technique that wrote it."""

    result_id: int
    response_text: str
    model: str


@operation(
    "Answer the prompt with a model, and save the response.",
    errors=CHANGE_ERRORS,
    example={"id": 12, "top_n": 5, "use_full_model": False},
    body_optional=True,
    heavy=True,
)
async def handle_run_augmented(request: AugmentRun, call: Call) -> AugmentReply:
    """Answer the prompt with a model, and save the response."""
    session = open_session(request.workflow_id, call)
    result = await augmentation_step.answer_saved_query(
        request.id, request.top_n, session, use_full_model=request.use_full_model
    )
    return {
        **format_run(call.run),
        "result_id": result.id,
        "response_text": result.response_text,
        "model": result.model,
    }


class AugmentPaste(AugmentRequest):
    """A response that was written elsewhere."""

    response_text: PastedText


class AugmentPasted(Done):
    """A saved response that was written elsewhere."""

    result_id: int
    message: str


@operation(
    "Save a response that was written elsewhere.",
    errors=CHANGE_ERRORS,
    example={"id": 12, "response_text": "P0700 is stored by the TCM.", "top_n": 5},
)
async def handle_paste_answer(request: AugmentPaste, call: Call) -> AugmentPasted:
    """Save a response that was written elsewhere."""
    session = open_session(request.workflow_id, call)
    result = await augmentation_step.save_pasted_answer(request.id, request.response_text, request.top_n, session)
    return {**format_run(call.run), "result_id": result.id, "message": "Response saved successfully"}


class ExpansionRequest(Request):
    """A new question to be expanded."""

    original_query: QueryText
    workflow_id: Identifier = "default"


class ExpansionPromptReply(Done):
    """The query expansion prompt of a question."""

    prompt: str
    query: str


@operation(
    "Show the query expansion prompt for a question, without calling a model.",
    errors=CHANGE_ERRORS,
    example={"original_query": "What does P0700 mean?"},
)
async def handle_expansion_prompt(request: ExpansionRequest, call: Call) -> ExpansionPromptReply:
    """Reply with the expansion prompt of a question, without calling a model."""
    session = open_session(request.workflow_id, call)
    prompt = await expansion_step.build_expansion_prompt(request.original_query, session)
    return {**format_run(call.run), "prompt": prompt.text, "query": request.original_query}


class ExpansionRun(ExpansionRequest):
    """A new question to be expanded by the full chat model or the small one."""

    use_full_model: bool = True


class ExpansionReply(Done):
    """A new saved query with its expansion."""

    query_id: int
    expanded_queries: list[str]
    hyde_answer: str
    intent: str
    entities: list[str]


@operation(
    "Expand a question with a model, and save it as a query.",
    errors=CHANGE_ERRORS,
    example={"original_query": "What does P0700 mean?", "use_full_model": True},
    heavy=True,
)
async def handle_run_expansion(request: ExpansionRun, call: Call) -> ExpansionReply:
    """Expand a question with a model, and save it as a query."""
    session = open_session(request.workflow_id, call)
    saved = await expansion_step.expand_and_save_query(
        request.original_query, session, use_full_model=request.use_full_model
    )
    return {
        **format_run(call.run),
        "query_id": saved.id,
        "expanded_queries": list(saved.expanded_queries),
        "hyde_answer": saved.hyde_answer,
        "intent": saved.intent,
        "entities": list(saved.entities),
    }


class ExpansionPaste(ExpansionRequest):
    """A new question with a model's response to its expansion prompt."""

    llm_response: PastedText


class ExpansionPasted(Done):
    """A new saved query whose expansion was written elsewhere."""

    query_id: int
    message: str


@operation(
    "Save a question with an expansion that was written elsewhere.",
    errors=CHANGE_ERRORS,
    example={
        "original_query": "What does P0700 mean?",
        "llm_response": '{"queries": ["What is P0700?"], "intent": "DEFINITION", "entities": ["P0700"]}',
    },
)
async def handle_paste_expansion(request: ExpansionPaste, call: Call) -> ExpansionPasted:
    """Save a question with an expansion that was written elsewhere."""
    session = open_session(request.workflow_id, call)
    saved = await expansion_step.save_pasted_expansion(request.original_query, request.llm_response, session)
    return {**format_run(call.run), "query_id": saved.id, "message": "Query created successfully"}
