// The query box: a question to the proposals, by stage and status, or to the documents by any preset.

import { get, send } from "../api.js";
import { Button, Chip, Cost, ErrorBox, Fell, Field, Loading, Out, Timings, sourceAddress, useAction, useLoad } from "../components.js";
import { html, useState } from "../html.js";
import { EVERYONES } from "./shared.js";

const PROPOSALS = "proposals";

/** What may be asked for, as the server describes it: {presets, stage, status}. */
async function choices() {
  const { schemas } = (await get("api/openapi.json")).components;
  const { stage, status } = schemas.ProposalFilters.properties;
  return { presets: schemas.AskRequest.properties.preset.enum, stage: stage.items.enum, status: status.items.enum };
}

export function Ask() {
  const { data, error, reload } = useLoad(choices);
  const [reply, setReply] = useState(null);
  const { busy, error: failure, act } = useAction();
  const ask = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const replied = await act("ask", () => asked(form));
    setReply(replied ?? null);
  };
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  return html`<${Question} choices=${data} busy=${busy !== null} ask=${ask} />
    ${failure && html`<${ErrorBox} error=${failure} />`}
    <div aria-live="polite">${reply && html`<${Answer} reply=${reply} />`}</div>`;
}

function asked(form) {
  const [query, target] = [form.get("query"), form.get("target")];
  if (target !== PROPOSALS) return send("POST", "api/rag/ask", { query, preset: target });
  const filters = { stage: form.getAll("stage"), status: form.getAll("status") };
  return send("POST", "api/rag/query", { ...EVERYONES, query, filters });
}

function Question({ choices, busy, ask }) {
  const [target, setTarget] = useState(PROPOSALS);
  return html`<form class="stack" onSubmit=${ask}>
    <${Field} label="Question">${(named) => html`<textarea ...${named} name="query" required maxlength="1000" rows="2"
      placeholder="Which proposals raised the supply cap?"></textarea>`}<//>
    <${Field} label="Ask" hint=${target === PROPOSALS ? "The collection of proposals." : "The documents of this workflow."}>${(named) => html`
      <select ...${named} name="target" value=${target} onChange=${(event) => setTarget(event.target.value)}>
        <option value=${PROPOSALS}>the proposals</option>
        ${choices.presets.filter((name) => name !== PROPOSALS).map((name) => html`<option value=${name}>the documents, preset ${name}</option>`)}
      </select>`}<//>
    ${target === PROPOSALS && html`<div class="columns">
      <${Checks} legend="Stage" name="stage" values=${choices.stage} />
      <${Checks} legend="Status" name="status" values=${choices.status} /></div>`}
    <div class="actions"><${Button} kind="primary" type="submit" busy=${busy}>Ask<//></div>
  </form>`;
}

function Checks({ legend, name, values }) {
  return html`<fieldset><legend>${legend} <span class="hint">none is any</span></legend><div class="checks">
    ${values.map((value) => html`<label class="check"><input type="checkbox" name=${name} value=${value} /> ${value}</label>`)}</div></fieldset>`;
}

function Answer({ reply }) {
  const unknown = reply.status === "unknown";
  return html`<article class="reply stack tight" aria-label="Answer">
    <div class="chips"><${Chip} tone=${unknown ? "warn" : "good"}>${unknown ? "not in the documents" : "answered"}<//>
      <${Chip}>${reply.origin === "model" ? "written by the model" : "the documents' own sentences"}<//>
      <${Chip} title=${reply.confidence.formula}>confidence ${reply.confidence.value.toFixed(2)}<//></div>
    <p class="words">${reply.answer}</p>
    ${reply.citations.length > 0 && html`<h3>Citations</h3><ol class="citations">${reply.citations.map((citation) => html`<${Citation} citation=${citation} />`)}</ol>`}
    <${Fell} degraded=${reply.degraded} warnings=${reply.warnings} />
    <${Timings} timings=${reply.timings} />
    <${Cost} usage=${reply.usage} />
  </article>`;
}

const TONES = { verified: "good", partial: "warn", unsupported: "bad" };

/** Of a proposal its stage, status and address; of a document the place on its page. */
function Citation({ citation }) {
  const { title, stage, status, url, verdict, document_id, page, lines } = citation;
  const badges = [stage && html`<${Chip} tone="next">${stage}<//>`, status && html`<${Chip}>${status}<//>`];
  const place = [page && `page ${page}`, lines && `lines ${lines[0]}–${lines[1]}`].filter(Boolean).join(", ");
  return html`<li>
    <p class="chips">${document_id ? html`<a href=${sourceAddress(citation)}>${title || document_id}</a>` : html`<${Out} href=${url}>${title}<//>`}
      ${badges}${verdict && html`<${Chip} tone=${TONES[verdict]}>${verdict}<//>`}${place && html`<span class="hint">${place}</span>`}</p>
    <blockquote>${citation.quote ?? citation.snippet}</blockquote>
  </li>`;
}
