// Retrieved passages: the candidates with their scores, and the groups that consolidation made of them.

import { buildSourceAddress, Chip, findScoreMaxima, formatCount, formatNumber, formatPlace, Scores } from "./components.js";
import { html } from "./html.js";
import { formatVariant } from "./labels.js";

/** The candidates of a retrieval, best first. */
export function Candidates({ candidates, open = true }) {
  const maxima = findScoreMaxima(candidates);
  if (!candidates.length) return html`<p class="muted">No passages were found.</p>`;
  return html`<details open=${open}><summary>${formatCount(candidates.length, "candidate")}, best first</summary>
    <ol class="plain">${candidates.map((candidate, index) => html`<${Candidate} key=${candidate.id} candidate=${candidate} rank=${index + 1} maxima=${maxima} />`)}</ol>
  </details>`;
}

function Candidate({ candidate, rank, maxima }) {
  return html`<li class="passage">
    <span class="rank" aria-label="Rank ${rank}">${rank}</span>
    <div class="passage-text">
      <${Origin} passage=${candidate} section=${candidate.section} />
      <${Excerpt} text=${candidate.content} />
      <div class="chips">
        ${candidate.found_by.map((label) => html`<${Chip} title="A query variant that found this passage">${formatVariant(label)}<//>`)}
        ${candidate.entities.slice(0, 6).map(({ type, value }) => html`<${Chip} tone="next" title="Entity of type ${type}">${value}<//>`)}
      </div>
    </div>
    <${Scores} scores=${candidate.scores} maxima=${maxima} ranks=${candidate.ranks} />
  </li>`;
}

/** The consolidated groups, best first. */
export function Groups({ groups, open = true }) {
  if (!groups.length) return html`<p class="muted">No group is left. The prompt uses the retrieved passages.</p>`;
  return html`<details open=${open}><summary>${formatCount(groups.length, "group")}, best first</summary>
    <ol class="plain">${groups.map((group, index) => html`<${Group} key=${index} group=${group} rank=${index + 1} />`)}</ol>
  </details>`;
}

function Group({ group, rank }) {
  return html`<li class="passage">
    <span class="rank" aria-label="Rank ${rank}">${rank}</span>
    <div class="passage-text">
      <${Origin} passage=${group} section=${group.heading_chain} />
      <${Excerpt} text=${group.content} />
      <div class="chips">
        <${Chip}>${formatCount(group.chunk_ids.length, "passage")}<//>
        <${Chip} title="The share of its lines that the search found">coverage ${Math.round(group.coverage * 100)} %<//>
        ${group.enriched && html`<${Chip} title="The text between the passages was added from the document">completed<//>`}
        <${Chip}>score ${formatNumber(group.score)}<//>
      </div>
    </div>
  </li>`;
}

/** The title, section path and place of a passage, as a link to that place in its document. */
export function Origin({ passage, section = [] }) {
  const place = formatPlace(passage);
  return html`<p class="origin"><a href=${buildSourceAddress(passage)}>${passage.title || passage.document_id}</a>
    <span class="muted">${section.map((heading) => html` › ${heading}`)}${place && ` · ${place}`}</span></p>`;
}

/** Return a text in one line; the cells of a table's row, a line each, are kept apart. */
export function joinLines(text) {
  const lines = text.split("\n");
  const isRow = lines.length > 1 && lines.every((line) => line.includes(": "));
  return (isRow ? lines.join(" · ") : text).replaceAll(/\s+/g, " ");
}

const MAX_EXCERPT_CHARS = 320;
const MAX_WORD_CHARS = 40; // a longer run without a space, as in scripts without spaces, is cut

/** A text that shows its beginning and unfolds when it is long. */
export function Excerpt({ text }) {
  if (text.length <= MAX_EXCERPT_CHARS) return html`<p class="excerpt">${text}</p>`;
  const end = Math.max(text.slice(0, MAX_EXCERPT_CHARS).search(/\s\S*$/), MAX_EXCERPT_CHARS - MAX_WORD_CHARS);
  return html`<details class="excerpt"><summary>${text.slice(0, end)}</summary><p>${text.slice(end)}</p></details>`;
}
