"""`rag reindex`: change of the index's embedding model, and rollback."""

import asyncio
import sys
from argparse import Namespace
from functools import partial

from rag_core.cli.commands import BUDGET_SPENT, configured
from rag_core.core.errors import InvalidRequest, Misconfigured
from rag_core.core.model import Scope
from rag_core.core.ports import Rebuild
from rag_core.core.settings import Settings
from rag_core.ingestion.plan import BudgetSpent, Meter, Tariff
from rag_core.stores.embedded import current_index
from rag_core.stores.embedded.current_index import Place, Places


def reindex(chosen: Namespace) -> int:
    """Build a new index, compare it, switch to it; or roll back. The exit code 3 means: stopped at the budget."""
    from rag_core.composition import assembly

    loaded = configured(chosen)
    if chosen.rollback:
        print(_said(current_index.roll_back(assembly.data_dir(loaded))))
        return 0
    if chosen.drop_others:
        print(f"Deleted the other indexes. Current: {current_index.drop_others(assembly.data_dir(loaded)).current}")
        return 0
    if chosen.profile is None:
        raise InvalidRequest(
            "--profile", "is required: the provider of the new embedding model; --rollback switches back"
        )
    return asyncio.run(_reindex(chosen, loaded))


async def _reindex(chosen: Namespace, read: Settings) -> int:
    from rag_core.cli import show
    from rag_core.composition import assembly

    place = assembly.beside(read, profile_name=chosen.profile, model=chosen.model, dimensions=chosen.dimensions)
    tariff = assembly.tariff(read, place)
    meter = Meter(assembly.embedder_at(place, read), tariff, chosen.budget_usd)
    if not meter.dimensions:
        raise Misconfigured("no embedding model of this profile is available here: rag doctor shows what is missing")
    if await _space(read) == meter.space:
        print(f"{meter.space}: the current index already uses this model")
        return 0
    rebuild = assembly.rebuild(read, place, meter)
    try:
        await _plan(rebuild, tariff, meter.space)
        return 0 if chosen.plan else await _build(chosen, read, place, rebuild, meter)
    except BudgetSpent as error:
        print(f"Stopped: {error.message}; run the command again to continue from here")
        return BUDGET_SPENT
    finally:
        show.used(meter.tokens, tariff)
        await rebuild.close()


async def _space(read: Settings) -> str:
    """Return the embedding space of the current index."""
    from rag_core.composition import assembly

    index = assembly.index_at(read, current_index.read(assembly.data_dir(read)).current)
    try:
        return await index.store.space()
    finally:
        await index.store.close()


async def _plan(rebuild: Rebuild, tariff: Tariff, space: str) -> None:
    from rag_core.cli import show

    texts = (await rebuild.missing()).values()
    print(f"{space}: {show.many(len(texts), 'text')} to embed, {show.price(tariff.tokens(list(texts)), tariff)}")


async def _build(chosen: Namespace, read: Settings, place: Place, rebuild: Rebuild, meter: Meter) -> int:
    from rag_core.cli import show
    from rag_core.composition import assembly
    from rag_core.ingestion import reindex as building

    with show.progress(sys.stdout) as bar:
        await building.build(rebuild, meter, show.counting(bar))
    print(f"Built: {place}")
    if chosen.evaluate:
        await _compare(chosen, read, place)
    if chosen.build_only:
        return 0
    data_dir = assembly.data_dir(read)
    await building.settle(rebuild, meter, partial(current_index.switch, data_dir, place))
    print(_said(current_index.read(data_dir)))
    return 0


async def _compare(chosen: Namespace, read: Settings, place: Place) -> None:
    """Print the scores of both indexes on the same questions."""
    from evals import side_by_side
    from rag_core.composition import assembly

    old = assembly.index_at(read, current_index.read(assembly.data_dir(read)).current)
    new = assembly.index_at(read, place)
    try:
        print(await side_by_side.compare(chosen.evaluate, Scope(chosen.workflow), old, new))
    finally:
        await old.store.close()
        await new.store.close()


def _said(places: Places) -> str:
    """Format the current and the previous index, for the output after a switch."""
    return f"Current: {places.current}\nPrevious: {places.previous}; rag reindex --rollback switches back to it"
