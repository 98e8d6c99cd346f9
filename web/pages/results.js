// /rag/{id}/results: all results of a query, newest first (S0-05).

import { Author } from "../answers.js";
import { buildAddress, getJson } from "../api.js";
import { Empty, ErrorBox, formatCount, Loading, Page, useLoad } from "../components.js";
import { html } from "../html.js";

export default function ResultsPage({ params: { id } }) {
  const paths = [`rag/queries/${id}/results`, `rag/queries/${id}`];
  const request = useLoad(() => Promise.all(paths.map((path) => getJson(path))));
  const [list, query] = request.data ?? [];
  const queryAddress = buildAddress(`/rag/${id}`);
  const trail = [[buildAddress("/rag"), "Queries"], [queryAddress, `Query ${id}`]];
  return html`<${Page} title="Results" trail=${trail} lead=${query && `${query.original_query} · ${formatCount(list.total, "result")}`}>
    ${request.error && html`<${ErrorBox} error=${request.error} retry=${request.reload} />`}
    ${request.loading && !request.data && html`<${Loading} what="Loading the results" />`}
    ${list && html`<${ResultList} id=${id} results=${list.results} queryAddress=${queryAddress} />`}
  <//>`;
}

function ResultList({ id, results, queryAddress }) {
  if (!results.length) return html`<${Empty} title="There are no results yet"><p>Run the chat model on the prompt, or paste the response of a model.</p><a class="button primary" href=${queryAddress}>Open the query</a><//>`;
  return html`<ol class="plain stack">${results.map((result) => html`<li key=${result.id} class="card stack tight">
    <div class="between"><h2><a href=${buildAddress(`/rag/${id}/results/${result.id}`)}>Result ${result.id}</a></h2><${Author} result=${result} /></div>
    <p class="clamped">${result.response_text}</p>
  </li>`)}</ol>`;
}
