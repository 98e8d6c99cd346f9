"""Semantic Kernel: openapi.json?for=agents becomes a plugin, whose functions are called as a planner calls them."""

import asyncio
import json
import sys
from urllib.request import urlopen

from semantic_kernel import Kernel
from semantic_kernel.connectors.openapi_plugin import OpenAPIFunctionExecutionParameters
from semantic_kernel.functions import KernelArguments

QUESTION = "At what temperature is the fluid level checked?"


async def main(url: str) -> None:
    """Add the plugin and call two of its functions."""
    with urlopen(f"{url}/api/openapi.json?for=agents") as reply:  # noqa: S310, ASYNC210 - of a loopback server, first
        description = json.load(reply)
    kernel = Kernel()
    settings = OpenAPIFunctionExecutionParameters(  # a server without https has to be allowed
        server_url_override=url, server_url_validation_allowed_base_urls=[url]
    )
    plugin = kernel.add_plugin_from_openapi("rag", openapi_parsed_spec=description, execution_settings=settings)
    print(f"functions: {', '.join(sorted(plugin.functions))}")
    answer = await kernel.invoke(plugin["ask"], KernelArguments(query=QUESTION, format="compact"))
    print(f"ask: {json.loads(str(answer))['answer']}")
    listed = await kernel.invoke(plugin["list_documents"], KernelArguments(format="compact"))
    print(f"list_documents: {json.loads(str(listed))['total']} documents")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
