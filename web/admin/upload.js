// A document is sent, and followed until it can be found: at once, in part (207), or as a job (202).

import { get, send } from "../api.js";
import { Button, Chip, ErrorBox, Fell, Field, Timings, many, sourceAddress, useAction, useLoad } from "../components.js";
import { html, useEffect, useState } from "../html.js";
import { Refusal } from "./shared.js";

const READ = ".pdf,.txt,.md,.csv,.docx";
const LOOK_MS = 1000; // between two looks at a job

export function Upload() {
  const [done, setDone] = useState(null);
  const { busy, error, act } = useAction();
  const upload = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    setDone((await act("upload", async () => send("POST", "api/index_document", await requested(form)))) ?? null);
  };
  return html`<form class="stack tight" onSubmit=${upload}>
      <div class="columns">
        <${Field} label="File" hint="PDF, text, markdown, csv or docx">${(named) => html`<input ...${named} name="file" type="file" accept=${READ} required />`}<//>
        <${Field} label="Title" hint="the file's own when left empty">${(named) => html`<input ...${named} name="title" maxlength="500" />`}<//>
      </div>
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy !== null}>Add<//></div>
    </form>
    <${Refusal} error=${error} />
    <div aria-live="polite">${done && (done.status_url ? html`<${Job} key=${done.job_id} accepted=${done} />` : html`<${Indexed} indexed=${done} />`)}</div>`;
}

async function requested(form) {
  const file = form.get("file");
  return { content_base64: await base64(file), filename: file.name, title: form.get("title").trim() || undefined };
}

const base64 = (file) =>
  new Promise((give, fail) => {
    const reader = new FileReader();
    reader.onload = () => give(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => fail(new Error("the file could not be read"));
    reader.readAsDataURL(file);
  });

/** What became of a document; `failed` names the chunks that are not searchable. */
function Indexed({ indexed }) {
  const { failed, document_id, chunks, unchanged } = indexed;
  return html`<div class="stack tight">
    <p><${Chip} tone=${failed.length ? "warn" : "good"}>${failed.length ? "in part" : "indexed"}<//>
      ${" "}<a href=${sourceAddress({ document_id })}>Open the document</a>: ${many(chunks, "passage")}${unchanged > 0 && `, ${unchanged} as before`}.</p>
    ${failed.length > 0 && html`<div class="note"><p>Not searchable, to be sent again:</p><ul>${failed.map((name) => html`<li><code>${name}</code></li>`)}</ul></div>`}
    <${Fell} degraded=${indexed.degraded} warnings=${indexed.warnings} />
    <${Timings} timings=${indexed.timings} />
  </div>`;
}

const OVER = ["done", "failed"];

function Job({ accepted }) {
  const { data, error, reload } = useLoad(() => get(accepted.status_url, { workflow_id: null })); // a job is its sender's, of any workflow
  const over = data && OVER.includes(data.status);
  useEffect(() => {
    const timer = data && !over && setTimeout(reload, LOOK_MS);
    return () => clearTimeout(timer);
  }, [data]);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (data?.status === "done") return html`<${Indexed} indexed=${{ ...data, ...data.result }} />`;
  const { chunks_done = 0, chunks = 0 } = data?.progress ?? {};
  return html`<div class="stack tight">
    <p><${Chip} tone=${data?.status === "failed" ? "bad" : "next"}>${data?.status ?? accepted.status}<//> ${" "}
      ${chunks ? `${chunks_done} of ${many(chunks, "passage")} have their vectors` : "taken on: it goes on when this page is closed"}</p>
    ${chunks > 0 && html`<progress value=${chunks_done} max=${chunks} aria-label="Passages done"></progress>`}
    ${data?.words_only && html`<p class="hint">Searchable by its words already.</p>`}
    ${data?.error && html`<p class=${over ? "bad" : "note"}>${data.error.message}</p>`}
  </div>`;
}
