// Where the entities of a graph are drawn. It is settled before it is shown: nothing moves.

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "./vendor/d3-force.js";

const TICKS = 300; // d3's own cooling: alpha is below its minimum of 0.001 then
const STEP = 190; // between the entities of a way
const LETTER = 7; // of a name, in units of the picture
const MARGIN = 26;

/** {nodes: with x, y, r; links: with the nodes and the edge; box: the view that holds them}. A way is drawn as a row. */
export function placed({ nodes, edges, paths }) {
  const most = Math.max(1, ...nodes.map((node) => node.count));
  const drawn = nodes.map((node) => ({ ...node, r: 7 + 19 * Math.sqrt(node.count / most) }));
  const links = edges.map((edge) => ({ source: edge.source, target: edge.target, count: edge.count, edge }));
  const simulation = forceSimulation(drawn).stop().force("edges", forceLink(links).id((node) => node.id).distance(170).strength(0.08));
  if (paths.length) drawn.forEach((node, at) => Object.assign(node, { x: at * STEP, y: at % 2 ? 26 : 0 }));
  else settled(simulation);
  return { nodes: drawn, links, box: around(drawn) };
}

const settled = (simulation) =>
  simulation
    .force("apart", forceManyBody().strength(-1100))
    .force("across", forceX().strength(0.045))
    .force("down", forceY().strength(0.13)) // wider than high, as screens are
    .force("names", forceCollide((node) => node.r + 24))
    .tick(TICKS);

function around(nodes) {
  const reach = ({ id, r }) => Math.max(r, (Math.min(id.length, 26) * LETTER) / 2);
  const left = Math.min(...nodes.map((node) => node.x - reach(node))) - MARGIN;
  const right = Math.max(...nodes.map((node) => node.x + reach(node))) + MARGIN;
  const top = Math.min(...nodes.map((node) => node.y - node.r)) - MARGIN;
  const bottom = Math.max(...nodes.map((node) => node.y + node.r + 24)) + MARGIN;
  return [left, top, right - left, bottom - top];
}
