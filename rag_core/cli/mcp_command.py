"""`rag mcp`: the documents as tools of a model, over standard input and output."""

import asyncio
import sys
from argparse import Namespace
from pathlib import Path

from rag_core.cli.app_root import add_app_root_to_path
from rag_core.cli.data_location import require_index
from rag_core.cli.json_output import print_json
from rag_core.cli.opened_service import load_command_settings
from rag_core.core.errors import Misconfigured
from rag_core.core.settings import list_given_settings


def run_mcp_command(arguments: Namespace) -> int:
    """Serve tools and documents until standard input ends; with --print-config print a client's configuration."""
    settings = load_command_settings(arguments)
    require_index(settings)
    if arguments.print_config:
        _print_client_configuration(settings.data_dir, arguments.workflow)
        return 0
    add_app_root_to_path()
    try:
        from local_emulator.mcp_stdio import serve_stdio
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise Misconfigured("rag mcp lacks the package mcp: pip install 'azure-rag[mcp]'") from error
    asyncio.run(serve_stdio(settings, arguments.workflow))
    return 0


def _print_client_configuration(data_dir: Path | None, workflow_id: str) -> None:
    """Print the entry for the file in which a desktop client names its servers; secrets are named, not printed."""
    given, secrets = list_given_settings()
    data = ["--data", str(data_dir.resolve())] if data_dir else []
    server = {
        "command": sys.executable,
        "args": ["-m", "rag_core.cli", "mcp", *data, "--workflow", workflow_id],
        **({"env": dict(given)} if given else {}),
    }
    print_json({"mcpServers": {"rag": server}})
    if secrets:
        print(f"Left out because they are secret: {', '.join(secrets)}. Add them to env yourself.", file=sys.stderr)
