// /rag/{id}/results: all answers to a question, the newest first (S0-05).

import { address, get } from "../api.js";
import { Author } from "../answers.js";
import { Empty, ErrorBox, Loading, many, Page, useLoad } from "../components.js";
import { html } from "../html.js";

export default function ResultsPage({ params: { id } }) {
  const paths = [`rag/queries/${id}/results`, `rag/queries/${id}`];
  const loaded = useLoad(() => Promise.all(paths.map((path) => get(path))));
  const [found, asked] = loaded.data ?? [];
  const question = address(`/rag/${id}`);
  const trail = [[address("/rag"), "Questions"], [question, `Question ${id}`]];
  return html`<${Page} title="Results" trail=${trail} lead=${asked && `${asked.original_query} · ${many(found.total, "answer")}`}>
    ${loaded.error && html`<${ErrorBox} error=${loaded.error} retry=${loaded.reload} />`}
    ${loaded.loading && !loaded.data && html`<${Loading} what="Loading the results" />`}
    ${found && html`<${Listed} id=${id} results=${found.results} question=${question} />`}
  <//>`;
}

function Listed({ id, results, question }) {
  if (!results.length) return html`<${Empty} title="No answer yet"><p>Run the model on the prompt, or paste what one said.</p><a class="button primary" href=${question}>To the question</a><//>`;
  return html`<ol class="plain stack">${results.map((result) => html`<li key=${result.id} class="card stack tight">
    <div class="between"><h2><a href=${address(`/rag/${id}/results/${result.id}`)}>Result ${result.id}</a></h2><${Author} result=${result} /></div>
    <p class="clamped">${result.response_text}</p>
  </li>`)}</ol>`;
}
