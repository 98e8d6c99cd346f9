// The proposals: their ingestion, and a question to them, filtered by stage and status.

import { getApiDescription, sendJson } from "../api.js";
import { Button, buildSourceAddress, Chip, Cost, DataLink, ErrorBox, Field, Loading, RunNotices, Timings, useAction, useLoad } from "../components.js";
import { html, useState } from "../html.js";
import { NO_WORKFLOW } from "./access.js";
import { IngestionForm } from "./ingestion.js";

export function ProposalsPage() {
  return html`<section class="card stack" aria-labelledby="ingestion"><h2 id="ingestion">Ingestion</h2><${IngestionForm} /></section>
    <section class="card stack" aria-labelledby="asking"><h2 id="asking">Ask the proposals</h2><${AskForm} /></section>`;
}

/** Load the values of the form's fields from the API description: {stages, statuses}. */
async function loadChoices() {
  const { stage, status } = (await getApiDescription()).components.schemas.ProposalFilters.properties;
  return { stages: stage.items.enum, statuses: status.items.enum };
}

function AskForm() {
  const { data, error, reload } = useLoad(loadChoices);
  const [reply, setReply] = useState(null);
  const { busy, error: failure, act } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const filters = { stage: form.getAll("stage"), status: form.getAll("status") };
    const answer = await act("ask", () => sendJson("POST", "api/rag/query", { ...NO_WORKFLOW, query: form.get("query"), filters }));
    setReply(answer ?? null);
  };
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  return html`<form class="stack" onSubmit=${submit}>
      <${Field} label="Question">${(attributes) => html`<textarea ...${attributes} name="query" required maxlength="1000" rows="2"
        placeholder="Which proposals raised the supply cap?"></textarea>`}<//>
      <div class="columns"><${CheckboxGroup} legend="Stage" name="stage" values=${data.stages} />
        <${CheckboxGroup} legend="Status" name="status" values=${data.statuses} /></div>
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy !== null}>Ask<//></div>
    </form>
    ${failure && html`<${ErrorBox} error=${failure} />`}
    <div aria-live="polite">${reply && html`<${Answer} reply=${reply} />`}</div>`;
}

function CheckboxGroup({ legend, name, values }) {
  return html`<fieldset><legend>${legend} <span class="hint">select none for all</span></legend><div class="checks">
    ${values.map((value) => html`<label class="check"><input type="checkbox" name=${name} value=${value} /> ${value}</label>`)}</div></fieldset>`;
}

function Answer({ reply }) {
  const isRefusal = reply.status === "unknown";
  return html`<article class="reply stack tight" aria-label="Answer">
    <div class="chips"><${Chip} tone=${isRefusal ? "warn" : "good"}>${isRefusal ? "no answer in the documents" : "answered"}<//>
      <${Chip}>${reply.origin === "model" ? "written by the chat model" : "extractive answer"}<//>
      <${Chip} title=${reply.confidence.formula}>confidence ${reply.confidence.value.toFixed(2)}<//></div>
    <p class="answer-text">${reply.answer}</p>
    ${reply.citations.length > 0 && html`<h3>Citations</h3><ol class="citations">${reply.citations.map((citation) => html`<${Citation} citation=${citation} />`)}</ol>`}
    <${RunNotices} degraded=${reply.degraded} warnings=${reply.warnings} />
    <${Timings} timings=${reply.timings} />
    <${Cost} usage=${reply.usage} />
  </article>`;
}

const VERDICT_TONES = { verified: "good", partial: "warn", unsupported: "bad" };

/** A citation with the stage, status and address of a proposal, or the place in a document. */
function Citation({ citation }) {
  const { title, stage, status, url, verdict, document_id, page, lines } = citation;
  const badges = [stage && html`<${Chip} tone="next">${stage}<//>`, status && html`<${Chip}>${status}<//>`];
  const place = [page && `page ${page}`, lines && `lines ${lines[0]}–${lines[1]}`].filter(Boolean).join(", ");
  return html`<li>
    <p class="chips">${document_id ? html`<a href=${buildSourceAddress(citation)}>${title || document_id}</a>` : html`<${DataLink} href=${url}>${title}<//>`}
      ${badges}${verdict && html`<${Chip} tone=${VERDICT_TONES[verdict]}>${verdict}<//>`}${place && html`<span class="hint">${place}</span>`}</p>
    <blockquote>${citation.quote ?? citation.snippet}</blockquote>
  </li>`;
}
