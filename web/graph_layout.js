// The layout of an entity graph. The simulation is run to its end before the graph is shown, so that nothing moves.

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "./vendor/d3-force.js";

const TICKS = 300; // d3's default cooling: alpha is then below its minimum of 0.001
const PATH_STEP = 190; // distance between the entities of a path
const LETTER_WIDTH = 7.4; // of a name, in units of the drawing, which are pixels
const MARGIN = 26;
const LEAST_SIZE = [860, 420]; // so that a small graph is not enlarged to fill its frame
const FRAME_MARGINS = 64; // of a page around the drawing, which on a narrow screen is no wider than that

export const MAX_NAME_CHARS = 22; // the rest of a longer name is left out

/**
 * Return {nodes: with x, y, r; links: with their nodes and edge; viewBox: [x, y, width, height]}. A path is a row.
 * Nodes that are among `earlier` begin where they were.
 */
export function layOutGraph({ nodes, edges, paths }, earlier = []) {
  const maxCount = Math.max(1, ...nodes.map((node) => node.count));
  const before = new Map(earlier.map(({ id, x, y }) => [id, { x, y }]));
  const anchors = new Map(edges.flatMap(({ source, target }) => [[source, before.get(target)], [target, before.get(source)]]).filter(([, place]) => place));
  const placedNodes = nodes.map((node, index) => ({ ...node, ...(before.get(node.id) ?? placeNear(anchors.get(node.id), index)), r: 7 + 15 * Math.sqrt(node.count / maxCount) }));
  const links = edges.map((edge) => ({ source: edge.source, target: edge.target, count: edge.count, edge }));
  const simulation = forceSimulation(placedNodes).stop().force("edges", forceLink(links).id((node) => node.id).distance(130).strength(0.12));
  if (paths.length) placedNodes.forEach((node, index) => Object.assign(node, { x: index * PATH_STEP, y: index % 2 ? 26 : 0 }));
  else runSimulation(simulation);
  return { nodes: placedNodes, links, viewBox: computeViewBox(placedNodes) };
}

const placeNear = (place, index) => place && { x: place.x + 40 * Math.cos(index), y: place.y + 40 * Math.sin(index) };

/** Run the simulation; no name may lie over another, as far as that is possible. */
const runSimulation = (simulation) =>
  simulation
    .force("apart", forceManyBody().strength(-620))
    .force("across", forceX().strength(0.05))
    .force("down", forceY().strength(0.12)) // wider than high, as screens are
    .force("names", forceCollide((node) => Math.max(node.r + 20, 0.72 * computeHalfWidth(node))).iterations(3))
    .tick(TICKS);

const computeHalfWidth = ({ id, r }) => Math.max(r, (Math.min(id.length, MAX_NAME_CHARS) * LETTER_WIDTH) / 2);

function computeViewBox(nodes) {
  const left = Math.min(...nodes.map((node) => node.x - computeHalfWidth(node))) - MARGIN;
  const right = Math.max(...nodes.map((node) => node.x + computeHalfWidth(node))) + MARGIN;
  const top = Math.min(...nodes.map((node) => node.y - node.r)) - MARGIN;
  const bottom = Math.max(...nodes.map((node) => node.y + node.r + 24)) + MARGIN;
  const leastWidth = Math.min(LEAST_SIZE[0], document.documentElement.clientWidth - FRAME_MARGINS);
  const [addedWidth, addedHeight] = [leastWidth - (right - left), LEAST_SIZE[1] - (bottom - top)].map((lack) => Math.max(0, lack));
  return [left - addedWidth / 2, top - addedHeight / 2, right - left + addedWidth, bottom - top + addedHeight];
}
