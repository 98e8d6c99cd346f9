// /rag: all questions, where each stands, and the next step of each (S0-01).

import { address, get } from "../api.js";
import { Button, Empty, ErrorBox, Fell, Loading, many, Page, Time, useAction, useLoad, Waiting } from "../components.js";
import { html, useState } from "../html.js";
import { BUTTONS, DOING, Status, take } from "../steps.js";

const SHOWN = 50;

export default function QueriesPage({ query }) {
  const before = query.get("before");
  const list = useLoad(() => get("rag/queries", { limit: SHOWN, before }), []);
  const fresh = html`<a class="button primary" href=${address("/rag/new")}>New query</a>`;
  return html`<${Page} title="Questions" actions=${fresh}
      lead="Each question goes through the same steps: expand, embed, retrieve, consolidate, answer. Take them one by one and see what each did.">
    ${list.error && html`<${ErrorBox} error=${list.error} retry=${list.reload} />`}
    ${list.loading && !list.data && html`<${Loading} what="Loading the questions" />`}
    ${list.data && html`<${Listed} list=${list} first=${!before} />`}
  <//>`;
}

function Listed({ list, first }) {
  const step = useAction();
  const [said, setSaid] = useState(null);
  const { queries, total } = list.data;
  const advance = async (name, id) => {
    const reply = await step.act(`${name} ${id}`, () => take(name, id));
    setSaid(reply ? { id, ...reply } : null);
    await list.reload();
  };
  if (!queries.length && first) return html`<${Nothing} />`;
  return html`<div class="stack">
    <div role="status" class="said kept">${step.busy ? html`<${Waiting} what=${DOING[step.busy.split(" ")[0]]} />` : said && html`<p><b>#${said.id}</b> ${said.message}</p><${Fell} ...${said} />`}</div>
    ${step.error && html`<${ErrorBox} error=${step.error} />`}
    <div class="card table cards"><table>
      <caption class="visually-hidden">Questions, the newest first</caption>
      <thead><tr><th class="numeric">No.</th><th>Question</th><th>Where it stands</th><th>Next</th><th class="numeric">Results</th></tr></thead>
      <tbody>${queries.map((one) => html`<${Row} key=${one.id} query=${one} busy=${step.busy} advance=${advance} />`)}</tbody>
    </table></div>
    <div class="between">
      <p class="hint">${many(total, "question")}${queries.length < total && `, ${queries.length} shown`}</p>
      ${!first && html`<a class="button quiet" href=${address("/rag")}>Newest</a>`}
      ${queries.length === SHOWN && html`<a class="button quiet" href=${address("/rag", { before: queries.at(-1).id })}>Older</a>`}
    </div>
  </div>`;
}

function Row({ query, busy, advance }) {
  return html`<tr>
    <td class="muted numeric">${query.id}</td>
    <th scope="row">
      <a class="question" href=${address(`/rag/${query.id}`)}>${query.original_query}</a>
      <p class="hint">${query.intent && html`${query.intent.toLowerCase()} · `}${query.origin !== "workbench" && html`${query.origin} · `}<${Time} at=${query.created_at} /></p>
    </th>
    <td><${Status} query=${query} /></td>
    <td><div class="steps-of">${Object.entries(BUTTONS).map(([name, label]) => html`
      <${Button} kind=${query.next_step === name ? "primary small" : "quiet"} busy=${busy === `${name} ${query.id}`}
        disabled=${busy !== null || query.next_step !== name} aria-label="${label} question ${query.id}"
        onClick=${() => advance(name, query.id)}>${label}<//>`)}
    </div></td>
    <td class="numeric"><${Answered} query=${query} /></td>
  </tr>`;
}

function Answered({ query: { id, results_count: count, next_step: next } }) {
  if (count) return html`<a href=${address(`/rag/${id}/results`)}>${many(count, "result")}</a>`;
  if (next === "augment") return html`<a class="button quiet" href=${address(`/rag/${id}`)}>Answer</a>`;
  return html`<span class="muted">no results</span>`;
}

function Nothing() {
  return html`<${Empty} title="No questions yet in this workflow">
    <p>Ask the first one. It works without any chat model: local techniques stand in, or you paste what a model said.</p>
    <a class="button primary" href=${address("/rag/new")}>New query</a>
  <//>`;
}
