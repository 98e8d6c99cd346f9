// /rag/documents/{id}: a document with the cited place marked, as page images with boxes or as numbered lines, and its passages.

import { buildAddress, getJson } from "../api.js";
import { Chip, DataLink, Empty, ErrorBox, Loading, Page, formatCount, toSafeAddress, useLoad } from "../components.js";
import { html, useEffect, useRef, useState } from "../html.js";

const DOCUMENTS_LINK = [buildAddress("/rag/documents"), "Documents"];

export default function DocumentPage({ params, query }) {
  const document_id = params.documentId;
  const citation = parseCitation(query);
  const { data, error, reload } = useLoad(() => loadDocument(document_id, computeFirstLine(citation.lines?.[0])));
  return html`<${Page} title=${data ? data.title || document_id : "Document"} trail=${[DOCUMENTS_LINK]}>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Loading the document" />`}
    ${data && html`<${DocumentView} document=${data} citation=${citation} />`}
  <//>`;
}

/** A document beside something else: the original alone, at the cited place. `citation` has page, boxes and lines. */
export function CitedOriginal({ document_id, citation }) {
  const { data, error, reload } = useLoad(() => loadDocument(document_id, computeFirstLine(citation.lines?.[0])));
  const [page, setPage] = useState(citation.page ?? 1);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Loading the document" />`;
  return html`<${Original} document=${data} citation=${citation} page=${Math.min(page, data.pages ?? 1)} setPage=${setPage} />`;
}

const loadDocument = (document_id, first_line) => getJson("api/document", { document_id, first_line });

/** Return the place that the address cites: {page, boxes, lines}. Malformed values are ignored. */
function parseCitation(query) {
  const page = Number(query.get("page"));
  const lines = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(query.get("lines") ?? "");
  return {
    page: Number.isInteger(page) && page > 0 ? page : null,
    boxes: query.getAll("box").map((box) => box.split(",").map(Number)).filter((box) => box.length === 4 && box.every(Number.isFinite)),
    lines: lines && [Number(lines[1]), Number(lines[2] ?? lines[1])],
  };
}

function DocumentView({ document, citation }) {
  const [activeChunk, setActiveChunk] = useState(null);
  const [page, setPage] = useState(Math.min(citation.page ?? document.chunks.find((chunk) => chunk.page)?.page ?? 1, document.pages ?? 1));
  const openChunk = (chunk) => {
    setActiveChunk(chunk);
    if (chunk.page) setPage(chunk.page);
  };
  return html`<div class="stack">
    <${DocumentFacts} document=${document} />
    <div class="document-view">
      <${Original} document=${document} citation=${citation} page=${page} setPage=${setPage} activeChunk=${activeChunk} />
      <${PassageList} chunks=${document.chunks} activeChunk=${activeChunk} activate=${setActiveChunk} open=${openChunk} page=${hasPageImages(document) ? page : null} />
    </div>
  </div>`;
}

const hasPageImages = (document) => document.kind === "pdf";

function Original({ document, citation, page, setPage, activeChunk = null }) {
  const activeLines = activeChunk?.line_start ? [activeChunk.line_start, activeChunk.line_end] : null;
  const renderText = () =>
    document.lines
      ? html`<${LineViewer} document=${document} citedLines=${citation.lines} activeLines=${activeLines} />`
      : html`<${PassageTexts} document=${document} citedLines=${citation.lines} />`;
  return html`<div class="original">${hasPageImages(document)
    ? html`<${PageViewer} document=${document} page=${page} openPage=${setPage} citation=${citation} activeChunk=${activeChunk} />`
    : renderText()}</div>`;
}

function DocumentFacts({ document }) {
  const metadata = Object.entries(document.metadata ?? {});
  return html`<div class="chips">
    <${Chip}>${document.extractor}<//>
    ${document.pages && html`<${Chip}>${formatCount(document.pages, "page")}<//>`}
    <${Chip}>${formatCount(document.chunks.length, "passage")}<//>
    ${metadata.map(([name, value]) => html`<${Chip}>${name}: <${TextOrLink} value=${String(value)} /><//>`)}
    <span class="hint"><${TextOrLink} value=${document.source} /></span>
  </div>`;
}

/** A value, as a link if it is an http(s) address. */
const TextOrLink = ({ value }) => (/^https?:\/\//i.test(value) && toSafeAddress(value) ? html`<${DataLink} href=${value} />` : html`${value}`);

// Page images

const PAGE_KEYS = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 };

function PageViewer({ document, page, openPage, citation, activeChunk }) {
  const image = useLoad(() => getJson("api/document_page", { document_id: document.document_id, page }), [page]);
  const openIfExists = (number) => number >= 1 && number <= document.pages && openPage(number);
  const handleKey = (event) => {
    if (event.target.matches("input") || !(event.key in PAGE_KEYS) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    openIfExists(page + PAGE_KEYS[event.key]);
  };
  return html`<section class="pages" aria-label="Pages" tabindex="0" onKeyDown=${handleKey}>
    <div class="page-controls">
      <button type="button" class="quiet" disabled=${page <= 1} onClick=${() => openIfExists(page - 1)} aria-label="Previous page">←</button>
      <label>Page <input key=${page} type="number" min="1" max=${document.pages} defaultValue=${page} onChange=${(event) => openIfExists(Number(event.target.value))} /></label>
      <span class="muted">of ${document.pages}</span>
      <button type="button" class="quiet" disabled=${page >= document.pages} onClick=${() => openIfExists(page + 1)} aria-label="Next page">→</button>
      <span class="hint">The arrow keys turn the pages too.</span>
    </div>
    ${image.error && html`<${ErrorBox} error=${image.error} retry=${image.reload} />`}
    ${!image.data && !image.error && html`<${Loading} what="Loading page ${page}" />`}
    ${image.data && html`<${PageImage} image=${image.data} title=${document.title}
      citedBoxes=${(citation.page ?? 1) === image.data.page ? citation.boxes : []}
      activeBoxes=${activeChunk?.page === image.data.page ? (activeChunk.boxes ?? []) : []} />`}
  </section>`;
}

/** A page with boxes. Boxes are in points from the top left of the page, as the view box of the drawing is. */
function PageImage({ image, title, citedBoxes, activeBoxes }) {
  const firstBox = useRef();
  useEffect(() => firstBox.current?.scrollIntoView({ block: "center" }), [image]);
  const markNote = citedBoxes.length ? `, ${formatCount(citedBoxes.length, "cited line")} marked` : "";
  return html`<figure class="page-image">
    <img src="data:image/png;base64,${image.image_base64}" width=${Math.round(image.width)} height=${Math.round(image.height)}
      alt="Page ${image.page} of ${title}${markNote}" />
    <svg viewBox="0 0 ${image.width} ${image.height}" preserveAspectRatio="none" aria-hidden="true">
      ${activeBoxes.map((box) => html`<${Box} box=${box} kind="active" />`)}
      ${citedBoxes.map((box, index) => html`<${Box} box=${box} kind="cited" rectRef=${index === 0 ? firstBox : null} />`)}
    </svg>
  </figure>`;
}

const Box = ({ box: [x0, y0, x1, y1], kind, rectRef }) =>
  html`<rect ref=${rectRef} class=${kind} x=${x0 - 1.5} y=${y0 - 1} width=${Math.max(0, x1 - x0) + 3} height=${Math.max(0, y1 - y0) + 2} rx="1.5" />`;

// Lines of a text; a reply has a range of them

const LINES_BEFORE = 200; // lines loaded above the cited one
const computeFirstLine = (line) => Math.max(1, (line ?? 1) - LINES_BEFORE);

const isWithin = (number, range) => range && range[0] <= number && number <= range[1];

function LineViewer({ document, citedLines, activeLines }) {
  const [first, setFirst] = useState(document.first_line);
  const { data, error, reload } = useLoad(() => (first === document.first_line ? document : loadDocument(document.document_id, first)), [first]);
  const target = activeLines?.[0] ?? citedLines?.[0] ?? null;
  const targetElement = useRef();
  const last = first + (data?.lines.length ?? 0) - 1;
  useEffect(() => {
    if (target && data && (target < first || target > last)) setFirst(computeFirstLine(target));
    else targetElement.current?.scrollIntoView({ block: activeLines ? "nearest" : "center" });
  }, [target, data]);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Loading the lines" />`;
  return html`<section class="card lines" aria-label="Lines ${first} to ${last} of ${document.total_lines}" tabindex="0">
    ${first > 1 && html`<button type="button" class="quiet" onClick=${() => setFirst(Math.max(1, first - data.lines.length))}>Earlier lines</button>`}
    <ol start=${first}>${data.lines.map((text, index) => html`<${Line} key=${first + index} number=${first + index} text=${text || " "}
      isCited=${isWithin(first + index, citedLines)} isActive=${isWithin(first + index, activeLines)} lineRef=${first + index === target ? targetElement : null} />`)}</ol>
    ${last < document.total_lines && html`<button type="button" class="quiet" onClick=${() => setFirst(last + 1)}>Later lines</button>`}
  </section>`;
}

function Line({ number, text, isCited, isActive, lineRef }) {
  return html`<li value=${number} class="${isCited ? "cited" : ""} ${isActive ? "active" : ""}" ref=${lineRef}>
    <span class="count" aria-hidden="true">${number}</span>${isCited ? html`<mark>${text}</mark>` : html`<span>${text}</span>`}</li>`;
}

// The text of the passages, for a document without page images or lines

const NO_ORIGINAL = "The original was not stored, so the indexed passages are shown.";
const NO_PAGE_IMAGES = "This kind of document has no page images, so the extracted passages are shown.";

function PassageTexts({ document, citedLines }) {
  const firstCited = useRef();
  useEffect(() => firstCited.current?.scrollIntoView({ block: "start" }), []);
  const isCited = (chunk) => citedLines && chunk.line_start <= citedLines[1] && citedLines[0] <= chunk.line_end;
  const firstCitedChunk = document.chunks.find(isCited);
  return html`<div class="stack">
    <p class="note">${document.kept ? NO_PAGE_IMAGES : NO_ORIGINAL}</p>
    ${!document.chunks.length && html`<${Empty} title="This document has no passages" />`}
    ${document.chunks.map((chunk) => html`<article key=${chunk.id} ref=${chunk === firstCitedChunk ? firstCited : null} class=${isCited(chunk) ? "card text cited" : "card text"}>
      <h2 class="hint">${formatPlace(chunk)}${isCited(chunk) && " · cited"}</h2><pre tabindex="0">${isCited(chunk) ? markLines(chunk, citedLines) : chunk.content}</pre></article>`)}
  </div>`;
}

/** The lines of a passage, of which the cited ones are marked. */
const markLines = ({ content, line_numbers }, citedLines) =>
  content.split("\n").map((line, index) => html`${index > 0 && "\n"}${isWithin(line_numbers[index], citedLines) ? html`<mark>${line}</mark>` : line}`);

// The list of passages

const formatPlace = ({ ordinal, page, line_start, line_end, locator }) =>
  locator ? `Passage ${ordinal + 1} · ${locator}` : [`Passage ${ordinal + 1}`, page && `page ${page}`, line_start && (line_end > line_start ? `lines ${line_start}–${line_end}` : `line ${line_start}`)]
    .filter(Boolean)
    .join(" · ");

function PassageList({ chunks, activeChunk, activate, open, page }) {
  const [showsAllPages, setShowsAllPages] = useState(page === null);
  const shown = showsAllPages ? chunks : chunks.filter((chunk) => chunk.page === page);
  return html`<section class="chunks stack tight" aria-labelledby="passages">
    <div class="between"><h2 id="passages">Passages</h2>
      ${page !== null && html`<label class="check"><input type="checkbox" checked=${showsAllPages} onChange=${(event) => setShowsAllPages(event.target.checked)} /> all pages</label>`}</div>
    ${!shown.length && html`<p class="hint">No passage begins on this page.</p>`}
    <ol class="plain">${shown.map((chunk) => html`<li key=${chunk.id} class=${chunk === activeChunk ? "chunk active" : "chunk"}
        onPointerEnter=${() => activate(chunk)}>
      <button type="button" class="quiet" aria-pressed=${chunk === activeChunk} onClick=${() => open(chunk)} onFocus=${() => activate(chunk)}>${formatPlace(chunk)}</button>
      ${chunk.section.length > 0 && html`<p class="hint">${chunk.section.join(" › ")}</p>`}
      <details><summary>${shorten(chunk.content)}</summary><p class="whole">${chunk.content}</p></details>
      ${chunk.entities.length > 0 && html`<p class="chips">${chunk.entities.map(({ type, value }) => html`
        <a class="chip" href=${buildAddress("/rag/graph", { entity: value })} title="Entity of type ${type}">${value}</a>`)}</p>`}
    </li>`)}</ol>
  </section>`;
}

const MAX_SUMMARY_CHARS = 140;
const shorten = (text) => (text.length > MAX_SUMMARY_CHARS ? `${text.slice(0, MAX_SUMMARY_CHARS).trimEnd()}…` : text);
