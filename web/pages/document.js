// /rag/documents/{id}: a document with the cited place marked, as page images with boxes or as numbered lines, and its passages.

import { buildAddress } from "../api.js";
import { Chip, DataLink, ErrorBox, Loading, Page, formatCount, formatPages, toSafeAddress, useLoad } from "../components.js";
import { EntityChips, listEntities } from "../document/entities.js";
import { loadDocument } from "../document/loading.js";
import { describePassage, hasPageImages, Original } from "../document/original.js";
import { html, useState } from "../html.js";

const DOCUMENTS_LINK = [buildAddress("/rag/documents"), "Documents"];

export default function DocumentPage({ params, query }) {
  const document_id = params.documentId;
  const citation = parseCitation(query);
  const { data, error, reload } = useLoad(() => loadDocument(document_id, citation.lines?.[0]));
  return html`<${Page} title=${data ? data.title || document_id : "Document"} trail=${[DOCUMENTS_LINK]}>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Loading the document" />`}
    ${data && html`<${DocumentView} document=${data} citation=${citation} />`}
  <//>`;
}

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
      <${PassageList} chunks=${document.chunks} activeChunk=${activeChunk} activate=${setActiveChunk} open=${openChunk} page=${hasPageImages(document, page) ? page : null} />
    </div>
  </div>`;
}

function DocumentFacts({ document }) {
  const metadata = Object.entries(document.metadata ?? {});
  const entities = listEntities(document.chunks);
  return html`<div class="chips">
    <${Chip}>${document.extractor}<//>
    ${document.pages && html`<${Chip}>${formatPages(document)}<//>`}
    <${Chip}>${formatCount(document.chunks.length, "passage")}<//>
    ${metadata.map(([name, value]) => html`<${Chip}>${name}: <${TextOrLink} value=${String(value)} /><//>`)}
    <span class="hint"><${TextOrLink} value=${document.source} /></span>
  </div>
  ${entities.length > 0 && html`<details><summary class="hint">${formatCount(entities.length, "entity", "entities")}, most frequent first</summary><${EntityChips} entities=${entities} /></details>`}`;
}

/** A value, as a link if it is an http(s) address. */
const TextOrLink = ({ value }) => (/^https?:\/\//i.test(value) && toSafeAddress(value) ? html`<${DataLink} href=${value} />` : html`${value}`);

// The list of passages

function PassageList({ chunks, activeChunk, activate, open, page }) {
  const [showsAllPages, setShowsAllPages] = useState(page === null);
  const shown = showsAllPages || page === null ? chunks : chunks.filter((chunk) => chunk.page === page);
  return html`<section class="chunks stack tight" aria-labelledby="passages">
    <div class="between"><h2 id="passages">Passages</h2>
      ${page !== null && html`<label class="check"><input type="checkbox" checked=${showsAllPages} onChange=${(event) => setShowsAllPages(event.target.checked)} /> all pages</label>`}</div>
    ${!shown.length && html`<p class="hint">No passage begins on this page.</p>`}
    <ol class="plain">${shown.map((chunk) => html`<li key=${chunk.id} class=${chunk === activeChunk ? "chunk active" : "chunk"}
        onPointerEnter=${() => activate(chunk)}>
      <button type="button" class="quiet" aria-pressed=${chunk === activeChunk} onClick=${() => open(chunk)} onFocus=${() => activate(chunk)}>${describePassage(chunk)}</button>
      ${chunk.section.length > 0 && html`<p class="hint">${chunk.section.join(" › ")}</p>`}
      <details><summary>${shorten(chunk.content)}</summary><p class="whole">${chunk.content}</p></details>
      ${chunk.entities.length > 0 && html`<p class="chips">${chunk.entities.map(({ type, value }) => html`
        <a class="chip" href=${buildAddress("/rag/graph", { entity: value })} title="Entity of type ${type}">${value}</a>`)}</p>`}
    </li>`)}</ol>
  </section>`;
}

const MAX_SUMMARY_CHARS = 140;
const shorten = (text) => (text.length > MAX_SUMMARY_CHARS ? `${text.slice(0, MAX_SUMMARY_CHARS).trimEnd()}…` : text);
