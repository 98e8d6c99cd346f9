// What is done to the service rather than asked of it: ingesting, adding documents, presets, prompts, its health.

import { Ask } from "../admin/ask.js";
import { Health } from "../admin/health.js";
import { Ingestion } from "../admin/ingestion.js";
import { Presets } from "../admin/presets.js";
import { Prompts } from "../admin/prompts.js";
import { Upload } from "../admin/upload.js";
import { Page } from "../components.js";
import { html, useEffect } from "../html.js";

const SECTIONS = [
  ["ask", "Ask", Ask],
  ["ingestion", "Ingestion", Ingestion],
  ["upload", "Add a document", Upload],
  ["presets", "Presets", Presets],
  ["prompts", "Prompts", Prompts],
  ["health", "Health", Health],
];

export default function AdminPage() {
  useEffect(() => document.getElementById(location.hash.slice(1))?.scrollIntoView(), []); // drawn after the browser looked
  return html`<${Page} title="Admin" lead="Ask the collections, fill them, and set how they are asked.">
    <nav aria-label="On this page" class="chips sections">${SECTIONS.map(([id, name]) => html`<a class="chip" href="#${id}">${name}</a>`)}</nav>
    <div class="stack">${SECTIONS.map(([id, name, Section]) => html`
      <section class="card stack" id=${id} aria-labelledby="${id}-title"><h2 id="${id}-title">${name}</h2><${Section} /></section>`)}</div>
  <//>`;
}
