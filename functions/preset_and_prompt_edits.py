"""Handlers that list, edit and reset the workbench's presets and prompts (S0-90, S0-92)."""

from typing import Annotated, TypedDict

from pydantic import Field, StringConstraints

from functions.operations import ADMIN_ERRORS, Call, operation
from functions.requests import NO_OTHER_KEYS, ExactInt, FieldName, LineText, NonBlankText, Request
from rag_core.core.presets import NUMBER_RANGES, find_preset_name
from rag_core.run_reply import Done, format_run
from rag_core.workbench import preset_and_prompt_edits as edits

PresetNumbers = dict[str, str | int | float]


class PresetReply(TypedDict):
    """A preset: `numbers` are in force, `packaged` are the shipped ones, `edited` those that were changed."""

    name: str
    pipeline: str
    numbers: PresetNumbers
    packaged: PresetNumbers
    edited: PresetNumbers
    description: str


class NumberRangeReply(TypedDict):
    """The least and the greatest value of a number of a preset, and whether it is a whole number."""

    least: int | float
    greatest: int | float
    is_whole: bool


class PresetsReply(Done):
    """All presets; `ranges` are those of their numbers, by name."""

    presets: list[PresetReply]
    ranges: dict[str, NumberRangeReply]


@operation(
    "List the presets as shipped and as edited.",
    errors=(503, 504),
)
async def handle_list_presets(request: None, call: Call) -> PresetsReply:
    """List the presets as shipped and as edited; warn of edited numbers that this version does not take."""
    listing = edits.list_presets_with_edits(call.kit, call.settings.preset_overrides)
    edited_presets = await call.run.step("presets", listing)
    for preset in edited_presets:
        if preset.rejected_fields:
            numbers = ", ".join(sorted(preset.rejected_fields))
            call.run.warn("edit_has_no_effect", f"{preset.name}: this version does not take the edited {numbers}")
    return {
        **format_run(call.run),
        "presets": [_format_preset(preset) for preset in edited_presets],
        "ranges": {
            name: {"least": least, "greatest": greatest, "is_whole": isinstance(least, int)}
            for name, (least, greatest) in NUMBER_RANGES.items()
        },
    }


class PresetRequest(Request):
    """The name of a preset."""

    name: LineText


class PresetEdit(PresetRequest):
    """New values for numbers of a preset."""

    config: Annotated[dict[FieldName, ExactInt | float | str], Field(max_length=50, **NO_OTHER_KEYS)]
    description: Annotated[str, StringConstraints(max_length=500)] = ""


class PresetSaved(Done):
    """A preset as it is now in force."""

    preset: PresetReply


@operation(
    "Change the numbers of a preset for the workbench and for replays (administrators only).",
    errors=ADMIN_ERRORS,
    example={"name": "standard", "config": {"candidates": 50}, "description": "wider"},
    required_role="admin",
)
async def handle_edit_preset(request: PresetEdit, call: Call) -> PresetSaved:
    """Store other numbers for a preset, and reply with it as it is now in force."""
    saving = edits.save_preset_edit(request.name, request.config, request.description, call.kit)
    await call.run.step("save", saving)
    return await _reply_with_preset(request.name, call)


@operation(
    "Reset a preset to its shipped numbers (administrators only).",
    errors=ADMIN_ERRORS,
    example={"name": "standard"},
    required_role="admin",
)
async def handle_reset_preset(request: PresetRequest, call: Call) -> PresetSaved:
    """Discard the edit of a preset, and reply with it as shipped."""
    await call.run.step("save", edits.save_preset_edit(request.name, None, "", call.kit))
    return await _reply_with_preset(request.name, call)


class PromptReply(TypedDict):
    """A prompt: `wording` is in force, `packaged` is the shipped one."""

    tag: str
    wording: str
    packaged: str
    edited: bool


class PromptsReply(Done):
    """All prompts that can be edited."""

    prompts: list[PromptReply]


@operation(
    "List the workbench's prompts as shipped and as edited.",
    errors=(503, 504),
)
async def handle_list_prompts(request: None, call: Call) -> PromptsReply:
    """List the wordings of the workbench's prompts as shipped and as edited."""
    edited_prompts = await call.run.step("prompts", edits.list_prompts_with_edits(call.kit))
    return {**format_run(call.run), "prompts": [_format_prompt(prompt) for prompt in edited_prompts]}


class PromptRequest(Request):
    """The tag of a prompt."""

    tag: LineText


class PromptEdit(PromptRequest):
    """A new wording for a prompt."""

    wording: Annotated[NonBlankText, StringConstraints(max_length=20_000)]


class PromptSaved(Done):
    """A prompt as it is now in force."""

    prompt: PromptReply


@operation(
    "Change the wording of a workbench prompt (administrators only).",
    errors=ADMIN_ERRORS,
    example={"tag": "rag_augmentation", "wording": "You are an expert.\n\nQuery: {query}\n\nContext:\n{contexts}"},
    required_role="admin",
)
async def handle_edit_prompt(request: PromptEdit, call: Call) -> PromptSaved:
    """Store another wording for a prompt, and reply with it."""
    await call.run.step("save", edits.save_prompt_edit(request.tag, request.wording, call.kit))
    return await _reply_with_prompt(request.tag, call)


@operation(
    "Reset a prompt to its shipped wording (administrators only).",
    errors=ADMIN_ERRORS,
    example={"tag": "rag_augmentation"},
    required_role="admin",
)
async def handle_reset_prompt(request: PromptRequest, call: Call) -> PromptSaved:
    """Discard the edit of a prompt, and reply with it as shipped."""
    await call.run.step("save", edits.save_prompt_edit(request.tag, None, call.kit))
    return await _reply_with_prompt(request.tag, call)


async def _reply_with_preset(name: str, call: Call) -> PresetSaved:
    listing = edits.list_presets_with_edits(call.kit, call.settings.preset_overrides)
    edited_presets = await call.run.step("presets", listing)
    saved = next(preset for preset in edited_presets if preset.name == find_preset_name(name))
    return {**format_run(call.run), "preset": _format_preset(saved)}


async def _reply_with_prompt(tag: str, call: Call) -> PromptSaved:
    edited_prompts = await call.run.step("prompts", edits.list_prompts_with_edits(call.kit))
    saved = next(prompt for prompt in edited_prompts if prompt.tag == tag)
    return {**format_run(call.run), "prompt": _format_prompt(saved)}


def _format_preset(edited_preset: edits.EditedPreset) -> PresetReply:
    return {
        "name": edited_preset.name,
        "pipeline": edited_preset.packaged.pipeline,
        "numbers": edited_preset.preset.export_numbers(),
        "packaged": edited_preset.packaged.export_numbers(),
        "edited": dict(edited_preset.edited),
        "description": edited_preset.description,
    }


def _format_prompt(edited_prompt: edits.EditedPrompt) -> PromptReply:
    return {
        "tag": edited_prompt.tag,
        "wording": edited_prompt.template,
        "packaged": edited_prompt.packaged_template,
        "edited": edited_prompt.template != edited_prompt.packaged_template,
    }
