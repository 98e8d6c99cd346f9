"""Health is asked by anyone, so the store is not looked at for each of them."""

import asyncio
import time
from types import SimpleNamespace

import pytest

from functions import store_probe
from functions.store_probe import StoreProbe
from rag_core.core.errors import Unavailable
from rag_core.core.ports import StoreDescription
from rag_core.stores.embedded import EmbeddedStore


class CountedStore(EmbeddedStore):
    """Counts how often it is looked at, and may be down."""

    looks, down = 0, False

    async def describe(self) -> StoreDescription:
        self.looks += 1
        if self.down:
            raise Unavailable("the store is down", code="store_failed")
        return await super().describe()


async def test_a_hundred_probes_at_once_look_at_the_store_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_probe, "PROBE_INTERVAL_S", 60.0)
    probe, store = StoreProbe(), CountedStore(None)
    found = await asyncio.gather(*(probe.describe(store) for _ in range(100)))
    assert store.looks == 1
    assert {description.kind for description in found} == {found[0].kind}


async def test_a_store_that_is_down_is_looked_at_as_seldom_and_told_to_be_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_probe, "PROBE_INTERVAL_S", 3600.0)
    probe, store = StoreProbe(), CountedStore(None)
    store.down = True
    for _ in range(3):
        with pytest.raises(Unavailable):
            await probe.describe(store)
    assert store.looks == 1
    store.down = False
    with pytest.raises(Unavailable):
        await probe.describe(store)
    monkeypatch.setattr(store_probe, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 3601.0))
    await probe.describe(store)
    assert store.looks == 2
