"""The settings of a command, and the service that it runs on."""

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_core.core import settings
from rag_core.core.run import Run

if TYPE_CHECKING:
    from rag_core.rag import RAG

RagCommand = Callable[[Namespace, "RAG", Run], Awaitable[int]]


def load_command_settings(arguments: Namespace) -> settings.Settings:
    """Load the settings, with the data folder of the command line if one is given."""
    loaded = settings.load_settings()
    return replace(loaded, data_dir=arguments.data) if arguments.data else loaded


def run_with_rag(command: RagCommand) -> Callable[[Namespace], int]:
    """Turn a coroutine on the service into a command that opens it before and closes it after."""

    async def run(arguments: Namespace) -> int:
        import rag_core.rag

        async with rag_core.rag.open(load_command_settings(arguments)) as rag:
            return await command(arguments, rag, rag.start_run())

    return lambda arguments: asyncio.run(run(arguments))
