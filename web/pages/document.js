// A document as it came, with what is cited of it marked: a page's picture with boxes, or numbered lines; its passages beside.

import { address, get } from "../api.js";
import { Chip, Empty, ErrorBox, Loading, Out, Page, many, safeAddress, useLoad } from "../components.js";
import { html, useEffect, useRef, useState } from "../html.js";

const DOCUMENTS = [address("/rag/documents"), "Documents"];

export default function DocumentPage({ params, query }) {
  const document_id = params.documentId;
  const cited = citedBy(query);
  const { data, error, reload } = useLoad(() => opened(document_id, stretch(cited.lines?.[0])));
  return html`<${Page} title=${data ? data.title || document_id : "Document"} trail=${[DOCUMENTS]}>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Opening the document" />`}
    ${data && html`<${Opened} document=${data} cited=${cited} />`}
  <//>`;
}

const opened = (document_id, first_line) => get("api/document", { document_id, first_line });

/** What the address marks: {page, boxes, lines}. What cannot be read in it is not marked. */
function citedBy(query) {
  const page = Number(query.get("page"));
  const lines = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(query.get("lines") ?? "");
  return {
    page: Number.isInteger(page) && page > 0 ? page : null,
    boxes: query.getAll("box").map((box) => box.split(",").map(Number)).filter((box) => box.length === 4 && box.every(Number.isFinite)),
    lines: lines && [Number(lines[1]), Number(lines[2] ?? lines[1])],
  };
}

function Opened({ document, cited }) {
  const [pointed, setPointed] = useState(null);
  const [page, setPage] = useState(Math.min(cited.page ?? document.chunks.find((chunk) => chunk.page)?.page ?? 1, document.pages ?? 1));
  const pictured = document.kind === "pdf";
  const open = (chunk) => {
    setPointed(chunk);
    if (chunk.page) setPage(chunk.page);
  };
  const marked = pointed?.line_start ? [pointed.line_start, pointed.line_end] : null;
  return html`<div class="stack">
    <${About} document=${document} />
    <div class="reading">
      <div class="original">
        ${pictured && html`<${Pages} document=${document} page=${page} turn=${setPage} cited=${cited} pointed=${pointed} />`}
        ${!pictured && document.lines && html`<${Lines} document=${document} cited=${cited.lines} pointed=${marked} />`}
        ${!pictured && !document.lines && html`<${Kept} document=${document} cited=${cited.lines} />`}
      </div>
      <${Chunks} chunks=${document.chunks} pointed=${pointed} point=${setPointed} open=${open} page=${pictured ? page : null} />
    </div>
  </div>`;
}

function About({ document }) {
  const values = Object.entries(document.metadata ?? {});
  return html`<div class="chips">
    <${Chip}>${document.extractor}<//>
    ${document.pages && html`<${Chip}>${many(document.pages, "page")}<//>`}
    <${Chip}>${many(document.chunks.length, "passage")}<//>
    ${values.map(([name, value]) => html`<${Chip}>${name}: <${Linked} value=${String(value)} /><//>`)}
    <span class="hint"><${Linked} value=${document.source} /></span>
  </div>`;
}

/** A value as a link where it is an address of the web. */
const Linked = ({ value }) => (/^https?:\/\//i.test(value) && safeAddress(value) ? html`<${Out} href=${value} />` : html`${value}`);

// A page as a picture

const TURNS = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 };

function Pages({ document, page, turn, cited, pointed }) {
  const shown = useLoad(() => get("api/document_page", { document_id: document.document_id, page }), [page]);
  const to = (number) => number >= 1 && number <= document.pages && turn(number);
  const turned = (event) => {
    if (event.target.matches("input") || !(event.key in TURNS) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    to(page + TURNS[event.key]);
  };
  return html`<section class="pages" aria-label="Pages" tabindex="0" onKeyDown=${turned}>
    <div class="turner">
      <button type="button" class="quiet" disabled=${page <= 1} onClick=${() => to(page - 1)} aria-label="Previous page">←</button>
      <label>Page <input key=${page} type="number" min="1" max=${document.pages} defaultValue=${page} onChange=${(event) => to(Number(event.target.value))} /></label>
      <span class="muted">of ${document.pages}</span>
      <button type="button" class="quiet" disabled=${page >= document.pages} onClick=${() => to(page + 1)} aria-label="Next page">→</button>
      <span class="hint">or the arrow keys</span>
    </div>
    ${shown.error && html`<${ErrorBox} error=${shown.error} retry=${shown.reload} />`}
    ${!shown.data && !shown.error && html`<${Loading} what="Drawing page ${page}" />`}
    ${shown.data && html`<${Picture} shown=${shown.data} title=${document.title}
      cited=${(cited.page ?? 1) === shown.data.page ? cited.boxes : []}
      pointed=${pointed?.page === shown.data.page ? (pointed.boxes ?? []) : []} />`}
  </section>`;
}

/** Boxes are in points from the top left of the page, as the view of the picture is. */
function Picture({ shown, title, cited, pointed }) {
  const first = useRef();
  useEffect(() => first.current?.scrollIntoView({ block: "center" }), [shown]);
  const told = cited.length ? `, ${many(cited.length, "cited line")} marked` : "";
  return html`<figure class="sheet">
    <img src="data:image/png;base64,${shown.image_base64}" width=${Math.round(shown.width)} height=${Math.round(shown.height)}
      alt="Page ${shown.page} of ${title}${told}" />
    <svg viewBox="0 0 ${shown.width} ${shown.height}" preserveAspectRatio="none" aria-hidden="true">
      ${pointed.map((box) => html`<${Box} box=${box} kind="pointed" />`)}
      ${cited.map((box, at) => html`<${Box} box=${box} kind="cited" mark=${at === 0 ? first : null} />`)}
    </svg>
  </figure>`;
}

const Box = ({ box: [x0, y0, x1, y1], kind, mark }) =>
  html`<rect ref=${mark} class=${kind} x=${x0 - 1.5} y=${y0 - 1} width=${Math.max(0, x1 - x0) + 3} height=${Math.max(0, y1 - y0) + 2} rx="1.5" />`;

// A text as its lines: the server gives a stretch of them at a time

const BEFORE = 200; // lines above the first that is wanted
const stretch = (line) => Math.max(1, (line ?? 1) - BEFORE);

const within = (number, span) => span && span[0] <= number && number <= span[1];

function Lines({ document, cited, pointed }) {
  const [first, setFirst] = useState(document.first_line);
  const { data, error, reload } = useLoad(() => (first === document.first_line ? document : opened(document.document_id, first)), [first]);
  const wanted = pointed?.[0] ?? cited?.[0] ?? null;
  const mark = useRef();
  const last = first + (data?.lines.length ?? 0) - 1;
  useEffect(() => {
    if (wanted && data && (wanted < first || wanted > last)) setFirst(stretch(wanted));
    else mark.current?.scrollIntoView({ block: pointed ? "nearest" : "center" });
  }, [wanted, data]);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Reading the lines" />`;
  return html`<section class="card lines" aria-label="Lines ${first} to ${last} of ${document.total_lines}" tabindex="0">
    ${first > 1 && html`<button type="button" class="quiet" onClick=${() => setFirst(Math.max(1, first - data.lines.length))}>Earlier lines</button>`}
    <ol start=${first}>${data.lines.map((text, at) => html`<${Line} key=${first + at} number=${first + at} text=${text || " "}
      cited=${within(first + at, cited)} pointed=${within(first + at, pointed)} mark=${first + at === wanted ? mark : null} />`)}</ol>
    ${last < document.total_lines && html`<button type="button" class="quiet" onClick=${() => setFirst(last + 1)}>Later lines</button>`}
  </section>`;
}

function Line({ number, text, cited, pointed, mark }) {
  return html`<li value=${number} class="${cited ? "cited" : ""} ${pointed ? "pointed" : ""}" ref=${mark}>
    <span class="count" aria-hidden="true">${number}</span>${cited ? html`<mark>${text}</mark>` : html`<span>${text}</span>`}</li>`;
}

// A document whose original is not here

const WHY = {
  none: "The original was not kept, so its passages are shown as they were indexed.",
  kept: "This kind of document has no pages to be drawn, so its passages are shown as they were read.",
};

function Kept({ document, cited }) {
  const mark = useRef();
  useEffect(() => mark.current?.scrollIntoView({ block: "start" }), []);
  const touches = (chunk) => cited && chunk.line_start <= cited[1] && cited[0] <= chunk.line_end;
  const first = document.chunks.find(touches);
  return html`<div class="stack">
    <p class="note">${document.kept ? WHY.kept : WHY.none}</p>
    ${!document.chunks.length && html`<${Empty} title="It has no passages" />`}
    ${document.chunks.map((chunk) => html`<article key=${chunk.id} ref=${chunk === first ? mark : null} class=${touches(chunk) ? "card text cited" : "card text"}>
      <h2 class="hint">${placeOf(chunk)}${touches(chunk) && " · cited"}</h2><pre tabindex="0">${chunk.content}</pre></article>`)}
  </div>`;
}

// The passages

const placeOf = ({ ordinal, page, line_start, line_end }) =>
  [`Passage ${ordinal + 1}`, page && `page ${page}`, line_start && (line_end > line_start ? `lines ${line_start}–${line_end}` : `line ${line_start}`)]
    .filter(Boolean)
    .join(" · ");

function Chunks({ chunks, pointed, point, open, page }) {
  const [all, setAll] = useState(page === null);
  const here = all ? chunks : chunks.filter((chunk) => chunk.page === page);
  return html`<section class="chunks stack tight" aria-labelledby="passages">
    <div class="between"><h2 id="passages">Passages</h2>
      ${page !== null && html`<label class="check"><input type="checkbox" checked=${all} onChange=${(event) => setAll(event.target.checked)} /> of all pages</label>`}</div>
    ${!here.length && html`<p class="hint">None begins on this page.</p>`}
    <ol class="plain">${here.map((chunk) => html`<li key=${chunk.id} class=${chunk === pointed ? "chunk pointed" : "chunk"}
        onPointerEnter=${() => point(chunk)}>
      <button type="button" class="quiet" aria-pressed=${chunk === pointed} onClick=${() => open(chunk)} onFocus=${() => point(chunk)}>${placeOf(chunk)}</button>
      ${chunk.section.length > 0 && html`<p class="hint">${chunk.section.join(" › ")}</p>`}
      <details><summary>${opening(chunk.content)}</summary><p class="whole">${chunk.content}</p></details>
      ${chunk.entities.length > 0 && html`<p class="chips">${chunk.entities.map(({ type, value }) => html`
        <a class="chip" href=${address("/rag/graph", { entity: value })} title=${type}>${value}</a>`)}</p>`}
    </li>`)}</ol>
  </section>`;
}

const OPENING = 140;
const opening = (text) => (text.length > OPENING ? `${text.slice(0, OPENING).trimEnd()}…` : text);
