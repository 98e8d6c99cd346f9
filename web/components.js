// The components that all pages share. Styles are classes of style.css; only sizes computed from data are set here.

import { ApiError, buildAddress, getWorkflowId, openWorkflow, registerKeyPrompt } from "./api.js";
import { html, useCallback, useEffect, useId, useRef, useState } from "./html.js";
import { formatName, formatScore } from "./labels.js";

// The page

const SECTIONS = [
  ["/rag/ask", "Ask"],
  ["/rag/documents", "Documents"],
  ["/rag", "Queries"],
  ["/rag/graph", "Graph"],
  ["/rag/schema", "Schema"],
  ["/rag/admin", "Admin"],
  ["/rag/api", "API"],
];

/** The frame of a page. `trail` has [address, name] of the pages above; `actions` are shown beside the title, or `heading`. */
export function Page({ title, heading = title, lead, trail = [], actions, children }) {
  useEffect(() => {
    document.title = `${title} · azure-rag`;
  }, [title]);
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      <a class="brand" href=${buildAddress("/rag/ask")}><span class="mark" aria-hidden="true"><i /><i /><i /></span>azure-rag</a>
      <nav aria-label="Pages"><${SectionLinks} /></nav>
      <${WorkflowForm} />
    </header>
    <main id="main" tabindex="-1">
      ${trail.length > 0 && html`<${Breadcrumbs} trail=${trail} />`}
      <div class="heading">
        <div><h1>${heading}</h1>${lead && html`<p class="lead">${lead}</p>`}</div>
        ${actions && html`<div class="actions">${actions}</div>`}
      </div>
      ${children}
    </main>
  `;
}

function SectionLinks() {
  const current = location.pathname;
  const isCurrent = (path) =>
    current === path || (path !== "/rag" && current.startsWith(`${path}/`)) || (path === "/rag" && /^\/rag\/(new|\d+)/.test(current));
  return html`<ul>${SECTIONS.map(([path, name]) => html`
    <li><a href=${buildAddress(path)} aria-current=${isCurrent(path) ? "page" : null}>${name}</a></li>`)}</ul>`;
}

function Breadcrumbs({ trail }) {
  return html`<nav class="trail" aria-label="Breadcrumb"><ol>${trail.map(([href, name]) => html`<li><a href=${href}>${name}</a></li>`)}</ol></nav>`;
}

function WorkflowForm() {
  const submit = (event) => {
    event.preventDefault();
    openWorkflow(new FormData(event.target).get("workflow").trim() || "default");
  };
  return html`<form class="workflow" onSubmit=${submit}>
    <label><span>Workflow </span><input name="workflow" aria-label="Workflow" defaultValue=${getWorkflowId()} pattern="[A-Za-z0-9._:\\-]{1,128}" autocomplete="off"
      spellcheck="false" title="The workflow whose documents and queries are shown: 1 to 128 characters of A-Z a-z 0-9 . _ : -" /></label>
  </form>`;
}

/** The dialog for the function key, shown when the server rejected a request without a valid key. */
export function KeyDialog() {
  const dialog = useRef();
  const [keyRequest, setKeyRequest] = useState(null);
  useEffect(() => registerKeyPrompt((isRejected) => new Promise((resolve) => setKeyRequest({ isRejected, resolve }))), []);
  useEffect(() => {
    if (keyRequest) dialog.current.showModal();
  }, [keyRequest]);
  const resolveKey = () => {
    const form = dialog.current.querySelector("form");
    keyRequest?.resolve(dialog.current.returnValue === "use" ? new FormData(form).get("key") : null);
    form.reset();
    setKeyRequest(null);
  };
  return html`<dialog ref=${dialog} aria-labelledby="key-title" onClose=${resolveKey}>
    <form method="dialog">
      <h2 id="key-title">This server requires a function key</h2>
      ${keyRequest?.isRejected && html`<p class="bad" role="alert">The server rejected this key.</p>`}
      <label>Function key <input name="key" type="password" autocomplete="off" required /></label>
      <p class="hint">The key is stored in this tab until you close it, and is sent to this server only.</p>
      <div class="actions">
        <button class="primary" value="use">Use this key</button>
        <button value="cancel" formnovalidate>Cancel</button>
      </div>
    </form>
  </dialog>`;
}

// Loading and actions

/** Load data at once and whenever `dependencies` change: {data, error, loading, reload, replace}. */
export function useLoad(load, dependencies = []) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const latestRequest = useRef(0);
  const reload = useCallback(async () => {
    const request = ++latestRequest.current;
    const isOutdated = () => request !== latestRequest.current; // a later request was made meanwhile
    setState((before) => ({ ...before, error: null, loading: true }));
    try {
      const data = await load();
      if (!isOutdated()) setState({ data, error: null, loading: false });
    } catch (error) {
      if (!isOutdated()) setState({ data: null, error, loading: false });
    }
  }, dependencies);
  useEffect(() => void reload(), [reload]);
  const replace = (data) => {
    latestRequest.current++;
    setState({ data, error: null, loading: false });
  };
  return { ...state, reload, replace };
}

/** Run one named action at a time: {busy, error, failed, act, clear}. `busy` and `failed` are names; `act(name, work)` returns what `work` returns, undefined if it fails. */
export function useAction() {
  const [state, setState] = useState({ busy: null, error: null, failed: null });
  const act = async (name, work) => {
    setState({ busy: name, error: null, failed: null });
    try {
      const result = await work();
      setState({ busy: null, error: null, failed: null });
      return result;
    } catch (error) {
      setState({ busy: null, error, failed: name });
    }
  };
  return { ...state, act, clear: () => setState({ busy: null, error: null, failed: null }) };
}

/** Give the focus to the page where what had it is gone. */
export function focusPage() {
  if (document.activeElement === document.body) document.querySelector("main")?.focus({ preventScroll: true });
}

export function Loading({ what = "Loading" }) {
  return html`<div class="loading" role="status"><span class="spinner" aria-hidden="true"></span>${what}…</div>`;
}

/** The progress of an action: what it does, for how many seconds so far, and how long it took the last time. */
export function Progress({ what, lastMs = null }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((elapsed) => elapsed + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<span>${what}…<span aria-hidden="true">${seconds > 0 && ` ${seconds} s`}${lastMs && ` (last time: ${formatDuration(lastMs)})`}</span></span>`;
}

/** The placeholder for an empty list: `children` say what to do. */
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="title">${title}</p>${children}</div>`;
}

const ERROR_TITLES = {
  0: "No connection",
  403: "Not allowed",
  404: "Not found",
  409: "Not possible in this state",
  503: "Not available",
  504: "Timed out",
};

/** An error message; `retry` adds a button to try again. */
export function ErrorBox({ error, retry }) {
  const isApiError = error instanceof ApiError;
  return html`<div class="error" role="alert">
    <p class="title">${(isApiError && ERROR_TITLES[error.status]) || "The request failed"}</p>
    <p>${error.message}${isApiError && error.field && html` <span class="muted">(${error.field})</span>`}</p>
    ${isApiError && html`<p class="hint"><code>${error.code}</code>${error.status > 0 && html` · ${error.status}`}</p>`}
    ${retry && html`<button onClick=${retry}>Try again</button>`}
  </div>`;
}

// Controls, chips and links

const preventDefault = (event) => event.preventDefault();

/** A button that shows when it is busy and keeps the focus. `kind` is "primary", "quiet" or empty. */
export function Button({ busy = false, kind = "", disabled = false, onClick, children, ...attributes }) {
  return html`<button type="button" class=${kind} disabled=${disabled && !busy} aria-disabled=${busy} aria-busy=${busy}
    onClick=${busy ? preventDefault : onClick} ...${attributes}>
    ${busy && html`<span class="spinner" aria-hidden="true"></span>`}${children}</button>`;
}

/** A short text about a state. `tone` is "good", "next", "warn", "bad", "pending" or empty. */
export function Chip({ tone = "", title, children }) {
  return html`<span class="chip ${tone}" title=${title}>${children}</span>`;
}

/** A button that copies a text to the clipboard and says for five seconds whether it did. */
export function CopyButton({ text, children = "Copy" }) {
  const [outcome, setOutcome] = useState(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text); // browsers have no clipboard on a page by plain http from another machine
      setOutcome("Copied");
    } catch {
      setOutcome("The browser did not allow copying");
    }
  };
  useEffect(() => {
    const timer = outcome && setTimeout(() => setOutcome(null), 5000);
    return () => clearTimeout(timer);
  }, [outcome]);
  return html`<button type="button" class="quiet" onClick=${copy}><span aria-live="polite">${outcome ?? children}</span></button>`;
}

/** A label and a hint for a control: `children` is a function of the attributes that connect the control to them. */
export function Field({ label, hint, children }) {
  const id = useId();
  return html`<div class="field"><label for=${id}>${label}</label>
    ${children({ id, "aria-describedby": hint ? `${id}-hint` : null })}
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}</div>`;
}

/** A link to an address from data; a plain text unless the address is http(s) or a path of this server. */
export function DataLink({ href, children }) {
  const safe = toSafeAddress(href);
  return safe ? html`<a href=${safe} rel="noopener noreferrer">${children ?? href}</a>` : html`<span>${children ?? href}</span>`;
}

/** Return `href` as an absolute address if it is http(s) or a path of this server, else null. */
export function toSafeAddress(href) {
  const url = URL.canParse(href ?? "", location.href) && new URL(href, location.href);
  return url && ["http:", "https:"].includes(url.protocol) ? url.href : null;
}

/** Return the address of the document page that shows the place of a passage or citation. */
export function buildSourceAddress({ document_id, page, boxes = [], line_start, line_end, lines }) {
  const [first, last] = lines ?? [line_start, line_end];
  return buildAddress(`/rag/documents/${encodeURIComponent(document_id)}`, {
    page,
    box: boxes.map((box) => box.join(",")),
    lines: first ? `${first}-${last ?? first}` : null,
  });
}

/** Return the place of a passage or citation in words: its locator, else page and lines; "" for none. */
export function formatPlace({ page, line_start, line_end, lines, locator }) {
  const [first, last = first] = lines ?? [line_start, line_end];
  return locator || [page && `page ${page}`, first && (first === last ? `line ${first}` : `lines ${first}–${last}`)].filter(Boolean).join(", ");
}

// Numbers and times

export const formatDuration = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms >= 10 ? Math.round(ms) : ms.toFixed(1)} ms`);
export const formatUsd = (usd) => (usd === 0 ? "free" : `$${usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(2)}`);
export const formatNumber = (number) =>
  Number.isInteger(number) ? String(number) : Math.abs(number) < 0.001 ? "< 0.001" : number.toPrecision(3);
const PAGE_UNITS = { xlsx: "sheet", ods: "sheet", pptx: "slide", odp: "slide", eml: "part", msg: "part", zip: "file" }; // what the extractor counts as pages
export const formatPages = ({ pages, extractor }) => (pages ? formatCount(pages, PAGE_UNITS[extractor?.split(/[ ,]/)[0]] ?? "page") : "");
/** Return how many pages a document has that are pages, and not slides, sheets or files. */
export const countPages = ({ pages, extractor }) => (extractor?.split(/[ ,]/)[0] in PAGE_UNITS ? 0 : (pages ?? 0));
export const formatCount = (count, singular, plural = `${singular}s`) => `${count} ${count === 1 ? singular : plural}`;

/** A time in the reader's time zone and format. */
export function Time({ at }) {
  const date = new Date(at);
  if (!at || Number.isNaN(date.valueOf())) return html`<span class="muted">–</span>`;
  return html`<time datetime=${at} title=${at}>${date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}</time>`;
}

/** The durations {step: ms} as one stacked bar with a legend. */
export function Timings({ timings = {}, label = "Time" }) {
  const parts = Object.entries(timings).filter(([, ms]) => ms > 0);
  const total = parts.reduce((sum, [, ms]) => sum + ms, 0);
  if (total === 0) return null;
  return html`<figure class="timings">
    <div class="bar" aria-hidden="true">
      ${parts.map(([name, ms], index) => html`<span class="part tint${index % 6}" style=${{ flexGrow: ms }} title="${formatName(name)}: ${formatDuration(ms)}"></span>`)}
    </div>
    <figcaption><span class="total">${label} ${formatDuration(total)}</span><ul>
      ${parts.map(([name, ms], index) => html`<li><i class="dot tint${index % 6}" aria-hidden="true"></i>${formatName(name)} <b>${formatDuration(ms)}</b></li>`)}
    </ul></figcaption>
  </figure>`;
}

const SCORE_NAMES = ["meaning", "words", "fused", "rerank", "entity_boost", "intent_boost", "final"];
const RANK_NAMES = { meaning: "dense", words: "words", fused: "fused" }; // of the same ranking, in `ranks`

/** The scores of a candidate as bars; `maxima` has the highest of each score among all candidates, so that bars compare. */
export function Scores({ scores = {}, maxima = scores, ranks = {} }) {
  const names = SCORE_NAMES.filter((name) => Number.isFinite(scores[name]) && !(name.endsWith("_boost") && scores[name] === 0));
  return html`<dl class="scores">
    ${names.map((name) => html`<div class="score ${name}">
      <dt>${formatScore(name)}</dt>
      <dd><span class="track" aria-hidden="true"><span class="fill" style=${{ width: `${computePercentage(scores[name], maxima[name])}%` }}></span></span>
        <b>${formatNumber(scores[name])}</b><${Rank} rank=${ranks[RANK_NAMES[name]]} /></dd>
    </div>`)}
  </dl>`;
}

const Rank = ({ rank }) => rank && html` <span class="muted">#${rank}</span>`;
const computePercentage = (score, maximum) => (maximum > 0 ? Math.max(0, Math.min(100, (100 * score) / maximum)) : 0);

/** Return the highest of each score among `candidates`. */
export function findScoreMaxima(candidates) {
  const maxima = {};
  for (const { scores = {} } of candidates)
    for (const [name, score] of Object.entries(scores)) maxima[name] = Math.max(maxima[name] ?? 0, score);
  return maxima;
}

/** The tokens and their price, of a reply's `usage` or of a step record. A null price is unknown. */
export function Cost({ usage = {} }) {
  const { input_tokens: input = 0, output_tokens: output = 0, cost_usd: usd = null } = usage ?? {};
  if (!input && !output) return html`<span class="cost">no tokens · free</span>`;
  return html`<span class="cost">${input.toLocaleString()} tokens in, ${output.toLocaleString()} tokens out · ${usd === null ? "price unknown" : formatUsd(usd)}</span>`;
}

/** The degradations and warnings of a run; nothing where there are none. */
export function RunNotices({ degraded = [], warnings = [] }) {
  if (!degraded.length && !warnings.length) return null;
  return html`<ul class="notices">
    ${degraded.map(({ step, code, reason, fallback }) => html`<li>
      <${Chip} tone="warn" title=${code}>degraded<//> <b>${formatName(step)}</b>: ${reason}${fallback && html` (instead: ${fallback})`}</li>`)}
    ${warnings.map(({ code, message }) => html`<li><${Chip} title=${code}>warning<//> ${message}</li>`)}
  </ul>`;
}
