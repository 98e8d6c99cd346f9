// Adding a document: it is indexed within the request, in part (207), or by a job (202) that the page polls.

import { getJson, sendJson } from "../api.js";
import { Button, buildSourceAddress, Chip, ErrorBox, Field, formatCount, RunNotices, Timings, useAction, useLoad } from "../components.js";
import { encodeBase64 } from "../files.js";
import { html, useEffect, useState } from "../html.js";
import { AdminErrorBox } from "./access.js";

const ACCEPTED_TYPES = ".pdf,.docx,.xlsx,.pptx,.html,.htm,.eml,.json,.jsonl,.txt,.md,.csv,.tsv,.zip";
const POLL_INTERVAL_MS = 1000;

export function UploadForm() {
  const [reply, setReply] = useState(null);
  const { busy, error, act } = useAction();
  const upload = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    setReply((await act("upload", async () => sendJson("POST", "api/index_document", await buildUpload(form)))) ?? null);
  };
  return html`<form class="stack tight" onSubmit=${upload}>
      <div class="columns">
        <${Field} label="File" hint="PDF, Word, Excel, PowerPoint, web page, mail, JSON, text, Markdown, CSV, or a zip of these.">${(attributes) => html`<input ...${attributes} name="file" type="file" accept=${ACCEPTED_TYPES} required />`}<//>
        <${Field} label="Title" hint="If empty, the title in the file is used.">${(attributes) => html`<input ...${attributes} name="title" maxlength="500" />`}<//>
      </div>
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy !== null}>Add<//></div>
    </form>
    <${AdminErrorBox} error=${error} />
    <div aria-live="polite">${reply && (reply.status_url ? html`<${Job} key=${reply.job_id} acceptance=${reply} />` : html`<${IndexingResult} result=${reply} />`)}</div>`;
}

async function buildUpload(form) {
  const file = form.get("file");
  return { content_base64: await encodeBase64(file), filename: file.name, title: form.get("title").trim() || undefined };
}

/** The result of an indexing; `failed` names the chunks that are not searchable. */
function IndexingResult({ result }) {
  const { failed, document_id, chunks, unchanged } = result;
  return html`<div class="stack tight">
    <p><${Chip} tone=${failed.length ? "warn" : "good"}>${failed.length ? "indexed in part" : "indexed"}<//>
      ${" "}<a href=${buildSourceAddress({ document_id })}>Open the document</a>: ${formatCount(chunks, "passage")}${unchanged > 0 && `, ${unchanged} unchanged`}.</p>
    ${failed.length > 0 && html`<div class="note"><p>These chunks are not searchable. Add the document again to retry:</p><ul>${failed.map((name) => html`<li><code>${name}</code></li>`)}</ul></div>`}
    <${RunNotices} degraded=${result.degraded} warnings=${result.warnings} />
    <${Timings} timings=${result.timings} />
  </div>`;
}

const FINAL_STATUSES = ["done", "failed"];

function Job({ acceptance }) {
  const { data, error, reload } = useLoad(() => getJson(acceptance.status_url, { workflow_id: null })); // a job belongs to its sender, not to a workflow
  const isFinal = data && FINAL_STATUSES.includes(data.status);
  useEffect(() => {
    const timer = data && !isFinal && setTimeout(reload, POLL_INTERVAL_MS);
    return () => clearTimeout(timer);
  }, [data]);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (data?.status === "done") return html`<${IndexingResult} result=${{ ...data, ...data.result }} />`;
  const { chunks_done = 0, chunks = 0 } = data?.progress ?? {};
  return html`<div class="stack tight">
    <p><${Chip} tone=${data?.status === "failed" ? "bad" : "next"}>${data?.status ?? acceptance.status}<//> ${" "}
      ${chunks ? `${chunks_done} of ${formatCount(chunks, "passage")} embedded` : "The document is indexed in the background, also when you close this page."}</p>
    ${chunks > 0 && html`<progress value=${chunks_done} max=${chunks} aria-label="Embedded passages"></progress>`}
    ${data?.words_only && html`<p class="hint">Lexical search finds the document already.</p>`}
    ${data?.error && html`<p class=${isFinal ? "bad" : "note"}>${data.error.message}</p>`}
  </div>`;
}
