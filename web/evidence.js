// What was found: candidates with a picture of their scores, and the groups they were put together to.

import { Chip, many, peaksOf, Scores, short, sourceAddress } from "./components.js";
import { html } from "./html.js";

/** Retrieved passages, best first; unfolded where they are what matters now. */
export function Candidates({ candidates, open = true }) {
  const peaks = peaksOf(candidates);
  if (!candidates.length) return html`<p class="muted">Nothing was found.</p>`;
  return html`<details open=${open}><summary>${many(candidates.length, "candidate")}, best first</summary>
    <ol class="plain found">${candidates.map((one, at) => html`<${Candidate} key=${one.id} candidate=${one} rank=${at + 1} peaks=${peaks} />`)}</ol>
  </details>`;
}

function Candidate({ candidate, rank, peaks }) {
  return html`<li class="passage">
    <span class="rank" aria-label="Rank ${rank}">${rank}</span>
    <div class="passage-text">
      <${Origin} passage=${candidate} section=${candidate.section} />
      <${Excerpt} text=${candidate.content} />
      <div class="chips">
        ${candidate.found_by.map((leg) => html`<${Chip} title="what found it">${told(leg)}<//>`)}
        ${candidate.entities.slice(0, 6).map(({ type, value }) => html`<${Chip} tone="next" title=${type}>${value}<//>`)}
      </div>
    </div>
    <${Scores} scores=${candidate.scores} peaks=${peaks} ranks=${candidate.ranks} />
  </li>`;
}

const WORDINGS = { original: "question", hyde: "imagined answer" };
const told = (leg) => WORDINGS[leg] ?? leg.replace(/^expanded(\d+)$/, "rewording $1");

/** Consolidated groups, best first; unfolded as candidates are. */
export function Groups({ groups, open = true }) {
  if (!groups.length) return html`<p class="muted">No group was left: the answer is made of the retrieved passages.</p>`;
  return html`<details open=${open}><summary>${many(groups.length, "group")}, best first</summary>
    <ol class="plain found">${groups.map((group, at) => html`<${Group} key=${at} group=${group} rank=${at + 1} />`)}</ol>
  </details>`;
}

function Group({ group, rank }) {
  return html`<li class="passage">
    <span class="rank" aria-label="Rank ${rank}">${rank}</span>
    <div class="passage-text">
      <${Origin} passage=${group} section=${group.heading_chain} />
      <${Excerpt} text=${group.content} />
      <div class="chips">
        <${Chip}>${many(group.chunk_ids.length, "passage")}<//>
        <${Chip} title="the share of its section that was found">covers ${Math.round(group.coverage * 100)} %<//>
        ${group.enriched && html`<${Chip} title="its text was read again from the document">full text<//>`}
        <${Chip}>score ${short(group.score)}<//>
      </div>
    </div>
  </li>`;
}

/** Which document a passage is of and where it stands there, as a link to just that. */
export function Origin({ passage, section = [] }) {
  const { page, line_start: first, line_end: last, lines } = passage;
  const [from, to] = lines ?? [first, last];
  const where = [page && `page ${page}`, from && (from === to ? `line ${from}` : `lines ${from}–${to}`)].filter(Boolean).join(", ");
  return html`<p class="origin"><a href=${sourceAddress(passage)}>${passage.title || passage.document_id}</a>
    <span class="muted">${section.map((heading) => html` › ${heading}`)}${where && ` · ${where}`}</span></p>`;
}

const LONG = 320; // characters
const LONGEST_WORD = 40; // not cut in two; a script without spaces is

/** A text of which a long rest unfolds. */
export function Excerpt({ text }) {
  if (text.length <= LONG) return html`<p class="excerpt">${text}</p>`;
  const cut = Math.max(text.slice(0, LONG).search(/\s\S*$/), LONG - LONGEST_WORD);
  return html`<details class="excerpt"><summary>${text.slice(0, cut)}</summary><p>${text.slice(cut)}</p></details>`;
}
