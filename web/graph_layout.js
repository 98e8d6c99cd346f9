// The layout of an entity graph. The simulation is run to its end before the graph is shown, so that nothing moves.

import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "./vendor/d3-force.js";

const TICKS = 300; // d3's default cooling: alpha is then below its minimum of 0.001
const PATH_STEP = 190; // distance between the entities of a path
const PATH_ROW = 90; // the same, one below the other
const LETTER_WIDTH = 7.4; // of a name, in units of the drawing, which are pixels
const MARGIN = 26;
const LEAST_SIZE = [860, 420]; // so that a small graph is not enlarged to fill its frame
const FRAME_MARGINS = 34; // of a page around the drawing, which is no wider than that: its letters keep their size

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
  if (paths.length) placedNodes.forEach((node, index) => Object.assign(node, placeOnPath(index, placedNodes.length)));
  else runSimulation(simulation, placedNodes);
  return { nodes: placedNodes, links, viewBox: computeViewBox(placedNodes) };
}

const placeNear = (place, index) => place && { x: place.x + 40 * Math.cos(index), y: place.y + 40 * Math.sin(index) };

const measureWidth = () => document.documentElement.clientWidth - FRAME_MARGINS;

/** A path is a row, or a column where the row would be wider than the page. */
const placeOnPath = (index, count) => (count * PATH_STEP > measureWidth() ? { x: 0, y: index * PATH_ROW } : { x: index * PATH_STEP, y: index % 2 ? 26 : 0 });

/** Run the simulation; no name may lie over another, as far as that is possible, and none leaves the width of the page. */
function runSimulation(simulation, nodes) {
  simulation
    .force("apart", forceManyBody().strength(-620))
    .force("across", forceX().strength(0.05))
    .force("down", forceY().strength(0.12)) // wider than high, as screens are
    .force("names", forceCollide((node) => Math.max(node.r + 20, 0.72 * computeHalfWidth(node))).iterations(3));
  const halfWidth = measureWidth() / 2 - MARGIN;
  for (let tick = 0; tick < TICKS; tick += 1) {
    simulation.tick();
    for (const node of nodes) {
      const reach = Math.max(0, halfWidth - computeHalfWidth(node));
      node.x = Math.max(-reach, Math.min(reach, node.x));
    }
  }
}

const computeHalfWidth = ({ id, r }) => Math.max(r, (Math.min(id.length, MAX_NAME_CHARS) * LETTER_WIDTH) / 2);

function computeViewBox(nodes) {
  const left = Math.min(...nodes.map((node) => node.x - computeHalfWidth(node))) - MARGIN;
  const right = Math.max(...nodes.map((node) => node.x + computeHalfWidth(node))) + MARGIN;
  const top = Math.min(...nodes.map((node) => node.y - node.r)) - MARGIN;
  const bottom = Math.max(...nodes.map((node) => node.y + node.r + 24)) + MARGIN;
  const leastWidth = Math.min(LEAST_SIZE[0], measureWidth());
  const [addedWidth, addedHeight] = [leastWidth - (right - left), LEAST_SIZE[1] - (bottom - top)].map((lack) => Math.max(0, lack));
  return [left - addedWidth / 2, top - addedHeight / 2, right - left + addedWidth, bottom - top + addedHeight];
}
