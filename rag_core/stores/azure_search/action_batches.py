"""Index actions sent in batches until the service has applied each or refused it for good."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag_core.core.batching import batch_items
from rag_core.stores.azure_search.index_client import AzureIndexClient, DocumentOutcome
from rag_core.stores.azure_search.service_errors import BatchRefused

MAX_BATCH_ACTIONS = 1000  # the service takes 1,000 actions and about 16 MB per batch (REST API, Index Documents)
MAX_BATCH_BYTES = 15 * 1000 * 1000
RETRIED_DOCUMENT_STATUSES = frozenset(
    {409, 422, 429, 503}
)  # version conflict, index temporarily unavailable, too many requests, busy


@dataclass(frozen=True, slots=True)
class IndexAction:
    """An upload, merge or delete of the record with a key; `body` is its JSON."""

    key: str
    body: str


def build_index_action(kind: str, key: str, fields: Mapping[str, object]) -> IndexAction:
    """Build an action; `kind` is "upload", "merge" or "delete"."""
    text = json.dumps({"@search.action": kind, "key": key, **fields}, ensure_ascii=False)
    return IndexAction(key, text.encode("utf-8", "replace").decode())


@dataclass(slots=True)
class ActionResults:
    """The results of sent actions, by key. An action in no set is unsent or uncertain, and may safely be sent again.

    Absent keys are those refused because the record to be changed does not exist.
    """

    succeeded_keys: set[str] = field(default_factory=set)
    refused_keys: set[str] = field(default_factory=set)
    absent_keys: set[str] = field(default_factory=set)


async def send_actions(actions: Sequence[IndexAction], service: AzureIndexClient, results: ActionResults) -> None:
    """Send all actions and add their results to `results`, also when an error is raised.

    Raises:
        Unavailable: the service did not take all actions.
    """
    for batch in split_into_batches(actions):
        await _send_batch(batch, service, results)


def split_into_batches(actions: Sequence[IndexAction]) -> Iterator[list[IndexAction]]:
    """Split actions, in order, into as few batches as the service's limits allow."""
    return batch_items(
        actions, lambda one: len(one.body.encode()) + 1, max_items=MAX_BATCH_ACTIONS, max_size=MAX_BATCH_BYTES
    )


async def _send_batch(batch: Sequence[IndexAction], service: AzureIndexClient, results: ActionResults) -> None:
    pending = {action.key: action for action in batch}

    def settle(outcome: DocumentOutcome) -> bool:
        settled = outcome.status not in RETRIED_DOCUMENT_STATUSES and pending.pop(outcome.key, None) is not None
        if settled:
            (results.succeeded_keys if outcome.succeeded else results.refused_keys).add(outcome.key)
            results.absent_keys |= {outcome.key} if outcome.status == 404 else set()
        return settled

    try:
        await service.send_batch(lambda: [action.body for action in pending.values()], settle)
    except BatchRefused:
        if len(pending) == 1:
            results.refused_keys |= pending.keys()
            return
        half = len(pending) // 2
        for half_batch in (list(pending.values())[:half], list(pending.values())[half:]):
            await _send_batch(half_batch, service, results)
