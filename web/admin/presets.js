// The presets with their packaged and edited numbers, each explained. An edit is saved beside the packaged numbers and can be undone.

import { getApiDescription, getJson, sendJson } from "../api.js";
import { Button, Chip, ErrorBox, Field, formatNumber, Loading, useAction, useLoad } from "../components.js";
import { html, useRef, useState } from "../html.js";
import { explainPresetNumber, formatPresetNumber } from "../labels.js";
import { AdminErrorBox, NO_WORKFLOW } from "./access.js";

/** Load {presets, ranges, choices}: `choices` has the possible values of each setting that is not a number. */
async function loadPresets() {
  const [{ presets, ranges }, { components }] = await Promise.all([getJson("rag/presets"), getApiDescription()]);
  const { enum: searchTypes } = components.schemas.ConsultRequest.properties.search_type;
  return { presets, ranges, choices: { search_type: searchTypes } };
}

export function PresetEditor() {
  const { data, error, reload } = useLoad(loadPresets);
  const [name, setName] = useState(null);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  const selected = data.presets.find((preset) => preset.name === name) ?? data.presets[0];
  return html`<div class="card stack"><${Field} label="Preset">${(attributes) => html`<select ...${attributes} value=${selected.name} onChange=${(event) => setName(event.target.value)}>
      ${data.presets.map((preset) => html`<option value=${preset.name}>${preset.name}${Object.keys(preset.edited).length ? " (edited)" : ""}</option>`)}</select>`}<//>
    <${PresetForm} key=${selected.name} preset=${selected} ranges=${data.ranges} choices=${data.choices} reload=${reload} /></div>`;
}

const NOT_EDITABLE = ["name", "pipeline", "hash"]; // they identify a preset

function PresetForm({ preset, ranges, choices, reload }) {
  const { busy, error, act } = useAction();
  const form = useRef();
  const settings = Object.entries(preset.packaged).filter(([name]) => !NOT_EDITABLE.includes(name));
  const isEdited = Object.keys(preset.edited).length > 0;
  const save = (event) => {
    event.preventDefault();
    const filled = new FormData(event.target);
    const values = settings.map(([name, packaged]) => [name, parseSetting(filled.get(name), packaged)]);
    const config = Object.fromEntries(values.filter(([name, value]) => value !== preset.packaged[name]));
    act("save", async () => {
      await sendJson("PUT", `rag/presets/${preset.name}`, { ...NO_WORKFLOW, config, description: filled.get("description") });
      await reload();
    });
  };
  const reset = () =>
    act("reset", async () => {
      await sendJson("DELETE", `rag/presets/${preset.name}`, NO_WORKFLOW);
      await reload();
      form.current?.reset(); // to what is loaded now
    });
  return html`<form class="stack tight" ref=${form} onSubmit=${save}>
    <p class="chips"><${Chip}>pipeline ${preset.pipeline}<//><${Chip} tone=${isEdited ? "next" : ""}>${isEdited ? "edited" : "as packaged"}<//></p>
    <div class="numbers">${settings.map(([name, packaged]) => html`<${Setting} name=${name} packaged=${packaged} current=${preset.edited[name] ?? packaged} choices=${choices[name]} range=${ranges[name]} />`)}</div>
    <${Field} label="Reason" hint="Saved with the edit.">${(attributes) => html`<input ...${attributes} name="description" defaultValue=${preset.description ?? ""} maxlength="500" />`}<//>
    <div class="actions"><${Button} kind="primary" type="submit" busy=${busy === "save"}>Save<//>
      <${Button} disabled=${!isEdited} busy=${busy === "reset"} onClick=${reset}>Restore the packaged numbers<//></div>
    <${AdminErrorBox} error=${error} />
  </form>`;
}

const parseSetting = (text, packaged) => (typeof packaged === "number" ? Number(text) : text);

function Setting({ name, packaged, current, choices, range }) {
  const isEdited = current !== packaged;
  const renderControl = (attributes) =>
    choices
      ? html`<select ...${attributes} name=${name} class=${isEdited ? "edited" : ""}>${choices.map((choice) => html`<option defaultSelected=${choice === current}>${choice}</option>`)}</select>`
      : html`<input ...${attributes} name=${name} class=${isEdited ? "edited" : ""} type="number" step=${range?.is_whole ? 1 : "any"} min=${range?.least ?? 0} max=${range?.greatest} required defaultValue=${current} />`;
  const limits = range && `${formatNumber(range.least)} to ${formatNumber(range.greatest)}`;
  const hint = [explainPresetNumber(name), limits && `${limits}.`, isEdited && `Packaged: ${choices ? packaged : formatNumber(packaged)}.`].filter(Boolean).join(" ");
  return html`<${Field} label=${formatPresetNumber(name)} hint=${hint}>${renderControl}<//>`;
}
