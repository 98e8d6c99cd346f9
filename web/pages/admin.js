// /rag/admin and the pages below it: proposals, presets, prompts, usage and cost, and the health of the service.

import { HealthReport } from "../admin/health.js";
import { ProposalsPage } from "../admin/proposals.js";
import { PresetEditor } from "../admin/presets.js";
import { PromptEditor } from "../admin/prompts.js";
import { UsageReport } from "../admin/usage.js";
import { buildAddress } from "../api.js";
import { ErrorBox, Page } from "../components.js";
import { html } from "../html.js";

const SECTIONS = [
  ["", "Ingest", "Read the operator's source of proposals, and ask them by stage. Files are added on the page Ask or Documents.", ProposalsPage],
  ["presets", "Presets", "The numbers of each pipeline, with what they do. Edited numbers apply to the workbench and to replays.", PresetEditor],
  ["prompts", "Prompts", "What is sent to a chat model. Edited wordings apply to the workbench.", PromptEditor],
  ["usage", "Usage and cost", "What the saved answers and queries of this workflow have used.", UsageReport],
  ["health", "Health", "The parts that are in use, and whether the store responds.", HealthReport],
];

export default function AdminPage({ params: { section = "" } }) {
  const [, name, lead, Section] = SECTIONS.find(([path]) => path === section) ?? [];
  if (!Section) return html`<${Page} title="Admin"><${Tabs} section=${section} /><${ErrorBox} error=${new Error("there is no such page")} /><//>`;
  return html`<${Page} title=${name} heading=${`Admin: ${name}`} lead=${lead}>
    <${Tabs} section=${section} />
    <section class="stack" aria-label=${name}><${Section} /></section>
  <//>`;
}

const getPath = (section) => (section ? `/rag/admin/${section}` : "/rag/admin");

function Tabs({ section }) {
  return html`<nav aria-label="Admin pages" class="tabs"><ul>${SECTIONS.map(([path, name]) => html`
    <li><a href=${buildAddress(getPath(path))} aria-current=${path === section ? "page" : null}>${name}</a></li>`)}</ul></nav>`;
}
