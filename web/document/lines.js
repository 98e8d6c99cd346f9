// The lines of a text original, some thousand at a time, with the cited, found and active ones marked.

import { ErrorBox, Loading, useLoad } from "../components.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { computeFirstLine, isWithin, loadLines } from "./loading.js";
import { markMatches } from "./search.js";

export function LineViewer({ document, citedLines, found, activeChunk }) {
  const [first, setFirst] = useState(document.first_line);
  const { data, error, reload } = useLoad(() => (first === document.first_line ? document : loadLines(document.document_id, first)), [first]);
  const activeLines = found?.lines ?? (activeChunk?.line_start ? [activeChunk.line_start, activeChunk.line_end] : null);
  const target = activeLines?.[0] || citedLines?.[0] || null;
  const section = useRef();
  const last = first + (data?.lines.length ?? 0) - 1;
  useEffect(() => {
    if (target && data && (target < first || target > last)) setFirst(computeFirstLine(target));
    else section.current?.querySelector(".target")?.scrollIntoView({ block: activeLines && !found ? "nearest" : "center" });
  }, [target, data]);
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Loading the lines" />`;
  return html`<section class="card lines" aria-label="Lines ${first} to ${last} of ${document.total_lines}" tabindex="0" ref=${section}>
    ${first > 1 && html`<button type="button" class="quiet" onClick=${() => setFirst(Math.max(1, first - data.lines.length))}>Earlier lines</button>`}
    <ol start=${first}>${data.lines.map((text, index) => html`<${Line} key=${first + index} number=${first + index} text=${text || " "} isCited=${isWithin(first + index, citedLines)}
      isActive=${isWithin(first + index, activeLines)} pattern=${isWithin(first + index, found?.lines) ? found.pattern : null} isTarget=${first + index === target} />`)}</ol>
    ${last < document.total_lines && html`<button type="button" class="quiet" onClick=${() => setFirst(last + 1)}>Later lines</button>`}
  </section>`;
}

function Line({ number, text, isCited, isActive, pattern, isTarget }) {
  const marked = markMatches(text, pattern);
  return html`<li value=${number} class=${[isCited && "cited", isActive && "active", isTarget && "target"].filter(Boolean).join(" ")}>
    <span class="count" aria-hidden="true">${number}</span>${isCited && !pattern ? html`<mark>${text}</mark>` : html`<span>${marked}</span>`}</li>`;
}
