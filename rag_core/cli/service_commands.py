"""The commands that serve, set up, audit and tell of a service; each imports its heavy modules itself."""

import asyncio
import socket
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_core.cli.json_output import print_json
from rag_core.cli.opened_service import load_command_settings, run_with_index, run_with_rag
from rag_core.core.errors import InvalidRequest
from rag_core.core.run import Run
from rag_core.core.settings import Settings

if TYPE_CHECKING:
    from rag_core.rag import RAG

LOOPBACK = "127.0.0.1"  # where nobody but this machine is served


def run_serve_command(arguments: Namespace) -> int:
    """Run the local emulator until it is stopped; with --azure, the emulated Azure services too."""
    from rag_core.cli.app_root import add_app_root_to_path

    add_app_root_to_path()
    from local_emulator import host

    _require_free_port(arguments.host, arguments.port)
    if arguments.priced and not arguments.azure:
        raise InvalidRequest("--priced", "goes with --azure, whose models are emulated")
    if not arguments.azure:
        loaded = load_command_settings(arguments)
        key = None if arguments.host == LOOPBACK else _require_key(loaded, arguments.admin)
        host.serve_until_interrupted(
            loaded, interface=arguments.host, port=arguments.port, key=key, admin=arguments.admin
        )
        return 0
    if arguments.host != LOOPBACK:
        raise InvalidRequest("--host", "goes without --azure, whose services are for this machine alone")
    from local_emulator import azure

    loaded = load_command_settings(arguments)
    prices = azure.describe_prices(loaded, priced=arguments.priced)
    with azure.serve_azure_services(loaded, priced=arguments.priced) as emulated:
        print(azure.describe_addresses(emulated), prices, sep="\n", flush=True)
        host.serve_until_interrupted(emulated, port=arguments.port, admin=arguments.admin)
    return 0


def _require_free_port(host: str, port: int) -> None:
    """Raise InvalidRequest where no server can listen: the port is in use, reserved, or the address is not ours."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]
        message = f"{port} at {host} cannot be served on ({reason}): name another, or 0 for a free one"
        raise InvalidRequest("--port", message) from None


def _require_key(settings: Settings, admin: bool) -> str:
    """Return the key that callers of other machines must send. Raises InvalidRequest where there is none."""
    if admin:
        raise InvalidRequest("--host", "goes without --admin: every caller would be an administrator")
    if not settings.functions_key:
        message = (
            f"other than {LOOPBACK} lets other machines in: set RAG_FUNCTIONS_KEY, which callers then have to send"
        )
        raise InvalidRequest("--host", message)
    return settings.functions_key


def run_setup_command(arguments: Namespace) -> int:
    """Create or upgrade the configured index or data folder; with --user, that of the user."""
    from rag_core.cli.data_location import get_user_data_dir
    from rag_core.composition import assembly

    loaded = load_command_settings(arguments)
    if arguments.user:
        if arguments.data:
            raise InvalidRequest("--user", "goes without --data")
        loaded = replace(loaded, data_dir=get_user_data_dir())
    done = asyncio.run(assembly.set_up_stores(loaded))
    print_json({"done": done}) if arguments.json else print(done)
    return 0


def run_completion_command(arguments: Namespace, parser: ArgumentParser) -> int:
    """Print the script that completes the commands and options of a parser in a shell."""
    from shtab import complete

    print(complete(parser, shell=arguments.shell))
    return 0


@run_with_index
async def run_log_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the newest entries of the query log, the newest last."""
    from rag_core.cli import terminal_output

    entries = await rag.kit.query_log.list_latest(arguments.number)
    if arguments.json:
        print_json(entries)
        return 0
    terminal_output.print_query_log(entries[::-1])
    return 0


@run_with_rag
async def run_audit_isolation_command(arguments: Namespace, rag: "RAG", run: Run) -> int:
    """Print the number of leaks of each audited path, and the leaks. Return 1 when there is a leak."""
    from rag_core.cli import terminal_layout
    from rag_core.evaluation.isolation_audit import run_isolation_audit

    audited_paths = await run_isolation_audit(rag.kit)
    if arguments.json:
        print_json(audited_paths)
        return 1 if any(path.leaks for path in audited_paths) else 0
    terminal_layout.print_table(
        ("path", "attempts", "leaks"), [(path.name, path.attempts, len(path.leaks)) for path in audited_paths]
    )
    leaks = [leak for path in audited_paths for leak in path.leaks]
    print("\n".join(leaks) or "No scope received data of another scope.")
    return 1 if leaks else 0
