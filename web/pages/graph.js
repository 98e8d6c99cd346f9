// The graph of entities that stand in the same passages: as a picture, as tables, and the passages behind an edge.

import { address, get, send } from "../api.js";
import { Chip, Empty, ErrorBox, Field, Loading, Page, many, sourceAddress, useLoad } from "../components.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { placed } from "../layout.js";

const MOST = 30; // entities offered to begin with

export default function GraphPage({ query }) {
  const asked = { entity: query.get("entity"), target: query.get("target"), depth: query.get("depth") ?? "2", limit: query.get("limit") ?? "24" };
  const { data, error, reload } = useLoad(() => explored(asked));
  return html`<${Page} title="Entity graph" lead="Two entities are joined when they stand in the same passages. Nothing is stored for it: it is read off the index.">
    <div class="stack">
      <${Asking} asked=${asked} />
      ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
      ${!data && !error && html`<${Loading} what="Reading the graph" />`}
      ${data && (data.graph.nodes.length ? html`<${Explored} ...${data} asked=${asked} />` : html`
        <${Empty} title="No entities yet"><p>They are found in documents as these are indexed.</p><//>`)}
    </div>
  <//>`;
}

/** What is asked for or, where nothing is, the most frequent entities and what is around the first of them. */
async function explored({ entity, target, depth, limit }) {
  const ask = (operation, fields) => get("api/graph_query", { operation, ...fields });
  if (entity && target) return { start: entity, graph: await ask("path", { entity, target }) };
  if (entity) return { start: entity, graph: await ask("neighbors", { entity, depth, limit }) };
  const top = await ask("top", { limit: MOST });
  if (!top.nodes.length) return { graph: top };
  const start = top.nodes[0].id;
  return { start, top: top.nodes, graph: await ask("neighbors", { entity: start, depth, limit }) };
}

/** A form of the address: the picture of a question is a link to be shared. */
function Asking({ asked }) {
  const go = (event) => {
    event.preventDefault();
    location.assign(address("/rag/graph", Object.fromEntries(new FormData(event.target))));
  };
  return html`<form class="card asking" onSubmit=${go} aria-label="What to show">
    <${Field} label="Entity">${(named) => html`<input ...${named} name="entity" defaultValue=${asked.entity ?? ""} placeholder="the most frequent" maxlength="500" />`}<//>
    <${Field} label="Way to">${(named) => html`<input ...${named} name="target" defaultValue=${asked.target ?? ""} placeholder="another entity" maxlength="500" />`}<//>
    <${Field} label="Steps">${(named) => html`<select ...${named} name="depth">${["1", "2", "3"].map((n) => html`<option selected=${n === asked.depth}>${n}</option>`)}</select>`}<//>
    <${Field} label="At most">${(named) => html`<input ...${named} name="limit" type="number" min="1" max="100" defaultValue=${asked.limit} />`}<//>
    <button class="primary">Show</button>
  </form>`;
}

function Explored({ start, top, graph, asked }) {
  const [edge, setEdge] = useState(null);
  return html`
    ${asked.target && !graph.paths.length ? html`
      <${Empty} title="No way between the two"><p>They do not meet within six steps.</p><//>` : html`
      <${Picture} graph=${graph} start=${start} asked=${asked} edge=${edge} choose=${setEdge} />`}
    ${top && html`<nav aria-label="Most frequent entities" class="chips"><span class="hint">Most frequent:</span>${top.map(({ id, count }) => html`
      <a class="chip" href=${beside(id, asked)}>${id} <span aria-label=${many(count, "passage")}>${count}</span></a>`)}</nav>`}
    ${edge && html`<${Behind} key=${`${edge.source} ${edge.target}`} edge=${edge} close=${() => setEdge(null)} />`}
    <${Tables} graph=${graph} asked=${asked} choose=${setEdge} />`;
}

const beside = (entity, { depth, limit }) => address("/rag/graph", { entity, depth, limit });

// The picture

const NAME_LENGTH = 26;
const clipped = (name) => (name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH - 1)}…` : name);

function Picture({ graph, start, asked, edge, choose }) {
  const { nodes, links, box } = placed(graph);
  const types = [...new Set(nodes.map((node) => node.type))].sort();
  const tint = (type) => `kind${types.indexOf(type) % 6}`;
  const most = Math.max(1, ...links.map((link) => link.count));
  const told = `${many(nodes.length, "entity", "entities")} and ${many(links.length, "edge")}, the same as in the tables below`;
  return html`<figure class="card graph">
    <svg viewBox=${box.join(" ")} role="group" aria-label="Picture of ${told}">
      ${links.map((link) => html`<g class=${link.edge === edge ? "edge chosen" : "edge"} onClick=${() => choose(link.edge)}>
        <title>${link.source.id} – ${link.target.id}: ${many(link.count, "passage")}</title>
        <line class="near" x1=${link.source.x} y1=${link.source.y} x2=${link.target.x} y2=${link.target.y} />
        <line x1=${link.source.x} y1=${link.source.y} x2=${link.target.x} y2=${link.target.y} stroke-width=${1 + 5 * (link.count / most)} />
      </g>`)}
      ${nodes.map((node) => html`<a class="node ${tint(node.type)}" href=${beside(node.id, asked)}
          aria-label="${node.id}, ${node.type}, ${many(node.count, "passage")}: show its neighbours">
        <title>${node.id} (${node.type}): ${many(node.count, "passage")}</title>
        <circle cx=${node.x} cy=${node.y} r=${node.r} />
      </a>`)}
      ${nodes.map((node) => html`<text class=${node.id === start ? "start" : ""} x=${node.x} y=${node.y + node.r + 15} aria-hidden="true">${clipped(node.id)}</text>`)}
    </svg>
    <figcaption class="chips"><span class="hint">Choose an entity for its neighbours, an edge for its passages.</span>
      ${types.map((type) => html`<span class="key ${tint(type)}"><i aria-hidden="true"></i>${type}</span>`)}</figcaption>
  </figure>`;
}

// The passages behind an edge

const SHOWN = 20;

/** Passages that have both: asked for by words, kept by a filter that wants the two entities. */
function behind({ source, target }) {
  const filters = { entity_codes: { eq: source, in: [target] } };
  const query = `${source} ${target}`;
  return send("POST", "api/consult_rag", { query, pipeline: "standard", search_type: "keyword", top_k: SHOWN, filters });
}

function Behind({ edge, close }) {
  const { data, error, reload } = useLoad(() => behind(edge), [edge]);
  const heading = useRef();
  useEffect(() => heading.current.focus(), []);
  return html`<section class="card stack" aria-labelledby="behind">
    <div class="between"><h2 id="behind" tabindex="-1" ref=${heading}>${edge.source} and ${edge.target}</h2>
      <button type="button" class="quiet" onClick=${close}>Close</button></div>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Looking for their passages" />`}
    ${data && html`<p class="hint">${many(edge.count, "passage")} with both${data.count < edge.count ? `, the nearest ${data.count} of them here` : ""}.</p>
      <ol class="plain stack">${data.documents.map((passage) => html`<${Passage} passage=${passage} />`)}</ol>`}
  </section>`;
}

function Passage({ passage }) {
  const { document_id, page, lines } = passage.metadata;
  return html`<li>
    <h3><a href=${sourceAddress({ document_id, page, lines })}>${passage.title || document_id}</a>
      <span class="muted"> ${[page && `page ${page}`, lines && `lines ${lines[0]}–${lines[1]}`].filter(Boolean).join(", ")}</span></h3>
    <blockquote>${passage.content}</blockquote>
  </li>`;
}

// The same as tables

function Tables({ graph, asked, choose }) {
  return html`<div class="columns">
    <section class="card table long" tabindex="0" aria-labelledby="entities"><h2 id="entities">Entities</h2><table>
      <thead><tr><th scope="col">Entity</th><th scope="col">Kind</th><th scope="col" class="numeric">Passages</th></tr></thead>
      <tbody>${graph.nodes.map((node) => html`<tr><th scope="row"><a href=${beside(node.id, asked)}>${node.id}</a></th>
        <td><${Chip}>${node.type}<//></td><td class="numeric">${node.count}</td></tr>`)}</tbody>
    </table></section>
    ${graph.edges.length > 0 && html`<section class="card table long" tabindex="0" aria-labelledby="edges"><h2 id="edges">Edges</h2><table>
      <thead><tr><th scope="col">Between</th><th scope="col" class="numeric">Passages</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
      <tbody>${graph.edges.map((edge) => html`<tr><th scope="row">${edge.source} – ${edge.target}</th><td class="numeric">${edge.count}</td>
        <td><button type="button" class="quiet" onClick=${() => choose(edge)} aria-label="Passages of ${edge.source} and ${edge.target}">Passages</button></td></tr>`)}</tbody>
    </table></section>`}
  </div>`;
}
