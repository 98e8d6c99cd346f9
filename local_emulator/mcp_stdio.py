"""The Model Context Protocol over standard input and output, by the library `mcp`: the tools of `functions/mcp.py`.

A desktop client starts the process and speaks to it through its pipes. It serves one workflow, which its client's
configuration names and no call can leave. While it serves, what anything else prints goes to standard error.
"""

from collections.abc import Mapping
from typing import Any

import azure.functions as func
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from functions import mcp, mcp_resources
from functions.http import Service
from functions.mcp import INVALID_PARAMS, JsonRpcError, McpTool
from functions.routes import ROUTES
from functions.strict_json import JsonObject
from rag_core.composition import assembly
from rag_core.core.settings import Settings


async def serve_stdio(settings: Settings, workflow_id: str) -> None:
    """Serve the tools and documents of one workflow until standard input ends.

    Raises:
        Misconfigured: a part of the service lacks a setting or a package.
    """
    parts = assembly.KitHolder(lambda: settings)
    parts()  # what is misconfigured is told now
    try:
        server = StdioTools(mcp.build_tools(ROUTES, Service(lambda: settings, parts)), workflow_id).build_server()
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
    finally:
        await parts.close()


class StdioTools:
    """The tools of one workflow: it is not an argument of theirs, and a call that names another is refused."""

    def __init__(self, tools: Mapping[str, McpTool], workflow_id: str) -> None:
        self._tools, self._workflow_id = tools, workflow_id
        self._address = func.HttpRequest(
            method="POST",
            url="stdio",
            headers={"content-type": "application/json"},
            params={"workflow_id": workflow_id},
            body=b"",
        )

    def build_server(self) -> Server[Any]:
        """Return the server of the library, over these tools."""
        return Server(
            mcp.SERVER_INFO["name"],
            version=mcp.SERVER_INFO["version"],
            instructions=mcp.INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    async def _list_tools(self, context: object, params: PaginatedRequestParams | None) -> ListToolsResult:
        described = await mcp.describe_tools(self._tools)
        for tool in described:
            tool["inputSchema"]["properties"].pop("workflow_id", None)
        return ListToolsResult.model_validate({"tools": described})

    async def _call_tool(self, context: object, params: CallToolRequestParams) -> CallToolResult:
        arguments = params.arguments or {}
        self._require_own_workflow(arguments.get("workflow_id", self._workflow_id))
        asked = {"name": params.name, "arguments": arguments}
        return CallToolResult.model_validate(await _translate_errors(mcp.call_tool(asked, self._address, self._tools)))

    async def _list_resources(self, context: object, params: PaginatedRequestParams | None) -> ListResourcesResult:
        asked = {"cursor": params.cursor if params else None}
        listing = mcp.list_resources(asked, self._address, self._tools)
        return ListResourcesResult.model_validate(await _translate_errors(listing))

    async def _list_templates(
        self, context: object, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult.model_validate({"resourceTemplates": [mcp_resources.DOCUMENT_TEMPLATE]})

    async def _read_resource(self, context: object, params: ReadResourceRequestParams) -> ReadResourceResult:
        named = mcp_resources.parse_document_uri(params.uri)
        self._require_own_workflow(named["workflow_id"] if named else self._workflow_id)
        reading = mcp.read_resource({"uri": params.uri}, mcp.CURRENT_MCP_VERSION, self._address, self._tools)
        return ReadResourceResult.model_validate(await _translate_errors(reading))

    def _require_own_workflow(self, workflow_id: object) -> None:
        if workflow_id != self._workflow_id:
            raise MCPError(INVALID_PARAMS, f"this server is for the workflow {self._workflow_id} alone")


async def _translate_errors(answering: Any) -> JsonObject:
    try:
        result: JsonObject = await answering
    except JsonRpcError as error:
        raise MCPError(error.code, str(error), error.error_object.get("data")) from None
    return result
