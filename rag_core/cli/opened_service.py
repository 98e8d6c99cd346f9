"""The settings of a command, and the service that it runs on."""

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core.cli.data_location import locate_data, require_index, require_no_file
from rag_core.core import settings
from rag_core.core.run import Run

if TYPE_CHECKING:
    from rag_core.rag import RAG

RagCommand = Callable[[Namespace, "RAG", Run], Awaitable[int]]


def load_command_settings(arguments: Namespace) -> settings.Settings:
    """Load the settings, with the data folder of the command line, else of the environment, else the one found."""
    loaded = settings.load_settings()
    if arguments.data:
        loaded = replace(loaded, data_dir=arguments.data)
    elif not settings.is_setting_given("RAG_DATA_DIR"):
        loaded = locate_data(loaded, Path.cwd())
    require_no_file(loaded.data_dir)
    return loaded


def run_with_rag(command: RagCommand) -> Callable[[Namespace], int]:
    """Turn a coroutine on the service into a command that opens it before and closes it after.

    A plan writes nothing: where there is no data folder yet, it is made on an index in memory.
    """

    def run(arguments: Namespace) -> int:
        loaded = load_command_settings(arguments)
        if getattr(arguments, "plan", False):
            loaded = _keep_unmade_folder_in_memory(loaded)
        return asyncio.run(_run(command, arguments, loaded))

    return run


def run_with_index(command: RagCommand) -> Callable[[Namespace], int]:
    """Turn a coroutine that reads an index into a command, which refuses to make an empty one."""

    def run(arguments: Namespace) -> int:
        loaded = load_command_settings(arguments)
        require_index(loaded)
        return asyncio.run(_run(command, arguments, loaded))

    return run


def _keep_unmade_folder_in_memory(loaded: settings.Settings) -> settings.Settings:
    from rag_core.composition.index_assembly import has_data_folder

    return loaded if has_data_folder(loaded) else replace(loaded, data_dir=None)


async def _run(command: RagCommand, arguments: Namespace, loaded: settings.Settings) -> int:
    import rag_core.rag

    async with rag_core.rag.open(loaded) as rag:
        return await command(arguments, rag, rag.start_run())
