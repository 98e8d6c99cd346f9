// A question to the proposals, filtered by stage and status, or to the documents of the workflow with any preset.

import { getJson, sendJson } from "../api.js";
import { Button, buildSourceAddress, Chip, Cost, DataLink, ErrorBox, Field, Loading, RunNotices, Timings, useAction, useLoad } from "../components.js";
import { html, useState } from "../html.js";
import { NO_WORKFLOW } from "./access.js";

const PROPOSALS = "proposals";

/** Load the values of the form's fields from the API description: {presets, stages, statuses}. */
async function loadChoices() {
  const { schemas } = (await getJson("api/openapi.json")).components;
  const { stage, status } = schemas.ProposalFilters.properties;
  return { presets: schemas.AskRequest.properties.preset.enum, stages: stage.items.enum, statuses: status.items.enum };
}

export function AskForm() {
  const { data, error, reload } = useLoad(loadChoices);
  const [reply, setReply] = useState(null);
  const { busy, error: failure, act } = useAction();
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const answer = await act("ask", () => sendQuestion(form));
    setReply(answer ?? null);
  };
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  return html`<${QuestionForm} choices=${data} busy=${busy !== null} submit=${submit} />
    ${failure && html`<${ErrorBox} error=${failure} />`}
    <div aria-live="polite">${reply && html`<${Answer} reply=${reply} />`}</div>`;
}

function sendQuestion(form) {
  const [query, target] = [form.get("query"), form.get("target")];
  if (target !== PROPOSALS) return sendJson("POST", "api/rag/ask", { query, preset: target });
  const filters = { stage: form.getAll("stage"), status: form.getAll("status") };
  return sendJson("POST", "api/rag/query", { ...NO_WORKFLOW, query, filters });
}

function QuestionForm({ choices, busy, submit }) {
  const [target, setTarget] = useState(PROPOSALS);
  return html`<form class="stack" onSubmit=${submit}>
    <${Field} label="Question">${(attributes) => html`<textarea ...${attributes} name="query" required maxlength="1000" rows="2"
      placeholder="Which proposals raised the supply cap?"></textarea>`}<//>
    <${Field} label="Collection" hint=${target === PROPOSALS ? "Searches the ingested proposals." : "Searches the documents of this workflow."}>${(attributes) => html`
      <select ...${attributes} name="target" value=${target} onChange=${(event) => setTarget(event.target.value)}>
        <option value=${PROPOSALS}>proposals</option>
        ${choices.presets.filter((name) => name !== PROPOSALS).map((name) => html`<option value=${name}>documents, preset ${name}</option>`)}
      </select>`}<//>
    ${target === PROPOSALS && html`<div class="columns">
      <${CheckboxGroup} legend="Stage" name="stage" values=${choices.stages} />
      <${CheckboxGroup} legend="Status" name="status" values=${choices.statuses} /></div>`}
    <div class="actions"><${Button} kind="primary" type="submit" busy=${busy}>Ask<//></div>
  </form>`;
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
