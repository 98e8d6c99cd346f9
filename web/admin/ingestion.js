// "Run Ingestion": the operator's source of proposals is read and indexed; the existing proposals can be deleted first.

import { sendJson } from "../api.js";
import { Button, formatCount, RunNotices, Timings, useAction } from "../components.js";
import { html, useState } from "../html.js";
import { AdminErrorBox, NO_WORKFLOW } from "./access.js";

export function IngestionForm() {
  const [result, setResult] = useState(null);
  const { busy, error, act } = useAction();
  const run = async (event) => {
    event.preventDefault();
    const clear = new FormData(event.target).has("clear");
    const reply = await act("run", () => sendJson("POST", "api/rag/ingest", { ...NO_WORKFLOW, clear }));
    setResult(reply ?? null);
  };
  return html`<p class="hint">Reads the source of proposals that <code>RAG_PROPOSALS_SOURCE</code> names. Unchanged documents are not embedded again.</p>
    <form class="actions" onSubmit=${run}>
      <${Button} kind="primary" type="submit" busy=${busy !== null}>Run Ingestion<//>
      <label class="check"><input type="checkbox" name="clear" /> delete all existing proposals first</label>
    </form>
    <${AdminErrorBox} error=${error} />
    <div aria-live="polite">${result && html`<${IngestionResult} result=${result} />`}</div>`;
}

const COUNTS = ["proposals", "documents", "chunks", "embedded", "unchanged", "removed", "cleared"];

function IngestionResult({ result }) {
  return html`<div class="stack tight">
    <p><b>${formatCount(result.documents, "document")}</b> of ${formatCount(result.proposals, "proposal")} ingested${result.stopped && html`; <b>stopped</b>: ${result.stopped}`}.</p>
    <dl class="counts">${COUNTS.map((name) => html`<div><dt>${name}</dt><dd>${result[name]}</dd></div>`)}</dl>
    <${NameList} title="Not searchable" names=${result.failed} />
    <${NameList} title="Skipped because they have no stage" names=${result.skipped} />
    <${RunNotices} degraded=${result.degraded} warnings=${result.warnings} />
    <${Timings} timings=${result.timings} />
  </div>`;
}

function NameList({ title, names }) {
  if (!names.length) return null;
  return html`<details open=${names.length <= 10}><summary>${title}: ${names.length}</summary>
    <ul>${names.map((name) => html`<li>${name}</li>`)}</ul></details>`;
}
