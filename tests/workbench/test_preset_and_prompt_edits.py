"""Edited presets: the numbers that a preset has are in force, others are kept and named."""

from dataclasses import replace

from rag_core.composition.assembly import build_in_memory_kit
from rag_core.core.kit import Kit
from rag_core.core.settings import DEFAULT_SETTINGS
from rag_core.workbench.preset_and_prompt_edits import list_presets_with_edits, resolve_edited_preset, save_preset_edit


def kit_with_archive() -> Kit:
    return build_in_memory_kit(replace(DEFAULT_SETTINGS, keep_runs=True))


async def test_an_edit_of_a_number_that_only_some_pipelines_have_is_in_force() -> None:
    """S0-84, S0-85, S0-90."""
    kit = kit_with_archive()
    await save_preset_edit("workbench", {"rewordings": 1, "entity_boost": 0.3, "top_k": 5}, "", kit)
    preset = await resolve_edited_preset("workbench", kit)
    assert (preset.expansion.expanded_queries, preset.workbench.entity_boost, preset.search.top_k) == (1, 0.3, 5)
    [listed] = [edited for edited in await list_presets_with_edits(kit) if edited.name == "workbench"]
    assert (dict(listed.edited), listed.rejected_fields) == ({"rewordings": 1, "entity_boost": 0.3, "top_k": 5}, ())


async def test_an_edit_that_an_earlier_version_saved_is_read_and_what_does_not_fit_is_named() -> None:
    """S0-90: in 0.1 the search type was saved as `how`, and any preset took any number."""
    kit = kit_with_archive()
    await kit.archive.save_edited_preset("standard", {"how": "keyword", "rewordings": 2, "top_k": 5000})
    assert (await resolve_edited_preset("standard", kit)).search.search_type == "keyword"
    [listed] = [edited for edited in await list_presets_with_edits(kit) if edited.name == "standard"]
    assert dict(listed.edited) == {"search_type": "keyword"}
    assert set(listed.rejected_fields) == {"rewordings", "top_k"}
