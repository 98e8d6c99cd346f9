// /rag/{id}/results/{resultId}: one answer, what the documents say to it, and how it was made (S0-06).

import { address, get } from "../api.js";
import { Author, Checked } from "../answers.js";
import { ErrorBox, Loading, Page, Time, useLoad } from "../components.js";
import { html } from "../html.js";
import { Account, Facts } from "../steps.js";

export default function ResultPage({ params: { id, resultId } }) {
  const paths = [`rag/queries/${id}/results/${resultId}`, `rag/queries/${id}`];
  const loaded = useLoad(() => Promise.all(paths.map((path) => get(path))));
  const [result, question] = loaded.data ?? [];
  const trail = [[address("/rag"), "Questions"], [address(`/rag/${id}`), `Question ${id}`], [address(`/rag/${id}/results`), "Results"]];
  return html`<${Page} title="Result ${resultId}" trail=${trail} lead=${question?.original_query}>
    ${loaded.error && html`<${ErrorBox} error=${loaded.error} retry=${loaded.reload} />`}
    ${loaded.loading && !loaded.data && html`<${Loading} what="Loading the result" />`}
    ${result && html`<${Shown} result=${result} />`}
  <//>`;
}

function Shown({ result }) {
  const { claims, full_model: full, pasted = false, ...account } = result.details;
  return html`<div class="stack">
    <article class="card stack"><${Author} result=${result} /><${Checked} text=${result.response_text} claims=${claims} /></article>
    <section class="card stack" aria-labelledby="made"><h2 id="made">How it was made</h2>
      ${account.went_in ? html`<${Account} step=${account} />` : html`<${Facts} facts=${account} />`}
      <p class="hint">${pasted ? "pasted · " : full ? "full model · " : ""}kept <${Time} at=${result.created_at} />${result.updated_at !== result.created_at && html`, changed <${Time} at=${result.updated_at} />`}</p>
    </section>
  </div>`;
}
