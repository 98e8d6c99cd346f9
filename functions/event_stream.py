"""Replies as server-sent events: what happens in a run, told while it happens, and at the end the reply or an error.

Events are `step`, `citation`, `sentence`, `done` and `error`; the data of each are one line of JSON. A host that can
send a body in parts, as `local_emulator/host.py`, sends each event as it comes. One that cannot, as the worker of Azure
Functions with `azure.functions.HttpRequest`, sends all of them together at the end (docs/decisions/0034): a caller that
named its answer polls the answer log, into which they are written meanwhile (docs/decisions/0088).
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from functions.admission import ADMISSION_STEP
from functions.hidden_faults import hide_faults
from rag_core.answering.citation_styles import CitationStyle
from rag_core.answering.claim_replies import ClaimReply, format_claims
from rag_core.answering.drafting import join_claims
from rag_core.core.errors import RagError
from rag_core.core.model import Scope
from rag_core.core.ports import AnswerLog
from rag_core.core.run import Run

Event = tuple[str, Mapping[str, Any]]

END_OF_LOG = ": end\n\n"  # a comment, in the format of events
APPEND_INTERVAL_S = 0.5  # in which events are joined: who polls notices nothing shorter

_logs_being_written: set[asyncio.Task[None]] = set()  # a loop keeps no task

logger = logging.getLogger(__name__)


def encode_event(name: str, data: Mapping[str, Any]) -> bytes:
    """Return an event as it is sent. Raises ValueError for NaN; half a surrogate pair becomes "?"."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False)
    return f"event: {name}\ndata: {text}\n\n".encode("utf-8", "replace")


def decode_events(text: str) -> Iterator[Event]:
    """Yield the events that `encode_event` has made, without comments."""
    for block in text.split("\n\n"):
        head, _, data = block.partition("\ndata: ")
        if data:
            yield head.removeprefix("event: "), json.loads(data)


@dataclass
class AnswerEvents:
    """The events of one answer, each sentence and each citation told once."""

    style: CitationStyle
    sentences: int = 0
    citations: set[int] = field(default_factory=set)

    def format_event(self, name: str, value: Any) -> Iterator[Event]:
        """Yield what is told of an event of the run: a step as it is, claims as the sentences that are new."""
        if name == "claims":
            yield from self.format_claims(format_claims(value, self.style), join_claims(value))
        elif value["step"] != ADMISSION_STEP:  # one that gets no place is refused, with its own status
            yield name, value

    def format_claims(self, claims: list[ClaimReply], text: str) -> Iterator[Event]:
        """Yield the sentences that were not told yet, each after the citations that it is the first to have.

        `text` is what the claims make; the `lead` of a sentence is what stands in it between this and the one before.
        """
        for number, claim in enumerate(claims[self.sentences :], start=self.sentences):
            for citation in claim["citations"]:
                if citation["number"] not in self.citations:
                    self.citations.add(citation["number"])
                    yield "citation", citation
            yield "sentence", {**claim, "lead": text[claims[number - 1]["end"] if number else 0 : claim["start"]]}
        self.sentences = max(self.sentences, len(claims))


async def stream_events(
    answering: Coroutine[Any, Any, Mapping[str, Any]], run: Run, events: AnswerEvents
) -> AsyncIterator[bytes]:
    """Yield the events of a call, the last of them `done` with its reply; a reader who goes away ends the call.

    Raises:
        RagError: the call failed.
    """
    told: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue()
    run.listener = lambda name, value: told.put_nowait((name, value))
    task = asyncio.create_task(answering)
    task.add_done_callback(lambda _: told.put_nowait(None))
    try:
        while (happened := await told.get()) is not None:
            for name, data in events.format_event(*happened):
                yield encode_event(name, data)
        reply = await task
        for name, data in events.format_claims(reply["claims"], reply["answer"]):
            yield encode_event(name, data)
        yield encode_event("done", reply)
    finally:
        run.listener = None
        task.cancel()


async def log_events(events: AsyncIterator[bytes], log: AnswerLog, id: str, scope: Scope) -> AsyncIterator[bytes]:
    """Yield the events of a call, and have those before `done` written into the answer log, for which none waits."""
    told: asyncio.Queue[str] = asyncio.Queue()
    writing: asyncio.Task[None] | None = None
    try:
        async with aclosing(events):  # type: ignore[type-var]
            async for event in events:
                if not event.startswith(b"event: done\n"):
                    told.put_nowait(event.decode())
                writing = writing or _start_writing(told, log, id, scope)
                yield event
    finally:
        told.put_nowait(END_OF_LOG)


def _start_writing(told: asyncio.Queue[str], log: AnswerLog, id: str, scope: Scope) -> asyncio.Task[None]:
    task = asyncio.create_task(_write_log(told, log, id, scope))
    _logs_being_written.add(task)
    task.add_done_callback(_logs_being_written.discard)
    return task


async def _write_log(told: asyncio.Queue[str], log: AnswerLog, id: str, scope: Scope) -> None:
    """Write what is told, that of half a second at once, until its end; a log that cannot be written is given up."""
    try:
        await hide_faults(_append_until_end(told, log, id, scope), "an answer log has failed")
    except RagError as failure:
        logger.warning("the events of an answer cannot be polled: %s", failure.message)


async def _append_until_end(told: asyncio.Queue[str], log: AnswerLog, id: str, scope: Scope) -> None:
    await log.start(id, scope)
    text = ""
    while not text.endswith(END_OF_LOG):
        text = await told.get()
        await asyncio.sleep(APPEND_INTERVAL_S)
        while not told.empty():
            text += told.get_nowait()
        await log.append(id, text, scope)
