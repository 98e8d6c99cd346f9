// /rag/graph: the entity graph as a drawing that grows by a click, and as tables, and the passages behind an edge.

import { buildAddress, getJson, sendJson } from "../api.js";
import { Chip, Empty, ErrorBox, Field, Loading, Page, buildSourceAddress, formatCount, formatPlace, useAction, useLoad } from "../components.js";
import { layOutGraph, MAX_NAME_CHARS } from "../graph_layout.js";
import { html, useEffect, useRef, useState } from "../html.js";

const NAMES_LIMIT = 100; // most frequent entities that are suggested
const OPENING_LIMIT = 30;
const EXPANSION_LIMIT = 12; // neighbours that a click adds

export default function GraphPage({ query }) {
  const selection = Object.fromEntries(["entity", "target", "document"].map((name) => [name, query.get(name) ?? ""]));
  const { data, error, reload } = useLoad(() => loadGraph(selection));
  return html`<${Page} title="Entity graph" lead="Two entities are joined when they occur in the same passages. The graph is computed from the index.">
    <div class="stack">
      <${GraphForm} selection=${selection} />
      ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
      ${!data && !error && html`<${Loading} what="Loading the graph" />`}
      ${data && (data.nodes.length ? html`<${GraphView} graph=${data} selection=${selection} />` : html`
        <${Empty} title=${selection.document ? "There are no entities in this document" : "There are no entities in this workflow"}><p>Entities are extracted when documents are indexed.</p><//>`)}
    </div>
  <//>`;
}

const queryGraph = (operation, fields) => getJson("api/graph_query", { operation, ...fields });

/** Load the way between two entities, the neighbours of one, or the most connected entities, of one document or of all. */
function loadGraph({ entity, target, document: document_id }) {
  if (entity && target) return queryGraph("path", { entity, target, document_id });
  if (entity) return queryGraph("neighbors", { entity, limit: OPENING_LIMIT, document_id });
  return queryGraph("overview", { limit: OPENING_LIMIT, document_id });
}

/** The form for the selection, which is put in the address so that a graph can be shared as a link. */
function GraphForm({ selection }) {
  const names = useLoad(() => queryGraph("top", { limit: NAMES_LIMIT }));
  const documents = useLoad(() => getJson("api/documents"));
  const submit = (event) => {
    event.preventDefault();
    location.assign(buildAddress("/rag/graph", Object.fromEntries(new FormData(event.target))));
  };
  return html`<form class="card graph-form" onSubmit=${submit} aria-label="Selection">
    <${Field} label="Entity">${(attributes) => html`<input ...${attributes} type="search" name="entity" list="entity-names" defaultValue=${selection.entity} placeholder="the most connected" maxlength="500" />`}<//>
    <${Field} label="Path to">${(attributes) => html`<input ...${attributes} type="search" name="target" list="entity-names" defaultValue=${selection.target} placeholder="another entity" maxlength="500" />`}<//>
    <${Field} label="Document">${(attributes) => html`<select ...${attributes} name="document"><option value="">all documents</option>
      ${(documents.data?.documents ?? (selection.document ? [{ document_id: selection.document }] : [])).map(({ document_id, title }) => html`<option value=${document_id} selected=${document_id === selection.document}>${title || document_id}</option>`)}</select>`}<//>
    <button class="primary">Show</button>
    ${(names.error ?? documents.error) && html`<p class="hint">Names cannot be suggested: ${(names.error ?? documents.error).message}</p>`}
    <datalist id="entity-names">${(names.data?.nodes ?? []).map(({ id, type }) => html`<option value=${id}>${type}</option>`)}</datalist>
  </form>`;
}

function GraphView({ graph: opening, selection }) {
  const [graph, setGraph] = useState(opening);
  const [chosen, setChosen] = useState(selection.entity ? opening.nodes[0] : null);
  const [edge, setEdge] = useState(null);
  const { error, act } = useAction();
  const expand = (node) => {
    setChosen(node);
    act("expand", async () => {
      const more = await queryGraph("neighbors", { entity: node.id, limit: EXPANSION_LIMIT, document_id: selection.document });
      setGraph((now) => joinGraphs(now, more));
    });
  };
  if (selection.target && !opening.paths.length) return html`<${Empty} title="There is no path between these entities"><p>They are not joined within six steps.</p><//>`;
  return html`
    <${GraphDrawing} graph=${graph} chosen=${chosen} selection=${selection} edge=${edge} expand=${expand} selectEdge=${setEdge} />
    ${error && html`<${ErrorBox} error=${error} />`}
    ${edge && html`<${EdgePassages} key=${`${edge.source} ${edge.target}`} edge=${edge} close=${() => setEdge(null)} />`}
    <${GraphTables} graph=${graph} selection=${selection} selectEdge=${setEdge} />`;
}

/** Return a graph with the nodes and edges of another that it lacks; a path stays none of both. */
function joinGraphs(graph, more) {
  const ids = new Set(graph.nodes.map(({ id }) => id));
  const getKey = ({ source, target }) => [source, target].sort().join("\n");
  const keys = new Set(graph.edges.map(getKey));
  const nodes = [...graph.nodes, ...more.nodes.filter(({ id }) => !ids.has(id))];
  const edges = [...graph.edges, ...more.edges.filter((edge) => !keys.has(getKey(edge)))];
  return nodes.length === graph.nodes.length && edges.length === graph.edges.length ? graph : { ...graph, nodes, edges, paths: [] };
}

const buildEntityAddress = (entity, selection) => buildAddress("/rag/graph", { entity, document: selection.document });

// The drawing

const shorten = (name) => (name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS - 1)}…` : name);

/** The drawing. It is laid out anew when the graph grows, from where its nodes were, and keeps the size of its letters. */
function GraphDrawing({ graph, chosen, selection, edge, expand, selectEdge }) {
  const earlier = useRef({ graph: null, layout: null });
  if (earlier.current.graph !== graph) earlier.current = { graph, layout: layOutGraph(graph, earlier.current.layout?.nodes) };
  const { nodes, links, viewBox } = earlier.current.layout;
  const types = [...new Set(nodes.map((node) => node.type))].sort();
  const getColourClass = (type) => `kind${types.indexOf(type) % 6}`;
  const maxCount = Math.max(1, ...links.map((link) => link.count));
  const size = `${formatCount(nodes.length, "entity", "entities")} and ${formatCount(links.length, "edge")}`;
  const handleClick = (event, node) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // in another tab
    event.preventDefault();
    expand(node);
  };
  return html`<figure class="card graph">
    <div class="graph-frame" tabindex="0" role="region" aria-label="Drawing"><svg viewBox=${viewBox.join(" ")} width=${viewBox[2]} role="group" aria-label="Graph of ${size}, listed in the tables below">
      ${links.map((link) => html`<g class=${link.edge === edge ? "edge chosen" : "edge"} onClick=${() => selectEdge(link.edge)}>
        <title>${link.source.id} – ${link.target.id}: ${formatCount(link.count, "passage")}</title>
        <line class="near" x1=${link.source.x} y1=${link.source.y} x2=${link.target.x} y2=${link.target.y} />
        <line x1=${link.source.x} y1=${link.source.y} x2=${link.target.x} y2=${link.target.y} stroke-width=${1 + 5 * (link.count / maxCount)} />
      </g>`)}
      ${nodes.map((node) => html`<a key=${node.id} class="node ${getColourClass(node.type)}" href=${buildEntityAddress(node.id, selection)} onClick=${(event) => handleClick(event, node)}
          aria-label="${node.id}, ${node.type}, ${formatCount(node.count, "passage")}: add its neighbours" aria-current=${node.id === chosen?.id ? "true" : null}>
        <title>${node.id} (${node.type}): ${formatCount(node.count, "passage")}</title>
        <circle cx=${node.x} cy=${node.y} r=${node.r} />
      </a>`)}
      ${nodes.map((node) => html`<text class=${node.id === chosen?.id ? "start" : ""} x=${node.x} y=${node.y + node.r + 15} aria-hidden="true">${shorten(node.id)}</text>`)}
    </svg></div>
    <figcaption class="chips"><span class="hint" role="status">${chosen
      ? html`<b>${chosen.id}</b> (${chosen.type}), ${formatCount(chosen.count, "passage")} · <a href=${buildEntityAddress(chosen.id, selection)}>only it and its neighbours</a> · <a href=${buildAddress("/rag/ask", { question: `What is ${chosen.id}?` })}>ask about it</a>`
      : "Click an entity to add its neighbours, or an edge to show its passages."}</span>
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
