// Searching in a document: where its passages have the words, whatever line breaks stand between them.

import { formatCount } from "../components.js";
import { html } from "../html.js";

const SPECIAL_SIGNS = /[\\^$.*+?()[\]{}|/]/g;

/** Return a pattern for the words in this order, in any case, whatever spaces are between them; null for no words. */
export function buildSearchPattern(text) {
  const words = text.trim().split(/\s+/).filter(Boolean);
  return words.length ? new RegExp(words.map((word) => word.replaceAll(SPECIAL_SIGNS, "\\$&")).join("\\s+"), "giu") : null;
}

/** Return the places of a pattern in order, each once although passages overlap: {lines: [first, last], page, chunk, start}. */
export function findMatches(chunks, pattern) {
  if (!pattern) return [];
  const places = new Map();
  for (const chunk of chunks)
    for (const match of chunk.content.matchAll(pattern)) {
      const [first, last] = [match.index, match.index + match[0].length].map((end) => chunk.content.slice(0, end).split("\n").length - 1);
      const lines = [chunk.line_numbers[first], chunk.line_numbers[last]];
      const column = match.index - (chunk.content.lastIndexOf("\n", match.index) + 1);
      const key = lines[0] ? `${lines[0]} ${column}` : `${chunk.id} ${match.index}`;
      if (!places.has(key)) places.set(key, { lines, page: chunk.line_pages[first], chunk, start: match.index });
    }
  return [...places.values()];
}

/** The box to search in; `search` is {text, matches, index}, `change(text)` searches, `step(by)` goes to another match. */
export function SearchBar({ search: { text, matches, index }, change, step }) {
  const handleKey = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  return html`<search class="document-search"><input type="search" aria-label="Search in the document" placeholder="Search in the document" value=${text} maxlength="200"
      onInput=${(event) => change(event.target.value)} onKeyDown=${handleKey} />
    <span class="hint" role="status">${text.trim() && (matches.length ? `${index + 1} of ${formatCount(matches.length, "place")}` : "not found")}</span>
    ${matches.length > 0 && html`<button type="button" class="quiet" aria-label="Previous place" onClick=${() => step(-1)}>↑</button>
      <button type="button" class="quiet" aria-label="Next place" onClick=${() => step(1)}>↓</button>`}</search>`;
}

/** Return a text with what a pattern finds in it marked, the one that begins at `start` as the current one. */
export function markMatches(text, pattern, start = null) {
  if (!pattern) return text;
  let end = 0;
  const pieces = [...text.matchAll(pattern)].flatMap((match) => {
    const before = text.slice(end, match.index);
    end = match.index + match[0].length;
    return [before, html`<mark class=${match.index === start ? "found current" : "found"}>${match[0]}</mark>`];
  });
  return [...pieces, text.slice(end)];
}
