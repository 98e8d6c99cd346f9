// /rag/{id}/results/{resultId}: one result of a query, its verdicts and sources, and how it was generated (S0-06).

import { Author, VerifiedText } from "../answers.js";
import { buildAddress, getJson } from "../api.js";
import { ErrorBox, Loading, Page, Time, useLoad } from "../components.js";
import { html } from "../html.js";
import { Facts, StepRecord } from "../steps.js";

export default function ResultPage({ params: { id, resultId } }) {
  const paths = [`rag/queries/${id}/results/${resultId}`, `rag/queries/${id}`];
  const request = useLoad(() => Promise.all(paths.map((path) => getJson(path))));
  const [result, query] = request.data ?? [];
  const trail = [[buildAddress("/rag"), "Queries"], [buildAddress(`/rag/${id}`), `Query ${id}`], [buildAddress(`/rag/${id}/results`), "Results"]];
  return html`<${Page} title="Result ${resultId}" trail=${trail} lead=${query?.original_query}>
    ${request.error && html`<${ErrorBox} error=${request.error} retry=${request.reload} />`}
    ${request.loading && !request.data && html`<${Loading} what="Loading the result" />`}
    ${result && html`<${SavedResult} result=${result} />`}
  <//>`;
}

function SavedResult({ result }) {
  const { claims, reply, feedback, follows, full_model: usedFullModel, pasted = false, ...record } = result.details;
  return html`<div class="stack">
    <article class="card stack"><${Author} result=${result} /><${VerifiedText} text=${result.response_text} claims=${claims ?? reply?.claims} /></article>
    <section class="card stack" aria-labelledby="generation"><h2 id="generation">How the answer was generated</h2>
      ${record.went_in ? html`<${StepRecord} step=${record} />` : html`<${Facts} facts=${record} />`}
      <p class="hint">${pasted ? "pasted · " : usedFullModel ? "full model · " : ""}saved <${Time} at=${result.created_at} />${result.updated_at !== result.created_at && html`, changed <${Time} at=${result.updated_at} />`}</p>
    </section>
  </div>`;
}
