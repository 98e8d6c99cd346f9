// The components in use, and whether the store responds.

import { getJson } from "../api.js";
import { Button, Chip, ErrorBox, Loading, Timings, useLoad } from "../components.js";
import { html } from "../html.js";
import { formatComponent } from "../labels.js";

export function HealthReport() {
  const { data, error, loading, reload } = useLoad(() => getJson("api/health"));
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Checking the components" />`;
  return html`<div class="card stack"><p><${Chip} tone="good">healthy<//> The store responds.</p>
    <dl class="facts">${Object.entries(data.parts).map(([component, name]) => html`<dt>${formatComponent(component)}</dt><dd>${name === "none" ? html`<span class="muted">none</span>` : name}</dd>`)}</dl>
    <${Timings} timings=${data.timings} />
    <div class="actions"><${Button} busy=${loading} onClick=${reload}>Check again<//></div></div>`;
}
