// The pages of a PDF as images: boxes around what is cited, found or pointed at, and their text above them, to be selected.

import { getJson } from "../api.js";
import { ErrorBox, formatCount, Loading, useLoad } from "../components.js";
import { html, useEffect, useRef } from "../html.js";
import { isWithin } from "./loading.js";

const PAGE_KEYS = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1 };

export function PageViewer({ document, page, openPage, zoom, citation, found, activeChunk }) {
  const image = useLoad(() => getJson("api/document_page", { document_id: document.document_id, page }), [page]);
  const number = useRef();
  useEffect(() => void (number.current.value = page), [page]); // not a new element: it keeps the focus
  const openIfExists = (wanted) => wanted >= 1 && wanted <= document.pages && openPage(wanted);
  const handleKey = (event) => {
    if (event.target.matches("input") || !(event.key in PAGE_KEYS) || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openIfExists(page + PAGE_KEYS[event.key]);
  };
  return html`<section class="pages" aria-label="Pages" tabindex="0" onKeyDown=${handleKey}>
    <div class="page-controls">
      <button type="button" class="quiet" disabled=${page <= 1} onClick=${() => openIfExists(page - 1)} aria-label="Previous page">←</button>
      <label>Page <input ref=${number} type="number" min="1" max=${document.pages} defaultValue=${page} onChange=${(event) => openIfExists(Number(event.target.value))} /></label>
      <span class="muted">of ${document.pages}</span>
      <button type="button" class="quiet" disabled=${page >= document.pages} onClick=${() => openIfExists(page + 1)} aria-label="Next page">→</button>
      <span class="hint">The arrow keys turn the pages too.</span>
    </div>
    ${image.error && html`<${ErrorBox} error=${image.error} retry=${image.reload} />`}
    ${!image.data && !image.error && html`<${Loading} what="Loading page ${page}" />`}
    ${image.data && html`<div class="page-frame" tabindex="0" role="region" aria-label="Page ${image.data.page}"><${PageImage} image=${image.data} title=${document.title} zoom=${zoom} found=${found?.page === image.data.page ? found : null}
      citedBoxes=${(citation.page ?? 1) === image.data.page ? citation.boxes : []}
      activeBoxes=${activeChunk?.page === image.data.page ? (activeChunk.boxes ?? []) : []} /></div>`}
  </section>`;
}

/** A page with boxes. Boxes are in points from the top left of the page, as the view box of the drawing is. */
function PageImage({ image, title, zoom, citedBoxes, activeBoxes, found }) {
  const firstBox = useRef();
  const foundBoxes = found ? image.lines.filter(({ line }) => isWithin(line, found.lines)).flatMap((line) => locateMatches(line, found.pattern)) : [];
  useEffect(() => firstBox.current?.scrollIntoView({ block: "center", inline: "center" }), [image, found?.lines[0], zoom]);
  const markNote = citedBoxes.length ? `, ${formatCount(citedBoxes.length, "cited line")} marked` : "";
  const getRef = (index, isFirst) => (isFirst && index === 0 ? firstBox : null);
  return html`<figure class="page-image zoom${zoom * 10}">
    <img src="data:image/png;base64,${image.image_base64}" width=${Math.round(image.width)} height=${Math.round(image.height)}
      alt="Page ${image.page} of ${title}${markNote}" />
    <svg class="page-marks" viewBox="0 0 ${image.width} ${image.height}" preserveAspectRatio="none" aria-hidden="true">
      ${activeBoxes.map((box) => html`<${Box} box=${box} kind="active" />`)}
      ${citedBoxes.map((box, index) => html`<${Box} box=${box} kind="cited" rectRef=${getRef(index, !foundBoxes.length)} />`)}
      ${foundBoxes.map((box, index) => html`<${Box} box=${box} kind="found" rectRef=${getRef(index, true)} />`)}
    </svg>
    <svg class="page-text" viewBox="0 0 ${image.width} ${image.height}" preserveAspectRatio="none" role="group" aria-label="Text of page ${image.page}">
      ${image.lines.map(({ text, line, box: [x0, y0, x1, y1] }) => html`<text key="${line} ${x0}" x=${x0} y=${y0 + 0.8 * (y1 - y0)} font-size=${y1 - y0} textLength=${Math.max(1, x1 - x0)} lengthAdjust="spacingAndGlyphs">${text}</text>`)}
    </svg>
  </figure>`;
}

/** Return where a line of a page has a pattern, as if its letters were equally wide; the whole line for words that go over its end. */
function locateMatches({ text, box: [x0, y0, x1, y1] }, pattern) {
  const width = (x1 - x0) / text.length;
  const boxes = [...text.matchAll(pattern)].map((match) => [x0 + width * match.index, y0, x0 + width * (match.index + match[0].length), y1]);
  return boxes.length ? boxes : [[x0, y0, x1, y1]];
}

const Box = ({ box: [x0, y0, x1, y1], kind, rectRef }) =>
  html`<rect ref=${rectRef} class=${kind} x=${x0 - 1.5} y=${y0 - 1} width=${Math.max(0, x1 - x0) + 3} height=${Math.max(0, y1 - y0) + 2} rx="1.5" />`;
