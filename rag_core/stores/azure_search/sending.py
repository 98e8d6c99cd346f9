"""Batches of index actions, until the service has taken each or has refused it for good."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag_core.core.batching import packed
from rag_core.stores.azure_search.service import BatchRefused, Outcome, Service

MAX_ACTIONS = 1000  # of one batch, and about 16 MB of it (AddUpdate-or-Delete-Documents)
MAX_BYTES = 15 * 1000 * 1000
BUSY = frozenset({409, 422, 429, 503})  # version conflict, index away for now, too many requests, busy


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do to the document of a key: `body` is its JSON."""

    key: str
    body: str


def action(kind: str, key: str, fields: Mapping[str, object]) -> Action:
    text = json.dumps({"@search.action": kind, "key": key, **fields}, ensure_ascii=False)
    return Action(key, text.encode("utf-8", "replace").decode())


@dataclass(slots=True)
class Sent:
    """What became of actions, by key. A key in neither is left: sending it again does no harm.

    Some were refused because what they were to change is `absent`.
    """

    done: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)


async def send(actions: Sequence[Action], service: Service, sent: Sent) -> None:
    """Send everything, noting in `sent` what became of it, also when this raises.

    Raises:
        Unavailable: the service took only part of it.
    """
    for batch in batches(actions):
        await _send(batch, service, sent)


def batches(actions: Sequence[Action]) -> Iterator[list[Action]]:
    """As few as the service's limits allow, in order."""
    return packed(actions, lambda one: len(one.body.encode()) + 1, items_each=MAX_ACTIONS, size_each=MAX_BYTES)


async def _send(batch: Sequence[Action], service: Service, sent: Sent) -> None:
    left = {action.key: action for action in batch}

    def settle(outcome: Outcome) -> bool:
        settled = outcome.status not in BUSY and left.pop(outcome.key, None) is not None
        if settled:
            (sent.done if outcome.done else sent.refused).add(outcome.key)
            sent.absent |= {outcome.key} if outcome.status == 404 else set()
        return settled

    try:
        await service.write(lambda: [action.body for action in left.values()], settle)
    except BatchRefused:
        if len(left) == 1:
            sent.refused |= left.keys()
            return
        half = len(left) // 2
        for part in (list(left.values())[:half], list(left.values())[half:]):
            await _send(part, service, sent)
