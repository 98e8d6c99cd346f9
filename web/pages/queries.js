// /rag: the saved queries with their status and the buttons of their steps (S0-01).

import { buildAddress, getJson } from "../api.js";
import { Button, Empty, ErrorBox, formatCount, Loading, Page, Progress, RunNotices, Time, useAction, useLoad } from "../components.js";
import { html, useState } from "../html.js";
import { BUTTON_LABELS, PROGRESS_MESSAGES, runStep, Status } from "../steps.js";

const PAGE_SIZE = 50;

export default function QueriesPage({ query: parameters }) {
  const before = parameters.get("before");
  const list = useLoad(() => getJson("rag/queries", { limit: PAGE_SIZE, before }), []);
  const newQueryLink = html`<a class="button primary" href=${buildAddress("/rag/new")}>New query</a>`;
  return html`<${Page} title="Queries" actions=${newQueryLink}
      lead="A query goes through five steps: expand, embed, retrieve, consolidate, answer. Run the next step here, or open a query to see what each step produced.">
    ${list.error && html`<${ErrorBox} error=${list.error} retry=${list.reload} />`}
    ${list.loading && !list.data && html`<${Loading} what="Loading the queries" />`}
    ${list.data && html`<${QueryList} list=${list} isFirstPage=${!before} />`}
  <//>`;
}

function QueryList({ list, isFirstPage }) {
  const step = useAction();
  const [lastReply, setLastReply] = useState(null);
  const { queries, total } = list.data;
  const advance = async (name, id) => {
    const reply = await step.act(`${name} ${id}`, () => runStep(name, id));
    setLastReply(reply ? { id, ...reply } : null);
    await list.reload();
  };
  if (!queries.length && isFirstPage) return html`<${NoQueries} />`;
  return html`<div class="stack">
    <div role="status" class="status-text reserved">${step.busy ? html`<${Progress} what=${PROGRESS_MESSAGES[step.busy.split(" ")[0]]} />` : lastReply && html`<p><b>#${lastReply.id}</b> ${lastReply.message}</p><${RunNotices} ...${lastReply} />`}</div>
    ${step.error && html`<${ErrorBox} error=${step.error} />`}
    <div class="card table cards"><table>
      <caption class="visually-hidden">Queries, newest first</caption>
      <thead><tr><th class="numeric">No.</th><th>Query</th><th>Status</th><th>Steps</th><th class="numeric">Results</th></tr></thead>
      <tbody>${queries.map((query) => html`<${QueryRow} key=${query.id} query=${query} busy=${step.busy} advance=${advance} />`)}</tbody>
    </table></div>
    <div class="between">
      <p class="hint">${formatCount(total, "query", "queries")}${queries.length < total && `, ${queries.length} shown`}</p>
      ${!isFirstPage && html`<a class="button quiet" href=${buildAddress("/rag")}>Newest</a>`}
      ${queries.length === PAGE_SIZE && html`<a class="button quiet" href=${buildAddress("/rag", { before: queries.at(-1).id })}>Older</a>`}
    </div>
  </div>`;
}

function QueryRow({ query, busy, advance }) {
  return html`<tr>
    <td class="muted numeric">${query.id}</td>
    <th scope="row">
      <a class="question" href=${buildAddress(`/rag/${query.id}`)}>${query.original_query}</a>
      <p class="hint">${query.intent && html`${query.intent.toLowerCase()} · `}${query.origin !== "workbench" && html`${query.origin} · `}<${Time} at=${query.created_at} /></p>
    </th>
    <td><${Status} query=${query} /></td>
    <td><div class="step-buttons">${Object.entries(BUTTON_LABELS).map(([name, label]) => html`
      <${Button} kind=${query.next_step === name ? "primary small" : "quiet"} busy=${busy === `${name} ${query.id}`}
        disabled=${busy !== null || query.next_step !== name} aria-label="${label} query ${query.id}"
        onClick=${() => advance(name, query.id)}>${label}<//>`)}
    </div></td>
    <td class="numeric"><${ResultsLink} query=${query} /></td>
  </tr>`;
}

function ResultsLink({ query: { id, results_count: count, next_step: next } }) {
  if (count) return html`<a href=${buildAddress(`/rag/${id}/results`)}>${formatCount(count, "result")}</a>`;
  if (next === "augment") return html`<a class="button quiet" href=${buildAddress(`/rag/${id}`)}>Answer</a>`;
  return html`<span class="muted">no results</span>`;
}

function NoQueries() {
  return html`<${Empty} title="There are no queries in this workflow">
    <p>Create the first one. Without a chat model, local techniques are used, or you paste the response of a model.</p>
    <a class="button primary" href=${buildAddress("/rag/new")}>New query</a>
  <//>`;
}
