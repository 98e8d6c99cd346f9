// An answer taken away: as Markdown with its citations, and the cited pages of PDF files with the cited lines highlighted.

import { getJson } from "../api.js";
import { Button, ErrorBox, useAction } from "../components.js";
import { html } from "../html.js";

/** Return the question, the answer with the numbers of its sources, and the sources, as Markdown. */
export function buildMarkdown({ asked, reply }) {
  const sources = reply.citations.map(({ number, title, document_id, page, lines, quote }) => {
    const place = page ? `, page ${page}` : lines ? `, lines ${lines[0]}–${lines[1]}` : "";
    return `${number}. ${title || document_id}${place}: “${quote.replaceAll(/\s+/g, " ").trim()}”`;
  });
  const parts = [`# ${asked}`, reply.claims.length ? insertNumbers(reply) : reply.answer, ...(sources.length ? ["## Sources", sources.join("\n")] : [])];
  return `${parts.join("\n\n")}\n`;
}

function insertNumbers({ answer, claims }) {
  const characters = [...answer];
  const pieces = claims.map(({ start, end, citations, verdict }, index) => {
    const numbers = citations.map(({ number }) => `[${number}]`).join("");
    const doubt = { partial: " (partially supported)", unsupported: " (not supported)" }[verdict] ?? "";
    const text = characters.slice(index ? claims[index - 1].end : 0, end).join("");
    const [, body, closing] = /^([^]*?)(\s*\|?\s*)$/.exec(text); // within the last cell of a row
    return `${body}${numbers && ` ${numbers}`}${doubt}${closing}`;
  });
  return [...pieces, characters.slice(claims.at(-1)?.end ?? 0).join("")].join("");
}

/** Save a text or bytes as a file of the reader's. */
export function saveFile(content, type, name) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // after the browser has begun to read it
}

export function DownloadButton({ turn }) {
  return html`<button type="button" class="quiet" onClick=${() => saveFile(buildMarkdown(turn), "text/markdown", "answer.md")}>Save as Markdown</button>`;
}

/** A button that saves one PDF with the cited pages; documents without pages are named in the error. */
export function EvidenceButton({ turn }) {
  const { busy, error, act } = useAction();
  const download = () =>
    act("evidence", async () => {
      const { pdf_base64, filename } = await getJson(`rag/queries/${turn.kept}/evidence`);
      saveFile(Uint8Array.from(atob(pdf_base64), (sign) => sign.charCodeAt(0)), "application/pdf", filename);
    });
  if (!turn.reply.citations.some(({ page, boxes }) => page && boxes.length)) return null;
  return html`<${Button} kind="quiet" busy=${busy !== null} onClick=${download}>Save cited pages<//>${error && html`<${ErrorBox} error=${error} />`}`;
}
