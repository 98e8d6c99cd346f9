"""`rag reindex`: change of the index's embedding model, and rollback."""

import asyncio
import sys
from argparse import Namespace
from functools import partial

from rag_core.cli.data_location import require_index
from rag_core.cli.indexing_commands import EXIT_BUDGET_SPENT
from rag_core.cli.json_output import print_json
from rag_core.cli.opened_service import load_command_settings
from rag_core.core.contextual_vectors import list_sent_texts
from rag_core.core.errors import InvalidRequest, Misconfigured
from rag_core.core.model import Scope
from rag_core.core.ports import IndexRebuild
from rag_core.core.settings import Settings
from rag_core.ingestion.plan import BudgetSpent, EmbeddingMeter, Tariff
from rag_core.stores.embedded import current_index
from rag_core.stores.embedded.current_index import IndexLocation, IndexLocations


def run_reindex_command(arguments: Namespace) -> int:
    """Build a new index, compare it, switch to it; or roll back. The exit code 3 means: stopped at the budget."""
    from rag_core.composition import index_assembly

    loaded = load_command_settings(arguments)
    if arguments.rollback:
        _print_index_places(current_index.roll_back_current_index(index_assembly.require_data_dir(loaded)), arguments)
        return 0
    if arguments.drop_others:
        kept = current_index.remove_other_indexes(index_assembly.require_data_dir(loaded))
        if arguments.json:
            _print_index_places(kept, arguments)
        else:
            print(f"Deleted the other indexes. Current: {kept.current}")
        return 0
    if arguments.profile is None:
        raise InvalidRequest(
            "--profile", "is required: the provider of the new embedding model; --rollback switches back"
        )
    return asyncio.run(_reindex_with_model(arguments, loaded))


async def _reindex_with_model(arguments: Namespace, settings: Settings) -> int:
    from rag_core.cli import indexing_output
    from rag_core.composition import index_assembly

    place = index_assembly.choose_rebuild_place(
        settings, profile_name=arguments.profile, model=arguments.model, dimensions=arguments.dimensions
    )
    require_index(settings)
    tariff = index_assembly.build_embedding_tariff(settings, place)
    meter = EmbeddingMeter(index_assembly.build_embedder_at(place, settings), tariff, arguments.budget_usd)
    if not meter.dimensions:
        raise Misconfigured("no embedding model of this profile is available here: rag doctor shows what is missing")
    if await _read_current_space(settings) == meter.space:
        print(f"{meter.space}: the current index already uses this model")
        return 0
    rebuild = index_assembly.open_index_rebuild(settings, place, meter)
    try:
        await _print_reindex_plan(rebuild, tariff, meter.space)
        return 0 if arguments.plan else await _build_and_switch(arguments, settings, place, rebuild, meter)
    except BudgetSpent as error:
        print(f"Stopped: {error.message}; run the command again to continue from here")
        return EXIT_BUDGET_SPENT
    finally:
        indexing_output.print_embedding_price(meter.sent_tokens, tariff)
        await rebuild.close()


async def _read_current_space(settings: Settings) -> str:
    """Return the embedding space of the current index."""
    from rag_core.composition import index_assembly

    index = index_assembly.build_index_at(
        settings, current_index.read_index_locations(index_assembly.require_data_dir(settings)).current
    )
    try:
        return await index.store.load_embedding_space()
    finally:
        await index.store.close()


async def _print_reindex_plan(rebuild: IndexRebuild, tariff: Tariff, space: str) -> None:
    from rag_core.cli import indexing_output, terminal_layout

    texts = (await rebuild.load_missing_texts()).values()
    sent = list_sent_texts(list(texts))
    price = indexing_output.format_token_price(tariff.count_tokens(sent), tariff)
    print(f"{space}: {terminal_layout.format_count(len(texts), 'text')} to embed, {price}")


async def _build_and_switch(
    arguments: Namespace, settings: Settings, place: IndexLocation, rebuild: IndexRebuild, meter: EmbeddingMeter
) -> int:
    from rag_core.cli import terminal_layout
    from rag_core.composition import index_assembly
    from rag_core.ingestion import reindex as building

    with terminal_layout.create_progress_bar(sys.stdout) as bar:
        await building.build_new_index(rebuild, meter, terminal_layout.create_progress_callback(bar))
    print(f"Built: {place}")
    if arguments.evaluate:
        await _compare_indexes(arguments, settings, place)
    if arguments.build_only:
        return 0
    data_dir = index_assembly.require_data_dir(settings)
    await building.switch_to_new_index(rebuild, meter, partial(current_index.switch_current_index, data_dir, place))
    _print_index_places(current_index.read_index_locations(data_dir), arguments)
    return 0


async def _compare_indexes(arguments: Namespace, settings: Settings, place: IndexLocation) -> None:
    """Print the scores of both indexes on the same questions."""
    from rag_core.composition import index_assembly
    from rag_core.evaluation import index_comparison

    old = index_assembly.build_index_at(
        settings, current_index.read_index_locations(index_assembly.require_data_dir(settings)).current
    )
    new = index_assembly.build_index_at(settings, place)
    try:
        print(await index_comparison.compare_indexes(arguments.evaluate, Scope(arguments.workflow), old, new))
    finally:
        await old.store.close()
        await new.store.close()


def _print_index_places(places: IndexLocations, arguments: Namespace) -> None:
    """Print the current and the previous index after a switch."""
    if arguments.json:
        print_json(places)
        return
    print(f"Current: {places.current}\nPrevious: {places.previous}; rag reindex --rollback switches back to it")
