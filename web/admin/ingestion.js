// "Run Ingestion": the operator's source of proposals is read and indexed, cleared before where that is wanted.

import { send } from "../api.js";
import { Button, Fell, Timings, many, useAction } from "../components.js";
import { html, useState } from "../html.js";
import { EVERYONES, Refusal } from "./shared.js";

export function Ingestion() {
  const [done, setDone] = useState(null);
  const { busy, error, act } = useAction();
  const run = async (event) => {
    event.preventDefault();
    const clear = new FormData(event.target).has("clear");
    const ingested = await act("run", () => send("POST", "api/rag/ingest", { ...EVERYONES, clear }));
    setDone(ingested ?? null);
  };
  return html`<p class="hint">Reads the source that the server is set to (<code>RAG_PROPOSALS_SOURCE</code>). What did not change is not embedded again.</p>
    <form class="actions" onSubmit=${run}>
      <${Button} kind="primary" type="submit" busy=${busy !== null}>Run Ingestion<//>
      <label class="check"><input type="checkbox" name="clear" /> remove the proposals that are there first</label>
    </form>
    <${Refusal} error=${error} />
    <div aria-live="polite">${done && html`<${Told} done=${done} />`}</div>`;
}

const COUNTS = ["proposals", "documents", "chunks", "embedded", "unchanged", "removed", "cleared"];

function Told({ done }) {
  return html`<div class="stack tight">
    <p><b>${many(done.documents, "document")}</b> of ${many(done.proposals, "proposal")} ingested${done.stopped && html`; <b>stopped</b>: ${done.stopped}`}.</p>
    <dl class="counts">${COUNTS.map((name) => html`<div><dt>${name}</dt><dd>${done[name]}</dd></div>`)}</dl>
    <${Named} title="Not searchable" names=${done.failed} />
    <${Named} title="Skipped, for they have no stage" names=${done.skipped} />
    <${Fell} degraded=${done.degraded} warnings=${done.warnings} />
    <${Timings} timings=${done.timings} />
  </div>`;
}

function Named({ title, names }) {
  if (!names.length) return null;
  return html`<details open=${names.length <= 10}><summary>${title}: ${names.length}</summary>
    <ul>${names.map((name) => html`<li>${name}</li>`)}</ul></details>`;
}
