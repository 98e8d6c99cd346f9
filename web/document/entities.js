// The entities of a document: how often each occurs in its passages, as links into the graph.

import { buildAddress } from "../api.js";
import { formatCount } from "../components.js";
import { html } from "../html.js";

const MAX_ENTITIES = 24;

/** Return the most frequent entities of these passages, {type, value, count}, most frequent first. */
export function listEntities(chunks) {
  const counts = new Map();
  for (const { entities } of chunks)
    for (const { type, value } of entities) counts.set(value, { type, value, count: (counts.get(value)?.count ?? 0) + 1 });
  return [...counts.values()].sort((one, other) => other.count - one.count).slice(0, MAX_ENTITIES);
}

export function EntityChips({ entities }) {
  return html`<p class="chips">${entities.map(({ type, value, count }) => html`<a class="chip" href=${buildAddress("/rag/graph", { entity: value })}
    title="${type}, in ${formatCount(count, "passage")}">${value}${count > 1 && html` <span aria-label="in ${formatCount(count, "passage")}">${count}</span>`}</a>`)}</p>`;
}
