// Files that are dropped on the page, or chosen: indexed one after the other, each with its progress, its outcome in words.

import { getJson, sendJson } from "../api.js";
import { buildSourceAddress, Chip, formatCount } from "../components.js";
import { encodeBase64 } from "../files.js";
import { html, useEffect, useRef, useState } from "../html.js";

const POLL_INTERVAL_MS = 700;
const FINAL_STATUSES = ["done", "failed", "cancelled"];

/** Take files on the whole page: {uploads, add, cancel, isOver}. `done` is called when a document was added. */
export function useUploads(done) {
  const [uploads, setUploads] = useState([]);
  const [isOver, setIsOver] = useState(false);
  const queue = useRef(Promise.resolve());
  const latest = useRef(done);
  latest.current = done;
  const update = (key, changes) => setUploads((all) => all.map((one) => (one.key === key ? { ...one, ...changes } : one)));
  const add = (files) => {
    for (const file of files) {
      const upload = { key: crypto.getRandomValues(new Uint32Array(1))[0], name: file.name, state: "waiting" };
      setUploads((all) => [...all, upload]);
      queue.current = queue.current.then(() => indexFile(file, (changes) => update(upload.key, changes))).then(() => latest.current());
    }
  };
  useEffect(() => {
    const drag = (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setIsOver(event.type === "dragover");
      if (event.type === "drop") collectFiles(event.dataTransfer).then(add);
    };
    const names = ["dragover", "dragleave", "drop"];
    for (const name of names) document.addEventListener(name, drag);
    return () => names.forEach((name) => document.removeEventListener(name, drag));
  }, []);
  return { uploads, add, isOver, clear: () => setUploads((all) => all.filter(({ state }) => ["waiting", "working"].includes(state))) };
}

/** Return the files of a drop, those in folders too. */
async function collectFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean); // before the first await: they are gone then
  if (!entries.length) return [...transfer.files];
  return (await Promise.all(entries.map(listFiles))).flat();
}

async function listFiles(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    found.push(...(await Promise.all(some.map(listFiles))).flat());
  }
}

async function indexFile(file, tell) {
  tell({ state: "working", message: "reading" });
  try {
    const reply = await sendJson("POST", "api/index_document", { content_base64: await encodeBase64(file), filename: file.name });
    tell(describeResult(reply.status_url ? await waitForJob(reply, tell) : reply));
  } catch (error) {
    tell({ state: "failed", message: error.message });
  }
}

async function waitForJob({ status_url, job_id }, tell) {
  for (;;) {
    const job = await getJson(status_url, { workflow_id: null }); // a job belongs to its sender, not to a workflow
    if (job.status === "done") return { ...job, ...job.result };
    if (FINAL_STATUSES.includes(job.status)) throw new Error(job.error?.message ?? `the job was ${job.status}`);
    const { chunks_done = 0, chunks = 0 } = job.progress ?? {};
    tell({ job_id, done: chunks_done, total: chunks, message: chunks ? `${chunks_done} of ${formatCount(chunks, "passage")}` : "waiting for its turn" });
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

function describeResult({ document_id, chunks, unchanged, removed = 0, failed = [] }) {
  const changes = [unchanged > 0 && `${unchanged} unchanged`, removed > 0 && `${removed} removed`].filter(Boolean).join(", ");
  const message = `${formatCount(chunks, "passage")}${changes && `, ${changes}`}${failed.length ? `; ${failed.length} not searchable: add the file again` : ""}`;
  return { state: failed.length ? "partly" : "added", message, document_id };
}

const TONES = { added: "good", failed: "bad", partly: "warn", working: "next", waiting: "pending" };
const LABELS = { added: "added", failed: "not added", partly: "added in part", working: "adding", waiting: "waiting" };

/** The files that were dropped, each with where it is. */
export function UploadList({ uploads, clear }) {
  if (!uploads.length) return null;
  const isDone = uploads.every(({ state }) => !["waiting", "working"].includes(state));
  const cancel = (upload) => sendJson("DELETE", `api/index_jobs/${upload.job_id}`, { workflow_id: null }).catch(() => {}); // the next look at it says what it is now
  return html`<section class="card stack tight uploads" aria-label="Added files"><ul class="plain" aria-live="polite">${uploads.map((upload) => html`<li key=${upload.key}>
      <span class="chips"><${Chip} tone=${TONES[upload.state]}>${LABELS[upload.state]}<//> ${upload.document_id ? html`<a href=${buildSourceAddress(upload)}>${upload.name}</a>` : html`<b>${upload.name}</b>`}
        ${upload.message && html`<span class=${upload.state === "failed" ? "bad" : "hint"}>${upload.message}</span>`}
        ${upload.state === "working" && upload.job_id && html`<button type="button" class="quiet" onClick=${() => cancel(upload)}>Cancel</button>`}</span>
      ${upload.state === "working" && html`<progress value=${upload.total ? upload.done : null} max=${upload.total || 1} aria-label="Progress of ${upload.name}"></progress>`}</li>`)}</ul>
    ${isDone && html`<div><button type="button" class="quiet" onClick=${clear}>Clear this list</button></div>`}
  </section>`;
}
