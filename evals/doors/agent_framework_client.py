"""Microsoft's Agent Framework: its MCP tool lists and calls the tools of /api/mcp."""

import asyncio
import json
import sys

from agent_framework import MCPStreamableHTTPTool

QUESTION = "At what temperature is the fluid level checked?"


async def main(url: str) -> None:
    """Connect, list the functions that an agent is given, and call one."""
    async with MCPStreamableHTTPTool(name="documents", url=f"{url}/api/mcp") as tool:
        print(f"functions: {', '.join(function.name for function in tool.functions)}")
        content = await tool.call_tool("ask", query=QUESTION)
        text = content if isinstance(content, str) else "".join(part.text for part in content)
        print(f"ask: {json.loads(text)['answer']}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
