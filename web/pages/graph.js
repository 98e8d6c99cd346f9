// /rag/graph: the entity graph as a drawing and as tables, and the passages behind an edge.

import { buildAddress, getJson, sendJson } from "../api.js";
import { Chip, Empty, ErrorBox, Field, Loading, Page, buildSourceAddress, formatCount, formatPlace, useLoad } from "../components.js";
import { layOutGraph } from "../graph_layout.js";
import { html, useEffect, useRef, useState } from "../html.js";

const TOP_LIMIT = 30; // most frequent entities shown when none is chosen

export default function GraphPage({ query }) {
  const selection = { entity: query.get("entity"), target: query.get("target"), depth: query.get("depth") ?? "2", limit: query.get("limit") ?? "24" };
  const { data, error, reload } = useLoad(() => loadGraph(selection));
  return html`<${Page} title="Entity graph" lead="Two entities are joined when they occur in the same passages. The graph is computed from the index.">
    <div class="stack">
      <${GraphForm} selection=${selection} />
      ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
      ${!data && !error && html`<${Loading} what="Loading the graph" />`}
      ${data && (data.graph.nodes.length ? html`<${GraphView} ...${data} selection=${selection} />` : html`
        <${Empty} title="There are no entities in this workflow"><p>Entities are extracted when documents are indexed.</p><//>`)}
    </div>
  <//>`;
}

/** Load the graph of the selected entities; without one, the most frequent entities and the neighbours of the first. */
async function loadGraph({ entity, target, depth, limit }) {
  const queryGraph = (operation, fields) => getJson("api/graph_query", { operation, ...fields });
  if (entity && target) return { start: entity, graph: await queryGraph("path", { entity, target }) };
  if (entity) return { start: entity, graph: await queryGraph("neighbors", { entity, depth, limit }) };
  const top = await queryGraph("top", { limit: TOP_LIMIT });
  if (!top.nodes.length) return { graph: top };
  const start = top.nodes[0].id;
  return { start, topEntities: top.nodes, graph: await queryGraph("neighbors", { entity: start, depth, limit }) };
}

/** The form for the selection, which is put in the address so that a graph can be shared as a link. */
function GraphForm({ selection }) {
  const submit = (event) => {
    event.preventDefault();
    location.assign(buildAddress("/rag/graph", Object.fromEntries(new FormData(event.target))));
  };
  return html`<form class="card graph-form" onSubmit=${submit} aria-label="Selection">
    <${Field} label="Entity">${(attributes) => html`<input ...${attributes} name="entity" defaultValue=${selection.entity ?? ""} placeholder="the most frequent" maxlength="500" />`}<//>
    <${Field} label="Path to">${(attributes) => html`<input ...${attributes} name="target" defaultValue=${selection.target ?? ""} placeholder="another entity" maxlength="500" />`}<//>
    <${Field} label="Depth">${(attributes) => html`<select ...${attributes} name="depth">${["1", "2", "3"].map((depth) => html`<option selected=${depth === selection.depth}>${depth}</option>`)}</select>`}<//>
    <${Field} label="Limit">${(attributes) => html`<input ...${attributes} name="limit" type="number" min="1" max="100" defaultValue=${selection.limit} />`}<//>
    <button class="primary">Show</button>
  </form>`;
}

function GraphView({ start, topEntities, graph, selection }) {
  const [edge, setEdge] = useState(null);
  return html`
    ${selection.target && !graph.paths.length ? html`
      <${Empty} title="There is no path between these entities"><p>They are not joined within six steps.</p><//>` : html`
      <${GraphDrawing} graph=${graph} start=${start} selection=${selection} edge=${edge} selectEdge=${setEdge} />`}
    ${topEntities && html`<nav aria-label="Most frequent entities" class="chips"><span class="hint">Most frequent:</span>${topEntities.map(({ id, count }) => html`
      <a class="chip" href=${buildEntityAddress(id, selection)}>${id} <span aria-label=${formatCount(count, "passage")}>${count}</span></a>`)}</nav>`}
    ${edge && html`<${EdgePassages} key=${`${edge.source} ${edge.target}`} edge=${edge} close=${() => setEdge(null)} />`}
    <${GraphTables} graph=${graph} selection=${selection} selectEdge=${setEdge} />`;
}

const buildEntityAddress = (entity, { depth, limit }) => buildAddress("/rag/graph", { entity, depth, limit });

// The drawing

const MAX_NAME_CHARS = 26;
const shorten = (name) => (name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS - 1)}…` : name);

function GraphDrawing({ graph, start, selection, edge, selectEdge }) {
  const { nodes, links, viewBox } = layOutGraph(graph);
  const types = [...new Set(nodes.map((node) => node.type))].sort();
  const getColourClass = (type) => `kind${types.indexOf(type) % 6}`;
  const maxCount = Math.max(1, ...links.map((link) => link.count));
  const size = `${formatCount(nodes.length, "entity", "entities")} and ${formatCount(links.length, "edge")}`;
  return html`<figure class="card graph">
    <svg viewBox=${viewBox.join(" ")} role="group" aria-label="Graph of ${size}, listed in the tables below">
      ${links.map((link) => html`<g class=${link.edge === edge ? "edge chosen" : "edge"} onClick=${() => selectEdge(link.edge)}>
        <title>${link.source.id} – ${link.target.id}: ${formatCount(link.count, "passage")}</title>
        <line class="near" x1=${link.source.x} y1=${link.source.y} x2=${link.target.x} y2=${link.target.y} />
        <line x1=${link.source.x} y1=${link.source.y} x2=${link.target.x} y2=${link.target.y} stroke-width=${1 + 5 * (link.count / maxCount)} />
      </g>`)}
      ${nodes.map((node) => html`<a class="node ${getColourClass(node.type)}" href=${buildEntityAddress(node.id, selection)}
          aria-label="${node.id}, ${node.type}, ${formatCount(node.count, "passage")}: show its neighbours">
        <title>${node.id} (${node.type}): ${formatCount(node.count, "passage")}</title>
        <circle cx=${node.x} cy=${node.y} r=${node.r} />
      </a>`)}
      ${nodes.map((node) => html`<text class=${node.id === start ? "start" : ""} x=${node.x} y=${node.y + node.r + 15} aria-hidden="true">${shorten(node.id)}</text>`)}
    </svg>
    <figcaption class="chips"><span class="hint">Click an entity to show its neighbours, or an edge to show its passages.</span>
      ${types.map((type) => html`<span class="key ${getColourClass(type)}"><i aria-hidden="true"></i>${type}</span>`)}</figcaption>
  </figure>`;
}

// The passages behind an edge

const PASSAGE_LIMIT = 20;

/** Load the passages that contain both entities of an edge: a lexical search, filtered by the two entities. */
function loadEdgePassages({ source, target }) {
  const filters = { entity_codes: { eq: source, in: [target] } };
  const query = `${source} ${target}`;
  return sendJson("POST", "api/consult_rag", { query, pipeline: "standard", search_type: "keyword", top_k: PASSAGE_LIMIT, filters });
}

function EdgePassages({ edge, close }) {
  const { data, error, reload } = useLoad(() => loadEdgePassages(edge), [edge]);
  const heading = useRef();
  useEffect(() => heading.current.focus(), []);
  return html`<section class="card stack" aria-labelledby="edge-passages">
    <div class="between"><h2 id="edge-passages" tabindex="-1" ref=${heading}>${edge.source} and ${edge.target}</h2>
      <button type="button" class="quiet" onClick=${close}>Close</button></div>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Loading the passages" />`}
    ${data && html`<p class="hint">${formatCount(edge.count, "passage")} with both entities${data.count < edge.count ? `; the best ${data.count} are shown` : ""}.</p>
      <ol class="plain stack">${data.documents.map((passage) => html`<${Passage} passage=${passage} />`)}</ol>`}
  </section>`;
}

function Passage({ passage }) {
  const { document_id, page, lines, locator } = passage.metadata;
  return html`<li>
    <h3><a href=${buildSourceAddress({ document_id, page, lines })}>${passage.title || document_id}</a>
      <span class="muted"> ${formatPlace({ page, lines, locator })}</span></h3>
    <blockquote>${passage.content}</blockquote>
  </li>`;
}

// The tables

function GraphTables({ graph, selection, selectEdge }) {
  return html`<div class="columns">
    <section class="card table long" tabindex="0" aria-labelledby="entities"><h2 id="entities">Entities</h2><table>
      <thead><tr><th scope="col">Entity</th><th scope="col">Type</th><th scope="col" class="numeric">Passages</th></tr></thead>
      <tbody>${graph.nodes.map((node) => html`<tr><th scope="row"><a href=${buildEntityAddress(node.id, selection)}>${node.id}</a></th>
        <td><${Chip}>${node.type}<//></td><td class="numeric">${node.count}</td></tr>`)}</tbody>
    </table></section>
    ${graph.edges.length > 0 && html`<section class="card table long" tabindex="0" aria-labelledby="edges"><h2 id="edges">Edges</h2><table>
      <thead><tr><th scope="col">Entities</th><th scope="col" class="numeric">Passages</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
      <tbody>${graph.edges.map((edge) => html`<tr><th scope="row">${edge.source} – ${edge.target}</th><td class="numeric">${edge.count}</td>
        <td><button type="button" class="quiet" onClick=${() => selectEdge(edge)} aria-label="Show the passages with ${edge.source} and ${edge.target}">Passages</button></td></tr>`)}</tbody>
    </table></section>`}
  </div>`;
}
