// The presets: numbers as packaged, numbers as edited. An edit is kept beside the packaged number and can be taken back.

import { get, send } from "../api.js";
import { Button, Chip, ErrorBox, Field, Loading, short, useAction, useLoad } from "../components.js";
import { html, useState } from "../html.js";
import { EVERYONES, Refusal } from "./shared.js";

/** The presets, and of the settings that are words the words there are, as the server describes them. */
async function loaded() {
  const [{ presets }, { components }] = await Promise.all([get("rag/presets"), get("api/openapi.json")]);
  const { enum: kinds } = components.schemas.ConsultRequest.properties.search_type;
  return { presets, words: { search_type: kinds } };
}

export function Presets() {
  const { data, error, reload } = useLoad(loaded);
  const [name, setName] = useState(null);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  const preset = data.presets.find((one) => one.name === name) ?? data.presets[0];
  return html`<p class="hint">Edited numbers apply to the workbench and to replays.</p>
    <${Field} label="Preset">${(named) => html`<select ...${named} value=${preset.name} onChange=${(event) => setName(event.target.value)}>
      ${data.presets.map((one) => html`<option value=${one.name}>${one.name}${Object.keys(one.edited).length ? " (edited)" : ""}</option>`)}</select>`}<//>
    <${Editor} key=${preset.name + JSON.stringify(preset.edited)} preset=${preset} words=${data.words} reload=${reload} />`;
}

const NAMES = ["name", "pipeline", "hash"]; // what a preset is, not what it is run with

function Editor({ preset, words, reload }) {
  const { busy, error, act } = useAction();
  const numbers = Object.entries(preset.packaged).filter(([name]) => !NAMES.includes(name));
  const edited = Object.keys(preset.edited).length > 0;
  const save = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const config = Object.fromEntries(numbers.map(([name, was]) => [name, read(form.get(name), was)]).filter(([name, now]) => now !== preset.packaged[name]));
    act("save", async () => {
      await send("PUT", `rag/presets/${preset.name}`, { ...EVERYONES, config, description: form.get("description") });
      await reload();
    });
  };
  const back = () =>
    act("back", async () => {
      await send("DELETE", `rag/presets/${preset.name}`, EVERYONES);
      await reload();
    });
  return html`<form class="stack tight" onSubmit=${save}>
    <p class="chips"><${Chip}>pipeline ${preset.pipeline}<//><${Chip} tone=${edited ? "next" : ""}>${edited ? "edited" : "as packaged"}<//></p>
    <div class="numbers">${numbers.map(([name, was]) => html`<${Setting} name=${name} was=${was} now=${preset.edited[name] ?? was} words=${words[name]} />`)}</div>
    <${Field} label="Why" hint="kept with the edit">${(named) => html`<input ...${named} name="description" defaultValue=${preset.description ?? ""} maxlength="500" />`}<//>
    <div class="actions"><${Button} kind="primary" type="submit" busy=${busy === "save"}>Save<//>
      <${Button} disabled=${!edited} busy=${busy === "back"} onClick=${back}>Back to the packaged numbers<//></div>
    <${Refusal} error=${error} />
  </form>`;
}

const read = (text, was) => (typeof was === "number" ? Number(text) : text);

function Setting({ name, was, now, words }) {
  const look = now === was ? "" : "edited";
  const control = (named) =>
    words
      ? html`<select ...${named} name=${name} class=${look}>${words.map((word) => html`<option selected=${word === now}>${word}</option>`)}</select>`
      : html`<input ...${named} name=${name} class=${look} type="number" step="any" min="0" required defaultValue=${now} />`;
  return html`<${Field} label=${name.replaceAll("_", " ")} hint=${now === was ? null : `packaged: ${words ? was : short(was)}`}>${control}<//>`;
}
