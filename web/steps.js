// The steps of a saved query: their names, their status, and the record that each one leaves.

import { sendJson } from "./api.js";
import { Chip, Cost, formatDuration, RunNotices, Timings } from "./components.js";
import { Excerpt } from "./evidence.js";
import { html } from "./html.js";
import { formatName, formatVariant } from "./labels.js";

/** The labels of the buttons that run a step, in the order of the steps. */
export const BUTTON_LABELS = { embed: "Embed", retrieve: "Retrieve", consolidate: "Consolidate" };

/** The titles of all steps, in their order. */
export const STEP_TITLES = { expand: "Expand", ...BUTTON_LABELS, augment: "Answer" };

/** The progress messages of the steps that a button runs. */
export const PROGRESS_MESSAGES = {
  embed: "Computing the embeddings",
  retrieve: "Searching and reranking",
  consolidate: "Consolidating the passages",
};

/** Run a step of a saved query and return the route's reply. */
export const runStep = (step, id) => sendJson("POST", `rag/queries/${id}/${step}`);

const VECTOR_STATUSES = {
  vec: ["good", "The query is embedded.", "✓ embedded"],
  to_vec: ["warn", "The query was edited after it was embedded. The results that depended on the embeddings were discarded.", "embed again"],
  vec_err: ["bad", "The last attempt to embed the query failed.", "embedding failed"],
};

/** The status of a query, one chip per step, for an item of the list or a whole query. */
export function Status({ query }) {
  const [tone, title, text] = VECTOR_STATUSES[query.vector_status] ?? [];
  return html`<span class="chips">
    ${text ? html`<${Chip} tone=${tone} title=${title}>${text}<//>` : html`<${StepStatus} name="embedded" done=${false} />`}
    <${StepStatus} name="retrieved" done=${query.has_retrieved_context} />
    <${StepStatus} name="consolidated" done=${query.has_clean_context} />
  </span>`;
}

function StepStatus({ name, done }) {
  return html`<${Chip} tone=${done ? "good" : "pending"}>${done ? "✓ " : html`<span class="visually-hidden">not yet </span>`}${name}<//>`;
}

/** The record of a step: time, cost, techniques, degradations and warnings; its inputs and outputs unfold. */
export function StepRecord({ step }) {
  if (!step) return null;
  const techniques = Object.values(step.techniques);
  return html`<div class="step-record">
    <p class="hint"><b>${formatDuration(step.ms)}</b> · <${Cost} usage=${step} />
      ${techniques.length > 0 && html` · ${[...new Set(techniques)].join(" · ")}`}</p>
    <${RunNotices} degraded=${step.degraded} warnings=${step.warnings} />
    <details><summary>Inputs, outputs and timings</summary>
      <div class="columns">
        <div><h3>Inputs</h3><${Facts} facts=${step.went_in} /></div>
        <div><h3>Outputs</h3><${Facts} facts=${step.came_out} /></div>
      </div>
      <${Timings} timings=${step.timings} />
    </details>
  </div>`;
}

const VARIANT_LISTS = ["meaning", "words"]; // inputs whose values are labels of query variants

/** A record of names and values as a list; `formatLabel` turns a name into its label. */
export function Facts({ facts, dense = false, formatLabel = formatName }) {
  const entries = Object.entries(facts ?? {});
  if (!entries.length) return html`<p class="muted">none</p>`;
  return html`<dl class=${dense ? "facts dense" : "facts"}>${entries.map(([name, value]) => html`<dt>${formatLabel(name)}</dt><dd><${Value} value=${isVariantList(name, value) ? value.map(formatVariant) : value} /></dd>`)}</dl>`;
}

const isVariantList = (name, value) => VARIANT_LISTS.includes(name) && Array.isArray(value);

function Value({ value }) {
  if (value === null || value === undefined || value === "") return html`<span class="muted">none</span>`;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return value.length ? html`<ul class="plain">${value.map((item) => html`<li>${String(item)}</li>`)}</ul>` : html`<span class="muted">none</span>`;
  if (typeof value === "object") return html`<code>${JSON.stringify(value)}</code>`;
  return html`<${Excerpt} text=${String(value)} />`;
}

/** Return the duration of each step for a bar: {title: ms} in the order of the steps. */
export const collectStepTimes = (steps) =>
  Object.fromEntries(Object.entries(STEP_TITLES).filter(([name]) => steps?.[name]).map(([name, title]) => [title.toLowerCase(), steps[name].ms]));
