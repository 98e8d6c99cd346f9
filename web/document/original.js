// The original of a document at a cited place, as page images with boxes, numbered lines or passages, to be searched, enlarged and saved.

import { getJson } from "../api.js";
import { Button, Empty, ErrorBox, formatPlace, Loading, useAction, useLoad } from "../components.js";
import { saveFile } from "../files.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { LineViewer } from "./lines.js";
import { isWithin, loadDocument } from "./loading.js";
import { PageViewer } from "./page_images.js";
import { buildSearchPattern, findMatches, markMatches, SearchBar } from "./search.js";

/** Return whether a page of a document is drawn; of a zip or mail only those of PDFs and pictures are, which have boxes. */
export const hasPageImages = (document, page) =>
  ["pdf", "image"].includes(document.kind) || (isContainer(document) && document.chunks.some((chunk) => chunk.page === page && chunk.boxes.length > 0));
const isContainer = (document) => ["zip", "eml", "msg"].includes(document.kind);
export const describePassage = (chunk) => [`Passage ${chunk.ordinal + 1}`, formatPlace(chunk)].filter(Boolean).join(" · ");

const ZOOMS = [1, 1.5, 2, 2.5, 3];

/** A document beside something else: the original alone, at the cited place. `citation` has page, boxes and lines. */
export function CitedOriginal({ document_id, citation }) {
  const { data, error, reload } = useLoad(() => loadDocument(document_id, citation.lines?.[0]));
  const [page, setPage] = useState(citation.page ?? 1);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Loading the document" />`;
  return html`<${Original} document=${data} citation=${citation} page=${Math.min(page, data.pages ?? 1)} setPage=${setPage} />`;
}

/** The original with its tools. `citation` has page, boxes and lines; `page` is the open one; `activeChunk` is pointed at. */
export function Original({ document, citation, page, setPage, activeChunk = null }) {
  const [search, setSearch] = useState({ text: "", matches: [], index: 0 });
  const [zoom, setZoom] = useState(0);
  const go = (changed) => {
    setSearch(changed);
    const found = changed.matches[changed.index];
    if (found?.page) setPage(found.page);
  };
  const change = (text) => go({ text, matches: findMatches(document.chunks, buildSearchPattern(text)), index: 0 });
  const step = (by) => search.matches.length && go({ ...search, index: (search.index + by + search.matches.length) % search.matches.length });
  const match = search.matches[search.index] ?? null;
  const found = match && { ...match, pattern: buildSearchPattern(search.text) };
  const renderText = () =>
    document.lines
      ? html`<${LineViewer} document=${document} citedLines=${citation.lines} found=${found} activeChunk=${activeChunk} />`
      : html`<${PassageTexts} document=${document} page=${isContainer(document) ? page : null} citedLines=${citation.lines} found=${found} />`;
  const isDrawn = hasPageImages(document, page) || (isContainer(document) && citation.page === page && citation.boxes?.length > 0);
  const isCut = document.warnings.some(({ code }) => code === "chunks_cut");
  return html`<div class="original">
    ${isCut && search.text && html`<p class="hint">Only the first ${document.chunks.length.toLocaleString()} passages of this document are searched.</p>`}
    <div class="document-tools"><${SearchBar} search=${search} change=${change} step=${step} />
      <div class="actions">${isDrawn && html`<button type="button" class="quiet" aria-label="Smaller" disabled=${zoom === 0} onClick=${() => setZoom(zoom - 1)}>−</button>
        <button type="button" class="quiet" aria-label="Larger" disabled=${zoom === ZOOMS.length - 1} onClick=${() => setZoom(zoom + 1)}>+</button>`}
        ${document.kept && html`<${OriginalButton} document=${document} />`}</div></div>
    ${isDrawn
      ? html`<${PageViewer} document=${document} page=${page} openPage=${setPage} zoom=${ZOOMS[zoom]} citation=${citation} found=${found} activeChunk=${activeChunk} />`
      : renderText()}</div>`;
}

/** A button that saves the file as it was uploaded. It is never opened here: an uploaded web page would run as ours. */
function OriginalButton({ document }) {
  const { busy, error, act } = useAction();
  const download = () =>
    act("original", async () => {
      const { content_base64, filename, kind } = await getJson("api/document_original", { document_id: document.document_id });
      saveFile(content_base64, "application/octet-stream", filename || `${document.document_id}.${kind === "text" ? "txt" : kind}`);
    });
  return html`<${Button} kind="quiet" busy=${busy !== null} onClick=${download} title="Save the file as it was uploaded, to open it">Original file<//>${error && html`<${ErrorBox} error=${error} />`}`;
}

// The text of the passages, for a document without page images or lines

const NO_ORIGINAL = "The original was not stored, so the indexed passages are shown.";
const NO_PAGE_IMAGES = "This kind of document has no page images, so the extracted passages are shown.";

/** The passages, from the cited one on; of a zip or mail `page` is the open one, and another file's passage may be cited. */
function PassageTexts({ document, page, citedLines, found }) {
  const list = useRef();
  const isCited = (chunk) => citedLines && chunk.line_start <= citedLines[1] && citedLines[0] <= chunk.line_end;
  const isOpen = (chunk) => page === null || chunk.page === page;
  const wanted = found?.chunk ?? document.chunks.find((chunk) => isCited(chunk) && isOpen(chunk)) ?? (page > 1 ? document.chunks.find(isOpen) : undefined);
  useEffect(() => list.current.querySelector(found ? "mark.current" : ".target")?.scrollIntoView({ block: found ? "center" : "start" }), [wanted?.id, found?.start, found?.pattern.source]);
  return html`<div class="stack" ref=${list}>
    <p class="note">${document.kept ? NO_PAGE_IMAGES : NO_ORIGINAL}</p>
    ${!document.chunks.length && html`<${Empty} title="This document has no passages" />`}
    ${document.chunks.map((chunk) => html`<article key=${chunk.id} class=${["card text", isCited(chunk) && "cited", chunk === wanted && "target"].filter(Boolean).join(" ")}>
      <h2 class="hint">${describePassage(chunk)}${isCited(chunk) && " · cited"}</h2><pre tabindex="0">${markLines(chunk, isCited(chunk) ? citedLines : null, chunk === found?.chunk ? found : null)}</pre></article>`)}
  </div>`;
}

/** The lines of a passage: the cited ones are marked, or what is found. */
const markLines = ({ content, line_numbers }, citedLines, found) =>
  citedLines && !found
    ? content.split("\n").map((line, index) => html`${index > 0 && "\n"}${isWithin(line_numbers[index], citedLines) ? html`<mark>${line}</mark>` : line}`)
    : markMatches(content, found?.pattern, found?.start);
