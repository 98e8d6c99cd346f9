// An answer taken away: as Markdown or as a web page with its citations, and the cited pages of PDF files, highlighted.

import { VERDICTS } from "../answers.js";
import { getJson } from "../api.js";
import { Button, ErrorBox, formatPlace, useAction } from "../components.js";
import { saveFile } from "../files.js";
import { html, render } from "../html.js";
import { renderMarkdown } from "../markdown.js";

/** Return the title of a document with the place in it: its locator, of a page its number alone, else lines. */
export function describePlace(citation) {
  const place = formatPlace(citation.page && !citation.locator ? { page: citation.page } : citation);
  return [citation.title || citation.document_id, place].filter(Boolean).join(", ");
}

/** Return the question, the answer with the numbers of its sources, and the sources, as Markdown. */
export function buildMarkdown({ asked, reply }) {
  const sources = reply.citations.map((citation) => `${citation.number}. ${describePlace(citation)}: “${joinLines(citation.quote)}”`);
  const parts = [`# ${asked}`, reply.claims.length ? insertNumbers(reply) : reply.answer, ...(sources.length ? ["## Sources", sources.join("\n")] : [])];
  return `${parts.join("\n\n")}\n`;
}

const joinLines = (text) => text.replaceAll(/\s+/g, " ").trim();

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

export function SaveButtons({ turn }) {
  return html`<button type="button" class="quiet" onClick=${() => saveFile(buildMarkdown(turn), "text/markdown", "answer.md")}>Save as Markdown</button>
    <button type="button" class="quiet" onClick=${() => saveFile(buildHtml(turn), "text/html", "answer.html")}>Save as HTML</button>`;
}

// The policy of the saved page: it runs nothing and loads nothing, from whatever place it is opened.
const SAVED_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const SAVED_STYLE = `
:root { color-scheme: light dark; color: light-dark(#1b2226, #e6ebed); background: light-dark(#fff, #14181a); font: 16px/1.55 system-ui, sans-serif; }
body { max-width: 44rem; margin: 2.5rem auto; padding: 0 1.25rem; overflow-wrap: anywhere; }
h1 { font-size: 1.45rem; line-height: 1.3; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } th, td { border: 1px solid; padding: .25rem .6rem; text-align: start; vertical-align: top; }
a { color: light-dark(#0b6e63, #7fd9cb); }
blockquote { margin: .3rem 0 0; padding-inline-start: .8rem; border-inline-start: 3px solid; }
pre { overflow-x: auto; white-space: pre-wrap; } li { margin: .6rem 0; break-inside: avoid; } tr { break-inside: avoid; }
sup { line-height: 0; } .doubt { text-decoration: underline dotted; } .note, small { opacity: .75; font-size: .9rem; }
@media print { :root { font-size: 11pt; color-scheme: light; } body { max-width: none; margin: 0; padding: 0; } a { color: inherit; text-decoration: none; } h2 { break-after: avoid; } }`;

/** Return a web page with the question, the answer and its sources. The browser writes it from elements: no text of it is markup. */
export function buildHtml(turn) {
  const box = document.createElement("div"); // never part of this page
  render(html`<head><meta charset="utf-8" /><meta http-equiv="Content-Security-Policy" content=${SAVED_POLICY} />
    <meta name="viewport" content="width=device-width, initial-scale=1" /><title>${turn.asked}</title></head><body><${SavedAnswer} turn=${turn} /></body>`, box);
  const [head, body] = [...box.children].map((element) => element.outerHTML);
  return `<!doctype html>\n<html lang="en">${head.replace("</head>", () => `<style>${SAVED_STYLE}</style></head>`)}${body}</html>\n`;
}

function SavedAnswer({ turn: { asked, reply } }) {
  const { answer, claims, citations, contexts, status } = reply;
  const elements = claims.length ? renderMarkdown(answer, claims, drawSavedClaim) : null;
  const nearest = status === "unknown" ? contexts.slice(0, 3) : [];
  const isDoubted = claims.some(({ verdict }) => verdict !== "verified");
  return html`<main><h1>${asked}</h1>
    ${reply.question !== asked && html`<p class="note">Understood as: “${reply.question}”</p>`}
    ${elements ?? html`<p>${claims.length ? insertNumbers(reply) : answer}</p>`}
    ${isDoubted && html`<p class="note">Underlined sentences are not, or not fully, supported by the documents.</p>`}
    ${citations.length > 0 && html`<section><h2>Sources</h2><ol>${citations.map((citation) => html`<li id="source-${citation.number}" value=${citation.number}>
      <b>${describePlace(citation)}</b> <small>${VERDICTS[citation.verdict][1]}</small><blockquote>${joinLines(citation.quote)}</blockquote></li>`)}</ol></section>`}
    ${nearest.length > 0 && html`<section><h2>Nearest passages</h2><ol>${nearest.map((passage) => html`<li><b>${describePlace(passage)}</b><blockquote>${joinLines(passage.content)}</blockquote></li>`)}</ol></section>`}
    <p class="note">Each sentence was checked against the documents of the workflow ${reply.workflow_id}. Saved ${new Date().toLocaleString()} · run ${reply.run_id}</p></main>`;
}

function drawSavedClaim(claim, index, part, isLast) {
  if (!isLast) return html`<span class=${claim.verdict === "verified" ? null : "doubt"}>${part}</span>`;
  const [, verdict] = VERDICTS[claim.verdict];
  return html`${claim.citations.map(({ number }) => html`<sup><a href="#source-${number}">[${number}]</a></sup>`)}${claim.verdict !== "verified" && html` <small>(${verdict})</small>`}`;
}

/** A button that saves one PDF with the cited pages; documents without pages are named in the error. */
export function EvidenceButton({ turn }) {
  const { busy, error, act } = useAction();
  const download = () =>
    act("evidence", async () => {
      const { pdf_base64, filename } = await getJson(`rag/queries/${turn.kept}/evidence`);
      saveFile(pdf_base64, "application/pdf", filename);
    });
  if (!turn.reply.citations.some(({ page, boxes }) => page && boxes.length)) return null;
  return html`<${Button} kind="quiet" busy=${busy !== null} onClick=${download}>Save cited pages<//>${error && html`<${ErrorBox} error=${error} />`}`;
}
