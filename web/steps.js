// The steps of a question: which are done, which is next, and what each left behind.

import { send } from "./api.js";
import { Chip, Cost, Fell, milliseconds, Timings } from "./components.js";
import { Excerpt } from "./evidence.js";
import { html } from "./html.js";

/** Those that a person takes by a button, in their order, and what the button says. */
export const BUTTONS = { embed: "Embed", retrieve: "Retrieve", consolidate: "Consolidate" };

/** All of them by what the reader knows them as. */
export const TITLES = { expand: "Expand", ...BUTTONS, augment: "Answer" };

/** What is being done while one is taken. */
export const DOING = {
  embed: "Making the vectors",
  retrieve: "Searching, then judging each candidate",
  consolidate: "Putting passages together",
};

/** Take a step of a question. Gives the route's reply. */
export const take = (step, id) => send("POST", `rag/queries/${id}/${step}`);

const EMBEDDED = {
  vec: ["good", "embedded", "✓ embedded"],
  to_vec: ["warn", "edited after it was embedded: what depended on that was taken back", "embed again"],
  vec_err: ["bad", "the last try to embed it failed", "embedding failed"],
};

/** Where a question stands, as a chip a step. Works for an item of the list and for a whole question. */
export function Status({ query }) {
  const [tone, title, text] = EMBEDDED[query.vector_status] ?? [];
  return html`<span class="chips">
    ${text ? html`<${Chip} tone=${tone} title=${title}>${text}<//>` : html`<${Done} name="embedded" done=${false} />`}
    <${Done} name="retrieved" done=${query.has_retrieved_context} />
    <${Done} name="consolidated" done=${query.has_clean_context} />
  </span>`;
}

function Done({ name, done }) {
  return html`<${Chip} tone=${done ? "good" : "pending"}>${done ? "✓ " : html`<span class="visually-hidden">not yet </span>`}${name}<//>`;
}

/** Time, cost and technique of a step in a line, and what fell back; what went in and came out unfolds. */
export function Account({ step }) {
  if (!step) return null;
  const techniques = Object.values(step.techniques);
  return html`<div class="account">
    <p class="hint"><b>${milliseconds(step.ms)}</b> · <${Cost} usage=${step} />
      ${techniques.length > 0 && html` · ${[...new Set(techniques)].join(" · ")}`}</p>
    <${Fell} degraded=${step.degraded} warnings=${step.warnings} />
    <details><summary>What went in, what came out, where the time went</summary>
      <div class="columns">
        <div><h3>In</h3><${Facts} facts=${step.went_in} /></div>
        <div><h3>Out</h3><${Facts} facts=${step.came_out} /></div>
      </div>
      <${Timings} timings=${step.timings} />
    </details>
  </div>`;
}

/** Any record of names and values, as a list of them. */
export function Facts({ facts, dense = false }) {
  const entries = Object.entries(facts ?? {});
  if (!entries.length) return html`<p class="muted">nothing</p>`;
  return html`<dl class=${dense ? "facts dense" : "facts"}>${entries.map(([name, value]) => html`<dt>${name.replaceAll("_", " ")}</dt><dd><${Value} value=${value} /></dd>`)}</dl>`;
}

function Value({ value }) {
  if (value === null || value === undefined || value === "") return html`<span class="muted">none</span>`;
  if (Array.isArray(value) && value.every((one) => typeof one !== "object"))
    return value.length ? html`<ul class="plain">${value.map((one) => html`<li>${String(one)}</li>`)}</ul>` : html`<span class="muted">none</span>`;
  if (typeof value === "object") return html`<code>${JSON.stringify(value)}</code>`;
  return html`<${Excerpt} text=${String(value)} />`;
}

/** How long each step took, for the bar: {title: ms} in the order of the steps. */
export const timesOf = (steps) =>
  Object.fromEntries(Object.entries(TITLES).filter(([name]) => steps?.[name]).map(([name, title]) => [title.toLowerCase(), steps[name].ms]));
