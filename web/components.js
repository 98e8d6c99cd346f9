// What every page is put together from. Styles are classes of style.css; only sizes that data decides are set here.

import { ApiError, address, chooseWorkflow, onKeyWanted, workflow } from "./api.js";
import { html, useCallback, useEffect, useId, useRef, useState } from "./html.js";

// The page

const PLACES = [
  ["/rag", "Questions"],
  ["/rag/documents", "Documents"],
  ["/rag/graph", "Graph"],
  ["/rag/admin", "Admin"],
  ["/rag/api", "API"],
];

/** The frame of a page. `trail` are [address, name] of the pages above; `actions` stand beside the title. */
export function Page({ title, lead, trail = [], actions, children }) {
  useEffect(() => {
    document.title = `${title} · Workbench`;
  }, [title]);
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      <a class="brand" href=${address("/rag")}><span class="mark" aria-hidden="true"><i /><i /><i /></span>Workbench</a>
      <nav aria-label="Pages"><${Places} /></nav>
      <${WorkflowChooser} />
    </header>
    <main id="main" tabindex="-1">
      ${trail.length > 0 && html`<${Trail} trail=${trail} />`}
      <div class="heading">
        <div><h1>${title}</h1>${lead && html`<p class="lead">${lead}</p>`}</div>
        ${actions && html`<div class="actions">${actions}</div>`}
      </div>
      ${children}
    </main>
  `;
}

function Places() {
  const here = location.pathname;
  const current = (path) => here === path || (path !== "/rag" && here.startsWith(`${path}/`)) || (path === "/rag" && /^\/rag\/(new|\d+)/.test(here));
  return html`<ul>${PLACES.map(([path, name]) => html`
    <li><a href=${address(path)} aria-current=${current(path) ? "page" : null}>${name}</a></li>`)}</ul>`;
}

function Trail({ trail }) {
  return html`<nav class="trail" aria-label="Above this page"><ol>${trail.map(([href, name]) => html`<li><a href=${href}>${name}</a></li>`)}</ol></nav>`;
}

function WorkflowChooser() {
  const choose = (event) => {
    event.preventDefault();
    chooseWorkflow(new FormData(event.target).get("workflow").trim() || "default");
  };
  return html`<form class="workflow" onSubmit=${choose}>
    <label><span>Workflow </span><input name="workflow" aria-label="Workflow" defaultValue=${workflow()} pattern="[A-Za-z0-9._:\\-]{1,128}" autocomplete="off"
      spellcheck="false" title="whose documents and questions are shown; 1 to 128 of A-Z a-z 0-9 . _ : -" /></label>
  </form>`;
}

/** The question for the function key: shown when a call was refused for the lack of one. */
export function KeyDialog() {
  const dialog = useRef();
  const [wanted, setWanted] = useState(null);
  useEffect(() => onKeyWanted((refused) => new Promise((give) => setWanted({ refused, give }))), []);
  useEffect(() => {
    if (wanted) dialog.current.showModal();
  }, [wanted]);
  const closed = () => {
    const form = dialog.current.querySelector("form");
    wanted?.give(dialog.current.returnValue === "use" ? new FormData(form).get("key") : null);
    form.reset();
    setWanted(null);
  };
  return html`<dialog ref=${dialog} aria-labelledby="key-title" onClose=${closed}>
    <form method="dialog">
      <h2 id="key-title">This server wants its function key</h2>
      ${wanted?.refused && html`<p class="bad" role="alert">That key was refused.</p>`}
      <label>Function key <input name="key" type="password" autocomplete="off" required /></label>
      <p class="hint">It is kept in this tab until the tab is closed, and sent to this server alone.</p>
      <div class="actions">
        <button class="primary" value="use">Use this key</button>
        <button value="cancel" formnovalidate>Cancel</button>
      </div>
    </form>
  </dialog>`;
}

// The states of what is loaded

/** What `load()` promises, loaded at once and whenever `wanted` changes: {data, error, loading, reload, replace}. */
export function useLoad(load, wanted = []) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const latest = useRef(0);
  const reload = useCallback(async () => {
    const turn = ++latest.current;
    const late = () => turn !== latest.current; // an answer that was overtaken by a newer question
    setState((before) => ({ ...before, error: null, loading: true }));
    try {
      const data = await load();
      if (!late()) setState({ data, error: null, loading: false });
    } catch (error) {
      if (!late()) setState({ data: null, error, loading: false });
    }
  }, wanted);
  useEffect(() => void reload(), [reload]);
  const replace = (data) => {
    latest.current++;
    setState({ data, error: null, loading: false });
  };
  return { ...state, reload, replace };
}

/** One thing done at a time, `busy` and `failed` being names: {busy, error, failed, act, clear}; `act(name, work)` gives what the work does, undefined if it fails. */
export function useAction() {
  const [state, setState] = useState({ busy: null, error: null, failed: null });
  const act = async (name, work) => {
    setState({ busy: name, error: null, failed: null });
    try {
      const done = await work();
      setState({ busy: null, error: null, failed: null });
      return done;
    } catch (error) {
      setState({ busy: null, error, failed: name });
    }
  };
  return { ...state, act, clear: () => setState({ busy: null, error: null, failed: null }) };
}

export function Loading({ what = "Loading" }) {
  return html`<div class="loading" role="status"><span class="spinner" aria-hidden="true"></span>${what}…</div>`;
}

/** What a button began, the seconds it takes, and how long it took before: for work that may take some. */
export function Waiting({ what, before = null }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((past) => past + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return html`<span>${what}…<span aria-hidden="true">${seconds > 0 && ` ${seconds} s`}${before && ` (${milliseconds(before)} the last time)`}</span></span>`;
}

/** Nothing is here, and what to do about that. */
export function Empty({ title, children }) {
  return html`<div class="empty"><p class="title">${title}</p>${children}</div>`;
}

const TOLD = { 0: "No connection", 403: "Not allowed", 404: "Not found", 409: "Not yet", 503: "Not available", 504: "Too slow" };

/** A failure, said plainly; `retry` offers to try again. */
export function ErrorBox({ error, retry }) {
  const known = error instanceof ApiError;
  return html`<div class="error" role="alert">
    <p class="title">${(known && TOLD[error.status]) || "That did not work"}</p>
    <p>${error.message}${known && error.field && html` <span class="muted">(${error.field})</span>`}</p>
    ${known && html`<p class="hint"><code>${error.code}</code>${error.status > 0 && html` · ${error.status}`}</p>`}
    ${retry && html`<button onClick=${retry}>Try again</button>`}
  </div>`;
}

// Small parts

const ignore = (event) => event.preventDefault();

/** A button that says so while it works, and keeps the focus then. `kind` is "primary", "quiet" or none. */
export function Button({ busy = false, kind = "", disabled = false, onClick, children, ...rest }) {
  return html`<button type="button" class=${kind} disabled=${disabled && !busy} aria-disabled=${busy} aria-busy=${busy}
    onClick=${busy ? ignore : onClick} ...${rest}>
    ${busy && html`<span class="spinner" aria-hidden="true"></span>`}${children}</button>`;
}

/** A word about a state. `tone` is "good", "next", "warn", "bad", "pending" or none. */
export function Chip({ tone = "", title, children }) {
  return html`<span class="chip ${tone}" title=${title}>${children}</span>`;
}

export function Copy({ text, children = "Copy" }) {
  const [said, setSaid] = useState(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text); // there is no clipboard on a page by plain http from another machine
      setSaid("Copied");
    } catch {
      setSaid("Not copied: the browser refused");
    }
  };
  useEffect(() => {
    const timer = said && setTimeout(() => setSaid(null), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  return html`<button type="button" class="quiet" onClick=${copy}><span aria-live="polite">${said ?? children}</span></button>`;
}

/** A label, what it is for, and a control that the two describe: `children` is a function of its attributes. */
export function Field({ label, hint, children }) {
  const id = useId();
  return html`<div class="field"><label for=${id}>${label}</label>
    ${children({ id, "aria-describedby": hint ? `${id}-hint` : null })}
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}</div>`;
}

/** An address that data names: only the web's or ours, or it is no link at all. */
export function Out({ href, children }) {
  const safe = safeAddress(href);
  return safe ? html`<a href=${safe} rel="noopener noreferrer">${children ?? href}</a>` : html`<span>${children ?? href}</span>`;
}

/** `href` if it is http(s) or a path of this server, else null. */
export function safeAddress(href) {
  const url = URL.canParse(href ?? "", location.href) && new URL(href, location.href);
  return url && ["http:", "https:"].includes(url.protocol) ? url.href : null;
}

/** Where the page of a document shows what a passage or citation quotes. */
export function sourceAddress({ document_id, page, boxes = [], line_start, line_end, lines }) {
  const [first, last] = lines ?? [line_start, line_end];
  return address(`/rag/documents/${encodeURIComponent(document_id)}`, {
    page,
    box: boxes.map((box) => box.join(",")),
    lines: first ? `${first}-${last ?? first}` : null,
  });
}

// Numbers

export const milliseconds = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms >= 10 ? Math.round(ms) : ms.toFixed(1)} ms`);
export const money = (usd) => (usd === 0 ? "free" : `$${usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(2)}`);
export const short = (number) => (Number.isInteger(number) ? String(number) : Math.abs(number) < 0.001 ? "< 0.001" : number.toPrecision(3));
export const many = (count, one, more = `${one}s`) => `${count} ${count === 1 ? one : more}`;

/** A time as the reader's own clock writes it. */
export function Time({ at }) {
  const date = new Date(at);
  if (!at || Number.isNaN(date.valueOf())) return html`<span class="muted">–</span>`;
  return html`<time datetime=${at} title=${at}>${date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}</time>`;
}

/** Where the time went: {step: ms} as one stacked bar, with its numbers below. */
export function Timings({ timings = {}, label = "Time" }) {
  const parts = Object.entries(timings).filter(([, ms]) => ms > 0);
  const total = parts.reduce((sum, [, ms]) => sum + ms, 0);
  if (total === 0) return null;
  return html`<figure class="timings">
    <div class="bar" aria-hidden="true">
      ${parts.map(([name, ms], at) => html`<span class="part tint${at % 6}" style=${{ flexGrow: ms }} title="${name}: ${milliseconds(ms)}"></span>`)}
    </div>
    <figcaption><span class="total">${label} ${milliseconds(total)}</span><ul>
      ${parts.map(([name, ms], at) => html`<li><i class="dot tint${at % 6}" aria-hidden="true"></i>${name.replaceAll("_", " ")} <b>${milliseconds(ms)}</b></li>`)}
    </ul></figcaption>
  </figure>`;
}

const SCORES = [
  ["meaning", "meaning"],
  ["words", "words"],
  ["fused", "fused"],
  ["rerank", "rerank"],
  ["entity_boost", "entities"],
  ["intent_boost", "intent"],
  ["final", "final"],
];

/** The scores of one candidate as small bars; `peaks` are the best of each among all, so that bars compare. */
export function Scores({ scores = {}, peaks = scores, ranks = {} }) {
  const shown = SCORES.filter(([name]) => Number.isFinite(scores[name]) && !(name.endsWith("_boost") && scores[name] === 0));
  return html`<dl class="scores">
    ${shown.map(([name, label]) => html`<div class="score ${name}">
      <dt>${label}</dt>
      <dd><span class="track" aria-hidden="true"><span class="fill" style=${{ width: `${share(scores[name], peaks[name])}%` }}></span></span>
        <b>${short(scores[name])}</b>${place(name, ranks)}</dd>
    </div>`)}
  </dl>`;
}

const RANKED = { meaning: "dense", words: "words", fused: "fused" };
const place = (name, ranks) => ranks[RANKED[name]] && html` <span class="muted">#${ranks[RANKED[name]]}</span>`;
const share = (score, peak) => (peak > 0 ? Math.max(0, Math.min(100, (100 * score) / peak)) : 0);

/** The best of each score among `candidates`. */
export function peaksOf(candidates) {
  const peaks = {};
  for (const { scores = {} } of candidates)
    for (const [name, score] of Object.entries(scores)) peaks[name] = Math.max(peaks[name] ?? 0, score);
  return peaks;
}

/** What a step used and cost: tokens and dollars, of a reply's `usage` or a step's account. A null cost is not known. */
export function Cost({ usage = {} }) {
  const { input_tokens: read = 0, output_tokens: wrote = 0, cost_usd: cost = null } = usage ?? {};
  if (!read && !wrote) return html`<span class="cost">no tokens · free</span>`;
  return html`<span class="cost">${read.toLocaleString()} tokens in, ${wrote.toLocaleString()} out · ${cost === null ? "price unknown" : money(cost)}</span>`;
}

/** What fell back and what was noticed, plainly; nothing where nothing did. */
export function Fell({ degraded = [], warnings = [] }) {
  if (!degraded.length && !warnings.length) return null;
  return html`<ul class="fell">
    ${degraded.map(({ step, code, reason, fallback }) => html`<li>
      <${Chip} tone="warn" title=${code}>fell back<//> <b>${step}</b>: ${reason}${fallback && html` → ${fallback}`}</li>`)}
    ${warnings.map(({ code, message }) => html`<li><${Chip} title=${code}>note<//> ${message}</li>`)}
  </ul>`;
}
