"""Packaged presets and prompts with the edits that the archive keeps (S0-90, S0-92).

Edits take effect in the workbench and in replays only; all other requests use the packaged ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rag_core.core.errors import InvalidRequest, NotFound
from rag_core.core.kit import Kit
from rag_core.core.presets import PRESETS, Preset, resolve
from rag_core.prompts import wording
from rag_core.workbench.wordings import TAGS, check_wording

House = Mapping[str, Mapping[str, float]]  # the operator's numbers, by preset and field
NO_HOUSE: House = MappingProxyType({})


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
    unfit: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditedPrompt:
    """A prompt's template as it is in force, and as it is packaged."""

    tag: str
    wording: str
    packaged: str


async def resolved(name: str, kit: Kit, house: House = NO_HOUSE, **numbers: Any) -> Preset:
    """Resolve a preset; `numbers` override the edited numbers, which override the operator's.

    Raises:
        InvalidRequest: there is no preset of that name, or a number is out of its range.
    """
    edited = (await kit.archive.configs()).get(name, {})
    return resolve(name, **{**house.get(name, {}), **_fitting(edited), **numbers})


async def presets(kit: Kit, house: House = NO_HOUSE) -> Sequence[EditedPreset]:
    """Return all presets with their edits, in the order of PRESETS."""
    configs, descriptions = await kit.archive.configs(), await kit.archive.descriptions()
    return [
        _edited(packaged, house.get(name, {}), configs.get(name, {}), descriptions.get(name, ""))
        for name, packaged in PRESETS.items()
    ]


def _edited(packaged: Preset, house: Mapping[str, float], kept: Mapping[str, Any], description: str) -> EditedPreset:
    valid_numbers = _fitting(kept)
    preset = resolve(packaged.name, **{**house, **valid_numbers})
    rejected = tuple(kept.keys() - valid_numbers.keys())
    return EditedPreset(packaged.name, preset, packaged, valid_numbers, description, rejected)


def _fitting(kept: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the numbers that this version accepts, so that an edit of an earlier version cannot break a preset."""
    return {field: value for field, value in kept.items() if _fits(field, value)}


def _fits(field: str, value: Any) -> bool:
    """Return whether presets have this field and the value is in its range, which is the same for all presets."""
    try:
        resolve(next(iter(PRESETS)), **{field: value})
    except InvalidRequest:
        return False
    return True


async def edit_preset(name: str, config: Mapping[str, Any] | None, description: str, kit: Kit) -> None:
    """Save the numbers in which a preset differs from the packaged one; None removes the edit.

    Raises:
        NotFound: there is no such preset (preset_not_found).
        InvalidRequest: a preset has no such number, or it is out of its range; the field is named.
    """
    if name not in PRESETS:
        message = f"there is no such preset: the presets are {', '.join(PRESETS)}"
        raise NotFound(message, code="preset_not_found", field="name")
    resolve(name, **(config or {}))
    await kit.archive.save_config(name, config, description)


async def prompts(kit: Kit) -> Sequence[EditedPrompt]:
    """Return the workbench's prompts with their edits, in the order of EDITABLE_PROMPT_TAGS."""
    templates = await kit.archive.prompts()
    return [EditedPrompt(tag, templates.get(tag, wording(tag)), wording(tag)) for tag in TAGS]


async def edit_prompt(tag: str, text: str | None, kit: Kit) -> None:
    """Save an edited template of a prompt; None removes the edit.

    Raises:
        NotFound: there is no such prompt, or it cannot be edited (prompt_not_found).
        InvalidRequest: the template lacks what its step requires.
    """
    if tag not in TAGS:
        message = f"there is no such prompt: the prompts are {', '.join(TAGS)}"
        raise NotFound(message, code="prompt_not_found", field="tag")
    if text is not None:
        check_wording(tag, text)
    await kit.archive.save_prompt(tag, text)
