"""What becomes of a fault of our own: it is logged in full, and the caller is told only that there was one."""

import logging
from collections.abc import Awaitable
from typing import TypeVar

from rag_core.core.errors import RagError

T = TypeVar("T")

logger = logging.getLogger(__name__)


async def hide_faults(work: Awaitable[T], failed: str) -> T:
    """Return what `work` gives; `failed` is how the log begins to tell of a fault.

    Raises:
        RagError: the work raised it, or had a fault (code "internal").
    """
    try:
        return await work
    except RagError:
        raise
    except Exception as fault:
        logger.exception("%s", failed)
        raise RagError("the server failed; its log has this run_id", code="internal") from fault
