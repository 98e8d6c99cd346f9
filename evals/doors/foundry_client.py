"""Azure AI Foundry: the tool definitions of both of its SDKs, made of openapi.json?for=agents as the recipe has it.

Without an account nothing can be run there: shown is what the SDKs make of the description and would send.
"""

import json
import sys
from urllib.request import urlopen

from azure.ai.agents.models import OpenApiConnectionAuthDetails, OpenApiConnectionSecurityScheme
from azure.ai.agents.models import OpenApiTool as AgentsOpenApiTool
from azure.ai.projects.models import OpenApiFunctionDefinition, OpenApiTool
from azure.ai.projects.models import OpenApiProjectConnectionAuthDetails as ProjectAuth
from azure.ai.projects.models import OpenApiProjectConnectionSecurityScheme as ProjectScheme

CONNECTION = "/subscriptions/…/connections/azure-rag-key"  # it holds the function key, as x-functions-key
PURPOSE = "Questions about the indexed documents, answered with checked citations."


def main(url: str) -> None:
    """Make the definition by each SDK and print what is sent of it."""
    description = json.load(urlopen(f"{url}/api/openapi.json?for=agents"))  # noqa: S310 - of a loopback server
    scheme = OpenApiConnectionSecurityScheme(connection_id=CONNECTION)
    auth = OpenApiConnectionAuthDetails(security_scheme=scheme)
    tool = AgentsOpenApiTool(name="documents", description=PURPOSE, spec=description, auth=auth)
    show("azure-ai-agents", tool.definitions[0].as_dict())
    function = OpenApiFunctionDefinition(
        name="documents",
        description=PURPOSE,
        spec=description,
        auth=ProjectAuth(security_scheme=ProjectScheme(project_connection_id=CONNECTION)),
    )
    show("azure-ai-projects", OpenApiTool(openapi=function).as_dict())


def show(sdk: str, sent: dict[str, object]) -> None:
    spec = sent["openapi"]["spec"]  # type: ignore[index]
    operations = [item["post"]["operationId"] for item in spec["paths"].values()]
    assert spec["servers"] == [{"url": sys.argv[1]}]
    kind = sent["openapi"]["auth"]["type"]  # type: ignore[index]
    print(f"{sdk}: type {sent['type']}, auth {kind}, {len(json.dumps(sent))} bytes: {', '.join(operations)}")


if __name__ == "__main__":
    main(sys.argv[1])
