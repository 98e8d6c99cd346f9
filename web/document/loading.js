// A document from the server, and its lines, of which a reply has a range.

import { getJson } from "../api.js";

const LINES_BEFORE = 200; // lines loaded above the one that is to be shown

/** Return the first line to load in order to show a line. */
export const computeFirstLine = (line) => Math.max(1, line - LINES_BEFORE);

/** Load a document; of a text original the lines around `line`. */
export const loadDocument = (document_id, line = 1) => loadLines(document_id, computeFirstLine(line));

/** Load a document; of a text original the lines from `first_line` on. */
export const loadLines = (document_id, first_line) => getJson("api/document", { document_id, first_line });

/** Return whether a line is of a range, null for none. */
export const isWithin = (number, range) => Boolean(range) && range[0] <= number && number <= range[1];
