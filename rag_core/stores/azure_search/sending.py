"""Index actions sent in batches until the service has applied each or refused it for good."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag_core.core.batching import packed
from rag_core.stores.azure_search.service import BatchRefused, Outcome, Service

MAX_ACTIONS = 1000  # the service takes 1,000 actions and about 16 MB per batch (REST API, Index Documents)
MAX_BYTES = 15 * 1000 * 1000
BUSY = frozenset({409, 422, 429, 503})  # version conflict, index temporarily unavailable, too many requests, busy


@dataclass(frozen=True, slots=True)
class Action:
    """An upload, merge or delete of the record with a key; `body` is its JSON."""

    key: str
    body: str


def action(kind: str, key: str, fields: Mapping[str, object]) -> Action:
    """Build an action; `kind` is "upload", "merge" or "delete"."""
    text = json.dumps({"@search.action": kind, "key": key, **fields}, ensure_ascii=False)
    return Action(key, text.encode("utf-8", "replace").decode())


@dataclass(slots=True)
class Sent:
    """The results of sent actions, by key. An action in no set is unsent or uncertain, and may safely be sent again.

    Absent keys are those refused because the record to be changed does not exist.
    """

    done: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)


async def send(actions: Sequence[Action], service: Service, results: Sent) -> None:
    """Send all actions and add their results to `results`, also when an error is raised.

    Raises:
        Unavailable: the service did not take all actions.
    """
    for batch in batches(actions):
        await _send(batch, service, results)


def batches(actions: Sequence[Action]) -> Iterator[list[Action]]:
    """Split actions, in order, into as few batches as the service's limits allow."""
    return packed(actions, lambda one: len(one.body.encode()) + 1, items_each=MAX_ACTIONS, size_each=MAX_BYTES)


async def _send(batch: Sequence[Action], service: Service, results: Sent) -> None:
    pending = {action.key: action for action in batch}

    def settle(outcome: Outcome) -> bool:
        settled = outcome.status not in BUSY and pending.pop(outcome.key, None) is not None
        if settled:
            (results.done if outcome.done else results.refused).add(outcome.key)
            results.absent |= {outcome.key} if outcome.status == 404 else set()
        return settled

    try:
        await service.write(lambda: [action.body for action in pending.values()], settle)
    except BatchRefused:
        if len(pending) == 1:
            results.refused |= pending.keys()
            return
        half = len(pending) // 2
        for half_batch in (list(pending.values())[:half], list(pending.values())[half:]):
            await _send(half_batch, service, results)
