"""The handler of link_schema, which says what of a database a question needs (S1-53 to S1-55)."""

from typing import Annotated

from pydantic import Field, StringConstraints

from functions.operations import Call, operation
from functions.requests import Identifier, LineText, NonBlankText, Request
from rag_core.schema.linking import LinkBudget
from rag_core.schema_reply import LinkReply


class LinkSchemaRequest(Request):
    """A question about a database; `database` may be left out where the workflow has one."""

    query: Annotated[NonBlankText, StringConstraints(max_length=8000)]
    database: LineText | None = None
    workflow_id: Identifier = "default"
    max_columns: Annotated[int, Field(ge=1, le=200)] = 20
    max_tables: Annotated[int, Field(ge=1, le=50)] = 4
    by_model: bool = Field(default=False, description="let the chat model choose tables and split the question")
    max_tokens: Annotated[int, Field(ge=50, le=100_000)] = Field(default=1500, description="of the DDL")


@operation(
    "Find the tables, columns, joins, values and rules that a question about a database needs.",
    advice="Use it before you write SQL for an indexed database: the DDL in the reply is all that the query needs.",
    errors=(400, 404, 409, 413, 415, 503, 504),
    example={"query": "How many heroes have blue eyes?", "max_columns": 10},
    heavy=True,
)
async def handle_link_schema(request: LinkSchemaRequest, call: Call) -> LinkReply:
    """Link a question to an indexed database, and reply with what an SQL writer needs of it."""
    reply = await call.rag.link_schema(
        request.query,
        database=request.database,
        budget=LinkBudget(request.max_columns, request.max_tables, request.max_tokens),
        by_model=request.by_model,
        scope=call.resolve_scope(request.workflow_id),
        run=call.run,
    )
    return reply.to_json()
