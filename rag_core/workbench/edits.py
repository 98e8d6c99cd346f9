"""Presets and prompts as they are shipped, and the edits of them that the archive keeps (S0-90, S0-92).

What the other functions reply is made from the packaged ones: edits are tried in the workbench and in replays.
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

House = Mapping[str, Mapping[str, float]]  # the operator's numbers, by preset
NO_HOUSE: House = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class EditedPreset:
    """A preset as it is in force (`preset`), as it is shipped, and which of its numbers were edited.

    `unfit` names edited numbers that a newer version of ours does not take: they are kept and have no effect.
    """

    name: str
    preset: Preset
    packaged: Preset
    edited: Mapping[str, Any]
    description: str
    unfit: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EditedPrompt:
    """The wording of a prompt that is in force, and ours."""

    tag: str
    wording: str
    packaged: str


async def resolved(name: str, kit: Kit, house: House = NO_HOUSE, **numbers: Any) -> Preset:
    """A preset with the operator's numbers, over these the edited ones, over these the given ones.

    Raises:
        InvalidRequest: no preset of that name, or a number out of its range.
    """
    edited = (await kit.archive.configs()).get(name, {})
    return resolve(name, **{**house.get(name, {}), **_fitting(edited), **numbers})


async def presets(kit: Kit, house: House = NO_HOUSE) -> Sequence[EditedPreset]:
    """Every preset, in the order in which they are shipped."""
    configs, descriptions = await kit.archive.configs(), await kit.archive.descriptions()
    return [
        _edited(packaged, house.get(name, {}), configs.get(name, {}), descriptions.get(name, ""))
        for name, packaged in PRESETS.items()
    ]


def _edited(packaged: Preset, house: Mapping[str, float], kept: Mapping[str, Any], description: str) -> EditedPreset:
    fitting = _fitting(kept)
    preset = resolve(packaged.name, **{**house, **fitting})
    return EditedPreset(packaged.name, preset, packaged, fitting, description, tuple(kept.keys() - fitting.keys()))


def _fitting(kept: Mapping[str, Any]) -> Mapping[str, Any]:
    """The numbers that this version takes: what an earlier one let in must not make a preset useless."""
    return {field: value for field, value in kept.items() if _fits(field, value)}


def _fits(field: str, value: Any) -> bool:
    """The ranges are those of every preset."""
    try:
        resolve(next(iter(PRESETS)), **{field: value})
    except InvalidRequest:
        return False
    return True


async def edit_preset(name: str, config: Mapping[str, Any] | None, description: str, kit: Kit) -> None:
    """Keep these as the numbers in which a preset differs from ours; None takes the edit back.

    Raises:
        NotFound: there is no such preset (preset_not_found).
        InvalidRequest: a number that a preset does not have, or one out of its range; the field is named.
    """
    if name not in PRESETS:
        raise NotFound(f"there are the presets {', '.join(PRESETS)}", code="preset_not_found", field="name")
    resolve(name, **(config or {}))
    await kit.archive.save_config(name, config, description)


async def prompts(kit: Kit) -> Sequence[EditedPrompt]:
    """The prompts of the workbench: only there do edits have an effect."""
    edited = await kit.archive.prompts()
    return [EditedPrompt(tag, edited.get(tag, wording(tag)), wording(tag)) for tag in TAGS]


async def edit_prompt(tag: str, text: str | None, kit: Kit) -> None:
    """Keep this as the wording of a prompt; None takes the edit back.

    Raises:
        NotFound: there is no such prompt, or none that can be edited (prompt_not_found).
        InvalidRequest: the wording lacks what its step cannot do without.
    """
    if tag not in TAGS:
        raise NotFound(f"there are the prompts {', '.join(TAGS)}", code="prompt_not_found", field="tag")
    if text is not None:
        check_wording(tag, text)
    await kit.archive.save_prompt(tag, text)
