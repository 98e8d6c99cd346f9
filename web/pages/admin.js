// /rag/admin: asking the collections, ingestion, documents, presets, prompts and the health of the service.

import { AskForm } from "../admin/ask.js";
import { HealthReport } from "../admin/health.js";
import { IngestionForm } from "../admin/ingestion.js";
import { PresetEditor } from "../admin/presets.js";
import { PromptEditor } from "../admin/prompts.js";
import { UploadForm } from "../admin/upload.js";
import { Page } from "../components.js";
import { html, useEffect } from "../html.js";

const SECTIONS = [
  ["ask", "Ask", AskForm],
  ["ingestion", "Ingestion", IngestionForm],
  ["upload", "Add a document", UploadForm],
  ["presets", "Presets", PresetEditor],
  ["prompts", "Prompts", PromptEditor],
  ["health", "Health", HealthReport],
];

export default function AdminPage() {
  useEffect(() => document.getElementById(location.hash.slice(1))?.scrollIntoView(), []); // the browser looked for it before it was rendered
  return html`<${Page} title="Admin" lead="Ask questions, ingest proposals, add documents, and edit presets and prompts.">
    <nav aria-label="On this page" class="chips sections">${SECTIONS.map(([id, name]) => html`<a class="chip" href="#${id}">${name}</a>`)}</nav>
    <div class="stack">${SECTIONS.map(([id, name, Section]) => html`
      <section class="card stack" id=${id} aria-labelledby="${id}-title"><h2 id="${id}-title">${name}</h2><${Section} /></section>`)}</div>
  <//>`;
}
