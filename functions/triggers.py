"""The triggers that start the worker on Azure: a message in a Storage queue, and a timer in case one was lost.

A message holds the id of a job, which is not read: the table of jobs says what there is to do.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import azure.functions as func

from rag_core.core.settings import Settings

if TYPE_CHECKING:
    from rag_core.core.kit import Kit

JOB_QUEUE_TRIGGER_NAME = "index-jobs"
STORAGE_CONNECTION = "AzureWebJobsStorage"  # the app setting of the host's own account
EVERY_FIVE_MINUTES = "0 */5 * * * *"
DRAIN_WITHIN_S = 240.0  # host.json ends a function after 300


def mount_triggers(app: func.FunctionApp, get_settings: Callable[[], Settings], get_kit: Callable[[], "Kit"]) -> None:
    """Add the two functions to the app. The host logs and repeats what they raise; a failed job raises nothing."""

    async def drain() -> None:
        from functions.job_runner import run_pending_jobs  # loads the ingestion

        await run_pending_jobs(get_settings(), get_kit(), within_s=DRAIN_WITHIN_S)

    async def on_message(message: func.QueueMessage) -> None:
        await drain()

    async def on_time(timer: func.TimerRequest) -> None:
        await drain()

    app.function_name("index_jobs_woken")(
        app.queue_trigger("message", JOB_QUEUE_TRIGGER_NAME, STORAGE_CONNECTION)(on_message)
    )
    app.function_name("index_jobs_timed")(app.timer_trigger("timer", EVERY_FIVE_MINUTES)(on_time))
