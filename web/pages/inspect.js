// /rag/{id}/inspect: all that is kept of a question, and the same question under another preset (S0-04).

import { address, get, send } from "../api.js";
import { Button, Chip, Cost, Empty, ErrorBox, Fell, Field, Loading, Page, short, sourceAddress, Time, Timings, useAction, useLoad, Waiting } from "../components.js";
import { Candidates, Groups } from "../evidence.js";
import { html, useState } from "../html.js";
import { Account, Facts, Status, timesOf, TITLES } from "../steps.js";

export default function InspectPage({ params: { id } }) {
  const loaded = useLoad(() => get(`rag/queries/${id}`));
  const trail = [[address("/rag"), "Questions"], [address(`/rag/${id}`), `Question ${id}`]];
  return html`<${Page} title="Inspect" trail=${trail} lead=${loaded.data?.original_query}>
    ${loaded.error && html`<${ErrorBox} error=${loaded.error} retry=${loaded.reload} />`}
    ${loaded.loading && !loaded.data && html`<${Loading} what="Loading the question" />`}
    ${loaded.data && html`<${Kept} query=${loaded.data} />`}
  <//>`;
}

function Kept({ query }) {
  return html`<div class="stack">
    <section class="card stack" aria-labelledby="record"><div class="between"><h2 id="record">The record</h2><${Status} query=${query} /></div>
      <dl class="facts">
        <dt>Number</dt><dd>${query.id}, version ${query.version}</dd>
        <dt>Asked by</dt><dd>${query.origin}</dd>
        <dt>Created</dt><dd><${Time} at=${query.created_at} /></dd>
        <dt>Changed</dt><dd><${Time} at=${query.updated_at} /></dd>
        <dt>Next step</dt><dd>${TITLES[query.next_step]}</dd>
      </dl>
      <${Facts} facts=${expansionOf(query)} />
    </section>
    <section class="card stack" aria-labelledby="steps"><h2 id="steps">The steps</h2>
      <${Timings} timings=${timesOf(query.steps)} label="All steps" />
      ${Object.entries(query.steps).map(([name, step]) => html`<div class="stack tight"><h3>${TITLES[name]}</h3><${Account} step=${step} /></div>`)}
    </section>
    <${Replay} query=${query} />
    <section class="card stack" aria-labelledby="preset"><h2 id="preset">The numbers it is run with</h2><${Facts} facts=${query.preset} dense=${true} /></section>
    <section class="card stack" aria-labelledby="contexts"><h2 id="contexts">The contexts</h2>
      <${Candidates} candidates=${query.retrieved_context} open=${false} />
      <${Groups} groups=${query.clean_retrieval_context} open=${false} />
      <details><summary>The whole record as JSON</summary><pre tabindex="0">${JSON.stringify(query, null, 2)}</pre></details>
    </section>
  </div>`;
}

const expansionOf = ({ original_query, expanded_queries, hyde_answer, intent, entities }) =>
  ({ question: original_query, rewordings: expanded_queries, imagined_answer: hyde_answer, intent, entities });

/** Another preset's ranking of the same question beside the one that is kept. */
function Replay({ query }) {
  const presets = useLoad(() => get("rag/presets"));
  const replay = useAction();
  const [shown, setShown] = useState(null);
  const run = async (event) => {
    event.preventDefault();
    const preset = new FormData(event.target).get("preset");
    setShown((await replay.act("replay", () => send("POST", `rag/queries/${query.id}/replay`, { preset }))) ?? null);
  };
  const names = (presets.data?.presets ?? []).filter(({ pipeline }) => !["facets", "classical"].includes(pipeline)).map(({ name }) => name);
  return html`<section class="card stack" aria-labelledby="replay"><div><h2 id="replay">Replay under another preset</h2>
      <p class="hint">The same question, asked again of the same documents. Nothing of the record is changed.</p></div>
    ${!query.has_retrieved_context && html`<p class="muted">Retrieve first: there is no ranking to compare with.</p>`}
    ${query.has_retrieved_context && presets.error && html`<${ErrorBox} error=${presets.error} retry=${presets.reload} />`}
    ${query.has_retrieved_context && presets.data && html`<form class="actions" onSubmit=${run}>
      <${Field} label="Preset">${(its) => html`<select ...${its} name="preset">${names.map((name) => html`<option>${name}</option>`)}</select>`}<//>
      <${Button} kind="primary" type="submit" busy=${replay.busy !== null}>Replay<//>
    </form>`}
    <p role="status" class="said hint">${replay.busy && html`<${Waiting} what="Asking again under that preset" />`}</p>
    ${replay.error && html`<${ErrorBox} error=${replay.error} />`}
    ${shown && html`<${Compared} replay=${shown} known=${new Map(query.retrieved_context.map((one) => [one.id, one]))} />`}
  </section>`;
}

const ROW = 52; // pixels of a row: the lines between the rankings meet them

/** `known` are the candidates that were kept, by their ids: a ranking does not say where in its document a passage stands. */
function Compared({ replay, known }) {
  const [before, after] = [replay.before, replay.after].map(({ preset, ranking }) => ({
    preset,
    ranking: ranking.map((hit) => ({ ...known.get(hit.chunk_id), ...hit })),
  }));
  if (!before.ranking.length && !after.ranking.length) return html`<${Empty} title="Neither found anything" />`;
  return html`<div class="stack">
    <p><b>${Math.round(replay.overlap_at_10 * 100)} %</b> of the first ten are the same.
      <span class="muted"> ${replay.moved.length} passages stand elsewhere.</span></p>
    <div class="replay">
      <${Ranking} title=${before.preset.name ?? "kept"} ranking=${before.ranking} other=${after.ranking} gone="dropped" />
      <${Moves} before=${before.ranking} after=${after.ranking} />
      <${Ranking} title=${after.preset.name} ranking=${after.ranking} other=${before.ranking} gone="new" />
    </div>
    <${Timings} timings=${replay.timings} label="The replay's" />
    <p><${Cost} usage=${replay.usage} /></p>
    <${Fell} ...${replay} />
  </div>`;
}

function Ranking({ title, ranking, other, gone }) {
  const ranks = new Map(other.map(({ chunk_id, rank }) => [chunk_id, rank]));
  return html`<div class="ranking"><h3>${title}</h3><ol class="plain">
    ${ranking.map((hit) => html`<li key=${hit.chunk_id} style=${{ height: `${ROW}px` }}>
      <span class="rank">${hit.rank}</span>
      <span class="hit"><a href=${sourceAddress(hit)}>${hit.title}</a><span class="muted">${[hit.section.at(-1), hit.page && `page ${hit.page}`, hit.line_start && `line ${hit.line_start}`].filter(Boolean).join(" · ")}</span></span>
      ${ranks.has(hit.chunk_id) ? html`<span class="muted numeric">${gone === "new" && moved(ranks.get(hit.chunk_id), hit.rank)} <span title="score">${short(hit.score)}</span></span>` : html`<${Chip} tone=${gone === "new" ? "good" : "warn"}>${gone}<//>`}
    </li>`)}
  </ol></div>`;
}

/** Where it stood, where that is elsewhere: for who does not see the lines between the two. */
const moved = (was, is) => was !== is && html`<span><span aria-hidden="true">${is < was ? "↑" : "↓"}</span> was ${was} · </span>`;

/** A line from each passage's old place to its new one. */
function Moves({ before, after }) {
  const now = new Map(after.map(({ chunk_id, rank }) => [chunk_id, rank]));
  const height = ROW * Math.max(before.length, after.length);
  const kept = before.filter(({ chunk_id }) => now.has(chunk_id));
  return html`<svg class="moves" viewBox="0 0 100 ${height}" height=${height} preserveAspectRatio="none" aria-hidden="true">
    ${kept.map(({ chunk_id, rank }) => html`<path class=${turn(rank, now.get(chunk_id))} d=${curve(rank, now.get(chunk_id))} vector-effect="non-scaling-stroke" />`)}
  </svg>`;
}

const turn = (was, is) => (is < was ? "up" : is > was ? "down" : "same");
const curve = (was, is) => `M0 ${(was - 0.5) * ROW} C50 ${(was - 0.5) * ROW} 50 ${(is - 0.5) * ROW} 100 ${(is - 0.5) * ROW}`;
