"""Handlers that list, edit and reset the workbench's presets and prompts (S0-90, S0-92)."""

from typing import TYPE_CHECKING, Any

from functions.routes import Call
from rag_core import replies
from rag_core.workbench import edits
from rag_core.workbench.edits import EditedPreset, EditedPrompt

if TYPE_CHECKING:
    from functions import wire

SEARCH_TYPE = "search_type"  # the wire name of `Preset.how`


async def presets(_: None, call: Call) -> dict[str, Any]:
    """List the presets as shipped and as edited; warn of edited numbers that this version does not take."""
    edited_presets = await call.run.step("presets", edits.presets(call.kit, call.settings.house))
    for preset in edited_presets:
        if preset.unfit:
            numbers = ", ".join(sorted(preset.unfit))
            call.run.warn("edit_has_no_effect", f"{preset.name}: this version does not take the edited {numbers}")
    return {"success": True, "presets": [_preset(preset) for preset in edited_presets], **replies.diary(call.run)}


async def edit_preset(asked: "wire.PresetEdit", call: Call) -> dict[str, Any]:
    """Store other numbers for a preset, and reply with it as it is now in force."""
    config = {"how" if field == SEARCH_TYPE else field: value for field, value in asked.config.items()}
    await call.run.step("save", edits.edit_preset(asked.name, config, asked.description, call.kit))
    return await _saved_preset(asked.name, call)


async def reset_preset(asked: "wire.PresetRequest", call: Call) -> dict[str, Any]:
    """Discard the edit of a preset, and reply with it as shipped."""
    await call.run.step("save", edits.edit_preset(asked.name, None, "", call.kit))
    return await _saved_preset(asked.name, call)


async def prompts(_: None, call: Call) -> dict[str, Any]:
    """List the wordings of the workbench's prompts as shipped and as edited."""
    edited_prompts = await call.run.step("prompts", edits.prompts(call.kit))
    return {"success": True, "prompts": [_prompt(prompt) for prompt in edited_prompts], **replies.diary(call.run)}


async def edit_prompt(asked: "wire.PromptEdit", call: Call) -> dict[str, Any]:
    """Store another wording for a prompt, and reply with it."""
    await call.run.step("save", edits.edit_prompt(asked.tag, asked.wording, call.kit))
    return await _saved_prompt(asked.tag, call)


async def reset_prompt(asked: "wire.PromptRequest", call: Call) -> dict[str, Any]:
    """Discard the edit of a prompt, and reply with it as shipped."""
    await call.run.step("save", edits.edit_prompt(asked.tag, None, call.kit))
    return await _saved_prompt(asked.tag, call)


async def _saved_preset(name: str, call: Call) -> dict[str, Any]:
    edited_presets = await call.run.step("presets", edits.presets(call.kit, call.settings.house))
    saved = next(preset for preset in edited_presets if preset.name == name)
    return {"success": True, "preset": _preset(saved), **replies.diary(call.run)}


async def _saved_prompt(tag: str, call: Call) -> dict[str, Any]:
    edited_prompts = await call.run.step("prompts", edits.prompts(call.kit))
    saved = next(prompt for prompt in edited_prompts if prompt.tag == tag)
    return {"success": True, "prompt": _prompt(saved), **replies.diary(call.run)}


def _preset(one: EditedPreset) -> dict[str, Any]:
    return {
        "name": one.name,
        "pipeline": one.packaged.pipeline,
        "numbers": one.preset.numbers(),
        "packaged": one.packaged.numbers(),
        "edited": {SEARCH_TYPE if field == "how" else field: value for field, value in one.edited.items()},
        "description": one.description,
    }


def _prompt(one: EditedPrompt) -> dict[str, Any]:
    return {"tag": one.tag, "wording": one.wording, "packaged": one.packaged, "edited": one.wording != one.packaged}
