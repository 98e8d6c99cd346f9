// The layout of an entity graph. The simulation is run to its end before the graph is shown, so that nothing moves.

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "./vendor/d3-force.js";

const TICKS = 300; // d3's default cooling: alpha is then below its minimum of 0.001
const PATH_STEP = 190; // distance between the entities of a path
const LETTER_WIDTH = 7; // of a name, in units of the drawing
const MARGIN = 26;

/** Return {nodes: with x, y, r; links: with their nodes and edge; viewBox: [x, y, width, height]}. A path is a row. */
export function layOutGraph({ nodes, edges, paths }) {
  const maxCount = Math.max(1, ...nodes.map((node) => node.count));
  const placedNodes = nodes.map((node) => ({ ...node, r: 7 + 19 * Math.sqrt(node.count / maxCount) }));
  const links = edges.map((edge) => ({ source: edge.source, target: edge.target, count: edge.count, edge }));
  const simulation = forceSimulation(placedNodes).stop().force("edges", forceLink(links).id((node) => node.id).distance(170).strength(0.08));
  if (paths.length) placedNodes.forEach((node, index) => Object.assign(node, { x: index * PATH_STEP, y: index % 2 ? 26 : 0 }));
  else runSimulation(simulation);
  return { nodes: placedNodes, links, viewBox: computeViewBox(placedNodes) };
}

const runSimulation = (simulation) =>
  simulation
    .force("apart", forceManyBody().strength(-1100))
    .force("across", forceX().strength(0.045))
    .force("down", forceY().strength(0.13)) // wider than high, as screens are
    .force("names", forceCollide((node) => node.r + 24))
    .tick(TICKS);

function computeViewBox(nodes) {
  const halfWidth = ({ id, r }) => Math.max(r, (Math.min(id.length, 26) * LETTER_WIDTH) / 2);
  const left = Math.min(...nodes.map((node) => node.x - halfWidth(node))) - MARGIN;
  const right = Math.max(...nodes.map((node) => node.x + halfWidth(node))) + MARGIN;
  const top = Math.min(...nodes.map((node) => node.y - node.r)) - MARGIN;
  const bottom = Math.max(...nodes.map((node) => node.y + node.r + 24)) + MARGIN;
  return [left, top, right - left, bottom - top];
}
