"""Packaged presets and prompts with the edits that the archive keeps (S0-90, S0-92).

Edits take effect in the workbench and in replays only; all other requests use the packaged ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rag_core.core.errors import NotFound
from rag_core.core.kit import Kit
from rag_core.core.presets import (
    PRESET_NAMES,
    PRESETS,
    Preset,
    find_preset_name,
    rename_old_numbers,
    resolve_preset,
    select_valid_numbers,
)
from rag_core.prompts import EDITABLE_PROMPT_TAGS, load_packaged_template
from rag_core.workbench.template_validation import validate_template

PresetOverrides = Mapping[str, Mapping[str, float]]  # the operator's numbers, by preset and field
NO_PRESET_OVERRIDES: PresetOverrides = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class EditedPreset:
    """A preset as it is in force (`preset`) and as it is packaged, with the numbers that were edited.

    `rejected_fields` names edited numbers that this version does not accept: they are kept and have no effect.
    """

    name: str
    preset: Preset
    packaged: Preset
    edited: Mapping[str, Any]
    description: str
    rejected_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditedPrompt:
    """A prompt's template as it is in force, and as it is packaged."""

    tag: str
    template: str
    packaged_template: str


async def resolve_edited_preset(
    name: str, kit: Kit, preset_overrides: PresetOverrides = NO_PRESET_OVERRIDES, **numbers: Any
) -> Preset:
    """Resolve a preset; `numbers` override the edited numbers, which override the operator's.

    Raises:
        InvalidRequest: there is no preset of that name, or a number is out of its range.
    """
    name = find_preset_name(name)
    edited = (await kit.archive.load_edited_presets()).get(name, {})
    return resolve_preset(name, **{**preset_overrides.get(name, {}), **select_valid_numbers(name, edited), **numbers})


async def list_presets_with_edits(
    kit: Kit, preset_overrides: PresetOverrides = NO_PRESET_OVERRIDES
) -> Sequence[EditedPreset]:
    """Return all presets with their edits, in the order of PRESETS."""
    configs, descriptions = await kit.archive.load_edited_presets(), await kit.archive.load_preset_descriptions()
    return [
        _apply_preset_edit(packaged, preset_overrides.get(name, {}), configs.get(name, {}), descriptions.get(name, ""))
        for name, packaged in PRESETS.items()
    ]


def _apply_preset_edit(
    packaged: Preset, overrides: Mapping[str, float], saved_edit: Mapping[str, Any], description: str
) -> EditedPreset:
    valid_numbers = select_valid_numbers(packaged.name, saved_edit)
    preset = resolve_preset(packaged.name, **{**overrides, **valid_numbers})
    rejected = tuple(rename_old_numbers(saved_edit).keys() - valid_numbers.keys())
    return EditedPreset(packaged.name, preset, packaged, valid_numbers, description, rejected)


async def save_preset_edit(name: str, config: Mapping[str, Any] | None, description: str, kit: Kit) -> None:
    """Save the numbers in which a preset differs from the packaged one; None removes the edit.

    Raises:
        NotFound: there is no such preset (preset_not_found).
        InvalidRequest: a preset has no such number, or it is out of its range; the field is named.
    """
    name = find_preset_name(name)
    if name not in PRESETS:
        message = f"there is no such preset: the presets are {', '.join(PRESET_NAMES)}"
        raise NotFound(message, code="preset_not_found", field="name")
    resolve_preset(name, **(config or {}))
    await kit.archive.save_edited_preset(name, config, description)


async def list_prompts_with_edits(kit: Kit) -> Sequence[EditedPrompt]:
    """Return the workbench's prompts with their edits, in the order of EDITABLE_PROMPT_TAGS."""
    templates = await kit.archive.load_edited_prompts()
    return [
        EditedPrompt(tag, templates.get(tag, load_packaged_template(tag)), load_packaged_template(tag))
        for tag in EDITABLE_PROMPT_TAGS
    ]


async def save_prompt_edit(tag: str, template: str | None, kit: Kit) -> None:
    """Save an edited template of a prompt; None removes the edit.

    Raises:
        NotFound: there is no such prompt, or it cannot be edited (prompt_not_found).
        InvalidRequest: the template lacks what its step requires.
    """
    if tag not in EDITABLE_PROMPT_TAGS:
        message = f"there is no such prompt: the prompts are {', '.join(EDITABLE_PROMPT_TAGS)}"
        raise NotFound(message, code="prompt_not_found", field="tag")
    if template is not None:
        validate_template(tag, template)
    await kit.archive.save_edited_prompt(tag, template)
