// Which parts are in use, and whether the store answers.

import { get } from "../api.js";
import { Button, Chip, ErrorBox, Loading, Timings, useLoad } from "../components.js";
import { html } from "../html.js";

export function Health() {
  const { data, error, loading, reload } = useLoad(() => get("api/health"));
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Asking the parts" />`;
  return html`<p><${Chip} tone="good">well<//> The store answers.</p>
    <dl class="facts">${Object.entries(data.parts).map(([part, name]) => html`<dt>${part}</dt><dd>${name === "none" ? html`<span class="muted">none</span>` : name}</dd>`)}</dl>
    <${Timings} timings=${data.timings} />
    <div class="actions"><${Button} busy=${loading} onClick=${reload}>Ask again<//></div>`;
}
