// What the saved runs have used: tokens and their price in all, by day, by pipeline and by model, and the steps that fell back.

import { getJson } from "../api.js";
import { Chip, Empty, ErrorBox, Field, formatCount, formatUsd, Loading, useLoad } from "../components.js";
import { html, useState } from "../html.js";
import { formatName } from "../labels.js";

const PERIODS = [[1, "today"], [7, "7 days"], [30, "30 days"], [90, "90 days"], [366, "a year"]];

export function UsageReport() {
  const [days, setDays] = useState(30);
  const { data, error, reload } = useLoad(() => getJson("rag/usage", { days }), [days]);
  return html`<div class="card stack">
    <${Field} label="Period" hint="Counted are answers that the page Ask keeps, the workbench's steps, and, where RAG_KEEP_RUNS is set, all other calls. Indexing, and answers that quoted a document that was purged, are not in it.">${(attributes) => html`
      <select ...${attributes} value=${days} onChange=${(event) => setDays(Number(event.target.value))}>${PERIODS.map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select>`}<//>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Summing up" />`}
    ${data && (data.total.runs ? html`<${Total} total=${data.total} /><${Days} days=${data.by_day} />` : html`<${Empty} title="Nothing was saved in this time"><p>What is asked on the page Ask is counted here.</p><//>`)}
  </div>
  ${data && data.total.runs > 0 && html`<div class="columns">
      <${UsageTable} name="By pipeline" groups=${data.by_pipeline} nameGroup=${(name) => name} />
      <${UsageTable} name="By model" groups=${data.by_model} nameGroup=${(name) => name || "no model named"} hint="A run counts for the model that answered, with all that its other models used." /></div>
    <${Degradations} causes=${data.degradations} />`}`;
}

/** Return the price of runs; a run of a model whose price is not known is not free. */
function formatPrice({ cost_usd, runs, runs_of_unknown_price: unknown }) {
  if (!unknown) return formatUsd(cost_usd);
  return unknown === runs ? "unknown" : `${formatUsd(cost_usd)}, ${unknown} unknown`;
}

function Total({ total }) {
  const facts = [
    ["runs", total.runs.toLocaleString()],
    ["tokens in", total.input_tokens.toLocaleString()],
    ["tokens out", total.output_tokens.toLocaleString()],
    ["cost", formatPrice(total)],
    ["with a step that fell back", total.degraded_runs.toLocaleString()],
  ];
  return html`<dl class="counts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** The runs of each day as bars with their numbers; days without a run are left out. */
function Days({ days }) {
  const most = Math.max(...days.map(({ runs }) => runs));
  return html`<div class="card table" tabindex="0" role="region" aria-label="Days"><table class="usage-days"><caption class="visually-hidden">By day</caption>
    <thead><tr><th scope="col">Day (UTC)</th><th scope="col" class="numeric">Runs</th><th scope="col" class="share"><span class="visually-hidden">Share</span></th><th scope="col" class="numeric">Tokens</th><th scope="col" class="numeric">Cost</th></tr></thead>
    <tbody>${days.toReversed().map((day) => html`<tr><th scope="row">${day.name}</th><td class="numeric">${day.runs}</td>
      <td class="share"><span class="track" aria-hidden="true"><span class="fill" style=${{ width: `${(100 * day.runs) / most}%` }}></span></span></td>
      <td class="numeric">${(day.input_tokens + day.output_tokens).toLocaleString()}</td><td class="numeric">${formatPrice(day)}</td></tr>`)}</tbody></table></div>`;
}

function UsageTable({ name, groups, nameGroup, hint }) {
  return html`<section class="card table" tabindex="0" aria-label=${name}><h2>${name}</h2>${hint && html`<p class="hint">${hint}</p>`}<table>
    <thead><tr><th scope="col">Name</th><th scope="col" class="numeric">Runs</th><th scope="col" class="numeric">Tokens</th><th scope="col" class="numeric">Cost</th></tr></thead>
    <tbody>${groups.map((group) => html`<tr><th scope="row">${nameGroup(group.name)}</th><td class="numeric">${group.runs}</td>
      <td class="numeric">${(group.input_tokens + group.output_tokens).toLocaleString()}</td><td class="numeric">${formatPrice(group)}</td></tr>`)}</tbody></table></section>`;
}

function Degradations({ causes }) {
  if (!causes.length) return html`<p class="hint">No step of these runs fell back.</p>`;
  return html`<section class="card stack tight" aria-labelledby="degradations"><h2 id="degradations">Steps that fell back</h2>
    <ul class="notices">${causes.map(({ step, code, reason, runs }) => html`<li><${Chip} tone="warn" title=${code}>${formatCount(runs, "run")}<//> <b>${formatName(step)}</b>: ${reason}</li>`)}</ul></section>`;
}
