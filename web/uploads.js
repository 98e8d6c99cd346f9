// Files that are dropped on the page, or chosen: indexed one after the other, each with its progress and its outcome in words.

import { ApiError, getJson, sendJson } from "./api.js";
import { buildSourceAddress, Chip, countPages, formatCount, formatPages, RunNotices } from "./components.js";
import { encodeBase64 } from "./files.js";
import { html, useEffect, useRef, useState } from "./html.js";

const POLL_INTERVAL_MS = 700;
const STATES_BY_CODE = { cancelled: "cancelled", no_text_found: "skipped" }; // a logo is no failure
const isUnfinished = ({ state }) => ["waiting", "working"].includes(state);
const MAX_USD_DECIMALS = 4;

/** Take files on the whole page: {uploads, add, cancel, clear, isOver}. `done` is called when a document was added. */
export function useUploads(done) {
  const [uploads, setUploads] = useState([]);
  const [isOver, setIsOver] = useState(false);
  const [consent, setConsent] = useState(null); // {estimate, answer} while a price waits for a yes or no
  const queue = useRef(Promise.resolve());
  const asking = useRef(Promise.resolve()); // one price after the other
  const latest = useRef(done);
  latest.current = done;
  const update = (key, changes) => setUploads((all) => all.map((one) => (one.key === key ? { ...one, ...changes } : one)));
  const askForConsent = (estimate) => new Promise((resolve) => setConsent({ estimate, answer: (isYes) => (setConsent(null), resolve(isYes)) }));
  const add = async (chosen) => {
    const files = [...chosen];
    const added = files.map((file) => ({ key: crypto.getRandomValues(new Uint32Array(1))[0], name: nameFile(file), state: "waiting", abort: new AbortController() }));
    setUploads((all) => [...all, ...added]); // at once: what is not seen is added again
    asking.current = asking.current.then(() => choosePrice(files, askForConsent, () => setConsent({ estimate: null }))).finally(() => setConsent(null));
    const budgets = await asking.current;
    for (const [index, file] of files.entries()) {
      const upload = added[index];
      queue.current = queue.current.then(() => indexFile(file, upload, budgets, (changes) => update(upload.key, changes))).then(() => latest.current());
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
  /** A job is told to stop, and says itself what became of it; a file that waits stays out, one on its way is let go. */
  const cancel = ({ key, state, job_id, abort }) => {
    if (job_id) return sendJson("DELETE", `api/index_jobs/${job_id}`, { workflow_id: null }).catch(() => {});
    abort.abort();
    if (state === "waiting") update(key, { state: "cancelled", message: "" });
  };
  return { uploads, add, ask: askForConsent, cancel, consent, isOver, clear: () => setUploads((all) => all.filter(isUnfinished)) };
}

/** Return the files of a drop, those in folders too. */
async function collectFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean); // before the first await: they are gone then
  if (!entries.length) return [...transfer.files];
  return (await Promise.all(entries.map(listFiles))).flat().filter(({ name }) => !name.startsWith(".")); // of the desktop, as .DS_Store
}

async function listFiles(entry) {
  if (entry.isFile) return [Object.assign(await new Promise((resolve, reject) => entry.file(resolve, reject)), { path: entry.fullPath.replace(/^\//, "") })];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    found.push(...(await Promise.all(some.map(listFiles))).flat());
  }
}

/** Return the ceilings to send with each file, after the prices of a chat model and of Document Intelligence were shown: {} for the operator's, 0 for nothing. */
async function choosePrice(files, ask, tellReading) {
  const { enrichment = "none", documents = "" } = (await getJson("api/health").catch(() => null))?.parts ?? {};
  const hasModel = enrichment !== "none";
  if (!hasModel && !documents.startsWith(PAID_READER)) return {};
  tellReading();
  const estimates = [];
  for (const file of files) estimates.push(await estimateFile(file).catch(() => null)); // one that cannot be read says so when it is added
  const described = sumPrices(estimates.map((reply) => reply?.estimate.enrichment));
  const read = sumPrices(estimates.map((reply) => reply?.estimate.layout));
  const isDescribed = described.calls > 0 && !Number.isNaN(described.usd);
  const without = { ...(hasModel && { enrichment_budget_usd: 0 }), ...(read.files && { layout_budget_usd: 0 }) };
  if (!isDescribed && !read.files) return without;
  const isAgreed = await ask({ model: isDescribed && { name: enrichment, ...described }, reader: read.files > 0 && { name: PAID_READER, ...read } });
  return isAgreed ? (hasModel && !isDescribed ? { enrichment_budget_usd: 0 } : {}) : without;
}

const PAID_READER = "Document Intelligence";

/** Return the sums over the files that something is paid for: {files, calls, passages, pages, usd}, NaN where a price is not known. */
const sumPrices = (parts) =>
  parts.filter(Boolean).reduce(
    (sum, { calls = 0, passages = 0, pages = 0, usd, budget_usd }) => ({
      files: sum.files + 1, calls: sum.calls + calls, passages: sum.passages + passages, pages: sum.pages + pages,
      usd: sum.usd + (usd === null ? NaN : Math.min(usd, budget_usd)),
    }),
    { files: 0, calls: 0, passages: 0, pages: 0, usd: 0 },
  );

const estimateFile = async (file) => sendJson("POST", "api/index_document", { content_base64: await encodeBase64(file), filename: file.name, source: nameFile(file), estimate: true });
const nameFile = (file) => file.path ?? (file.webkitRelativePath || file.name);

/** Index a file under its path in the folder that was given, so that files of one name stay apart and a newer one replaces the earlier. */
async function indexFile(file, { name, abort }, budgets, tell) {
  if (abort.signal.aborted) return;
  tell({ state: "working", message: "reading" });
  try {
    const content_base64 = await encodeBase64(file);
    const reply = await sendJson("POST", "api/index_document", { content_base64, filename: file.name, source: name, ...budgets }, abort.signal);
    tell(describeResult(reply.status_url ? await waitForJob(reply, tell) : reply));
  } catch (error) {
    if (abort.signal.aborted) tell({ state: "cancelled", message: "It was on its way already: the list of documents shows whether it was added." });
    else tell({ state: STATES_BY_CODE[error.code] ?? "failed", message: error.message });
  }
}

/** Index a document anew from its original, which is read and embedded as a new file would be; no chat model is asked, what one wrote of unchanged passages stays. Document Intelligence is paid where that `isAgreed`, or after a yes to its price; `ask` shows that. */
export async function reindexDocument({ document_id, title, source, metadata }, { isAgreed, ask }) {
  const { content_base64, filename } = await getJson("api/document_original", { document_id });
  const content = filename ? { content_base64, filename } : { content: decodeText(content_base64) };
  const budgets = { enrichment_budget_usd: 0, ...(!isAgreed && (await chooseReadingPrice(content, ask))) };
  const reply = await sendJson("POST", "api/index_document", { ...content, document_id, title, source, metadata, ...budgets });
  return describeResult(reply.status_url ? await waitForJob(reply, () => {}) : reply);
}

/** Return the ceiling to send with a document that is read anew, after the price of Document Intelligence was shown where it is to read some of it. */
async function chooseReadingPrice(content, ask) {
  const { documents = "" } = (await getJson("api/health").catch(() => null))?.parts ?? {};
  if (!documents.startsWith(PAID_READER)) return {};
  const { estimate } = await sendJson("POST", "api/index_document", { ...content, estimate: true });
  const isAgreed = estimate.layout && (await ask({ model: false, reader: { name: PAID_READER, ...sumPrices([estimate.layout]) } }));
  return isAgreed ? {} : { layout_budget_usd: 0 };
}

const decodeText = (base64) => new TextDecoder().decode(Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0)));

async function waitForJob({ status_url, job_id }, tell) {
  for (;;) {
    const job = await getJson(status_url, { workflow_id: null }); // a job belongs to its sender, not to a workflow
    if (job.status === "done") return { ...job, ...job.result };
    if (job.status === "failed") throw new ApiError(0, job.error ?? { message: "the job failed without a reason" });
    tell({ job_id, ...describeProgress(job) });
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

/** Return how far a job is: its pages, where it has some, and its passages. */
function describeProgress({ status, progress }) {
  const { chunks_done = 0, chunks = 0, pages_done = null, pages = null } = progress ?? {};
  const parts = [pages && `${pages_done} of ${formatCount(pages, "page")}`, `${chunks_done} of ${formatCount(chunks, "passage")}`];
  return { done: chunks_done, total: chunks, message: chunks ? parts.filter(Boolean).join(", ") : status === "running" ? "reading" : "waiting for its turn" };
}

/** Return what became of a file in words: its pages and passages, and, where it replaced an earlier version, what changed. */
function describeResult({ document_id, pages, extractor, chunks, unchanged, removed = 0, failed = [], degraded = [] }) {
  const size = [formatPages({ pages, extractor }), formatCount(chunks, "passage")].filter(Boolean).join(", ");
  const isSame = unchanged === chunks && !removed;
  const changes = isSame ? "nothing changed" : `${chunks - unchanged} new or changed, ${unchanged} as before, ${removed} removed`;
  const missing = failed.length ? ` ${formatCount(failed.length, "passage")} not searchable: add the file again.` : "";
  return { pages: countPages({ pages, extractor }), passages: chunks, state: failed.length ? "partly" : "added", message: `${size}${unchanged || removed ? `; ${changes}` : ""}.${missing}`, document_id, degraded };
}

const TONES = { added: "good", failed: "bad", partly: "warn", cancelled: "", skipped: "", working: "next", waiting: "pending" };
const LABELS = { added: "added", failed: "not added", partly: "added in part", cancelled: "cancelled", skipped: "skipped", working: "adding", waiting: "waiting" };

/** The files that were dropped, each with where it is. */
export function UploadList({ uploads, cancel, clear, consent }) {
  if (consent) return html`<${PriceQuestion} ...${consent} />`;
  if (!uploads.length) return null;
  const isDone = !uploads.some(isUnfinished);
  const done = uploads.filter((upload) => !isUnfinished(upload)).length;
  const [pages, passages] = ["pages", "passages"].map((name) => uploads.reduce((sum, upload) => sum + (upload[name] ?? 0), 0));
  return html`<section class="card stack tight uploads" aria-label="Added files">
    ${uploads.length > 1 && html`<p class="hint">${done} of ${formatCount(uploads.length, "file")} done${passages > 0 && `: ${[pages && formatCount(pages, "page"), formatCount(passages, "passage")].filter(Boolean).join(", ")}`}</p>`}<ul class="plain" aria-live="polite">${uploads.map((upload) => html`<li key=${upload.key}>
      <span class="chips"><${Chip} tone=${TONES[upload.state]}>${LABELS[upload.state]}<//> ${upload.document_id ? html`<a href=${buildSourceAddress(upload)}>${upload.name}</a>` : html`<b>${upload.name}</b>`}
        ${upload.message && html`<span class=${upload.state === "failed" ? "bad" : "hint"}>${upload.message}</span>`}
        ${isUnfinished(upload) && html`<button type="button" class="quiet" aria-label="Cancel ${upload.name}" onClick=${() => cancel(upload)}>Cancel</button>`}</span>
      ${upload.state === "working" && html`<progress value=${upload.total ? upload.done : null} max=${upload.total || 1} aria-label="Progress of ${upload.name}"></progress>`}
      <${RunNotices} degraded=${upload.degraded} /></li>`)}</ul>
    ${isDone && html`<div><button type="button" class="quiet" onClick=${clear}>Clear this list</button></div>`}
  </section>`;
}

/** What a chat model and Document Intelligence cost at most, before a file is added. */
function PriceQuestion({ estimate, answer }) {
  if (!estimate) return html`<section class="card" aria-live="polite">Reading the files, to say what they cost</section>`;
  const { model, reader } = estimate;
  const refused = model && reader ? "either" : model ? "the model" : reader.name;
  return html`<section class="card stack tight" aria-label="Price of adding" role="alertdialog">
    ${model && html`<p>Entities and summaries by <b>${model.name}</b> of ${formatCount(model.passages, "passage")} in ${formatCount(model.files, "file")} cost at most <b>${model.usd.toFixed(MAX_USD_DECIMALS)} USD</b>.</p>`}
    ${reader && html`<p>Reading ${formatCount(reader.pages, "page")} (scans, pictures, Word files) in ${formatCount(reader.files, "file")} by <b>${reader.name}</b> costs about <b>${reader.usd.toFixed(2)} USD</b>. Without it the text of scans and pictures stays out. A Word file counts as one page here and may cost more.</p>`}
    <div class="actions"><button type="button" class="primary" onClick=${() => answer(true)}>Add and pay</button>
      <button type="button" autofocus onClick=${() => answer(false)}>Add without ${refused}</button></div>
  </section>`;
}

/** Buttons that add files, or a folder with all that is in it. */
export function AddButtons({ add, kind = "quiet" }) {
  const inputs = [useRef(), useRef()];
  const choose = (event) => {
    add([...event.target.files].filter(({ name }) => !name.startsWith(".")));
    event.target.value = "";
  };
  return html`<button type="button" class=${kind} onClick=${() => inputs[0].current.click()}>Add files</button>
    <button type="button" class="quiet" onClick=${() => inputs[1].current.click()}>Add a folder</button>
    <input ref=${inputs[0]} type="file" multiple hidden aria-label="Files to add" onChange=${choose} />
    <input ref=${inputs[1]} type="file" webkitdirectory hidden aria-label="Folder to add" onChange=${choose} />`;
}

/** What is shown over a page while files are dragged over it. */
export const DropCover = ({ isOver }) => isOver && html`<div class="drop-cover" aria-hidden="true"><p>Drop files or folders to add them to this workflow</p></div>`;
