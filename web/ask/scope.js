// What is asked: the documents of the workflow, all, some or those with some metadata, and the preset. The choice stays in
// the tab, for each workflow.

import { getApiDescription, getWorkflowId } from "../api.js";
import { Chip, ErrorBox, Field, formatCount, Loading, useLoad } from "../components.js";
import { html, useState } from "../html.js";

export const EVERYTHING = { documents: [], filters: {}, preset: "" };
const getKey = () => `ask_scope:${getWorkflowId()}`;

/** Return the scope that was chosen in this tab, and a function that changes it. */
export function useScope() {
  const [scope, setScope] = useState(() => ({ ...EVERYTHING, ...JSON.parse(sessionStorage.getItem(getKey()) ?? "{}") }));
  const change = (changed) => {
    sessionStorage.setItem(getKey(), JSON.stringify(changed));
    setScope(changed);
  };
  return [scope, change];
}

/** What is asked now, in words, with the form that changes it folded below. */
export function ScopeBar({ scope, change, documents }) {
  const titles = new Map((documents.data?.documents ?? []).map(({ document_id, title }) => [document_id, title || document_id]));
  const count = documents.data ? formatCount(titles.size, "document") : "documents";
  const chosen = scope.documents.map((id) => titles.get(id) ?? id);
  return html`<details class="scope"><summary><span class="hint">Asking</span> <${Chip}>workflow ${getWorkflowId()}<//>
      <${Chip} tone=${chosen.length ? "next" : ""}>${documents.data && !titles.size ? "no documents yet" : chosen.length === 0 ? `all ${count}` : chosen.length === 1 ? chosen[0] : `${chosen.length} of ${count}`}<//>
      ${Object.entries(scope.filters).map(([name, value]) => html`<${Chip} tone="next">${name}: ${String(value)}<//> `)}
      <${Chip} tone=${scope.preset ? "next" : ""}>preset ${scope.preset || "advanced"}<//></summary>
    <${ScopeForm} scope=${scope} change=${change} documents=${documents} />
  </details>`;
}

function ScopeForm({ scope, change, documents }) {
  const presets = useLoad(async () => (await getApiDescription()).components.schemas.AskRequest.properties.preset.enum);
  const toggle = (id) => change({ ...scope, documents: scope.documents.includes(id) ? scope.documents.filter((one) => one !== id) : [...scope.documents, id] });
  if (documents.error) return html`<${ErrorBox} error=${documents.error} retry=${documents.reload} />`;
  if (!documents.data) return html`<${Loading} what="Loading the documents" />`;
  return html`<div class="stack tight scope-form">
    <fieldset><legend>Documents <span class="hint">choose none to ask all</span></legend><div class="checks">
      ${documents.data.documents.map(({ document_id, title }) => html`<label class="check"><input type="checkbox" checked=${scope.documents.includes(document_id)} onChange=${() => toggle(document_id)} /> ${title || document_id}</label>`)}
      ${documents.data.documents.length === 0 && html`<span class="hint">There are none yet.</span>`}</div></fieldset>
    <${FilterFields} scope=${scope} change=${change} documents=${documents.data.documents} />
    <${Field} label="Preset" hint="How passages are searched and ranked.">${(attributes) => html`<select ...${attributes} value=${scope.preset} onChange=${(event) => change({ ...scope, preset: event.target.value })}>
      <option value="">advanced (default)</option>
      ${(presets.data ?? []).filter((name) => !["advanced", "proposals"].includes(name)).map((name) => html`<option value=${name}>${name}</option>`)}</select>`}<//>
  </div>`;
}

const MOST_VALUES = 200; // of one name that are offered

/** For each name in the metadata of the documents, the values that it has: one may be asked for. */
function FilterFields({ scope, change, documents }) {
  const values = new Map();
  for (const { metadata } of documents) for (const [name, value] of Object.entries(metadata ?? {})) values.set(name, (values.get(name) ?? new Set()).add(JSON.stringify(value)));
  const choose = (name, chosen) => {
    const { [name]: _, ...others } = scope.filters;
    change({ ...scope, filters: chosen ? { ...others, [name]: JSON.parse(chosen) } : others });
  };
  if (!values.size) return null;
  return html`<fieldset><legend>Metadata <span class="hint">only documents that have this value</span></legend><div class="numbers">${[...values].map(([name, ofName]) => html`
    <${Field} label=${name}>${(attributes) => html`<select ...${attributes} value=${name in scope.filters ? JSON.stringify(scope.filters[name]) : ""} onChange=${(event) => choose(name, event.target.value)}>
      <option value="">any</option>${[...ofName].sort().slice(0, MOST_VALUES).map((value) => html`<option value=${value}>${String(JSON.parse(value))}</option>`)}</select>`}<//>`)}</div></fieldset>`;
}
