// /rag/{id}/inspect: everything saved of a query, and its replay with another preset (S0-04).

import { LatestAnswer } from "../answers.js";
import { buildAddress, getJson, sendJson } from "../api.js";
import {
  Button,
  buildSourceAddress,
  Chip,
  Cost,
  Empty,
  ErrorBox,
  Field,
  formatCount,
  formatNumber,
  Loading,
  Page,
  Progress,
  RunNotices,
  Time,
  Timings,
  useAction,
  useLoad,
} from "../components.js";
import { Candidates, Groups } from "../evidence.js";
import { html, useState } from "../html.js";
import { formatName, formatPresetNumber } from "../labels.js";
import { collectStepTimes, Facts, Status, STEP_TITLES, StepRecord } from "../steps.js";

export default function InspectPage({ params: { id } }) {
  const request = useLoad(() => getJson(`rag/queries/${id}`));
  const trail = [[buildAddress("/rag"), "Queries"], [buildAddress(`/rag/${id}`), `Query ${id}`]];
  const isAnswer = request.data?.origin === "ask";
  const link = isAnswer && html`<a class="button" href=${buildAddress(`/rag/ask/${id}`)}>Back to the conversation</a>`;
  return html`<${Page} title=${isAnswer ? "How this was found" : "Inspect"} trail=${trail} lead=${request.data?.original_query} actions=${link}>
    ${request.error && html`<${ErrorBox} error=${request.error} retry=${request.reload} />`}
    ${request.loading && !request.data && html`<${Loading} what="Loading the query" />`}
    ${request.data && html`<${SavedQuery} query=${request.data} />`}
  <//>`;
}

function SavedQuery({ query }) {
  return html`<div class="stack">
    ${query.origin === "ask" && query.results_count > 0 && html`<section class="card stack" aria-label="Answer"><${LatestAnswer} query=${query} />
      <${Techniques} techniques=${query.steps.retrieve?.techniques ?? {}} /><${AnswerPrompt} id=${query.id} /></section>`}
    <section class="card stack" aria-labelledby="record"><div class="between"><h2 id="record">Saved query</h2><${Status} query=${query} /></div>
      <dl class="facts">
        <dt>Number</dt><dd>${query.id}, version ${query.version}</dd>
        <dt>Origin</dt><dd>${query.origin}</dd>
        <dt>Created</dt><dd><${Time} at=${query.created_at} /></dd>
        <dt>Changed</dt><dd><${Time} at=${query.updated_at} /></dd>
        <dt>Next step</dt><dd>${STEP_TITLES[query.next_step]}</dd>
      </dl>
      <${Facts} facts=${selectExpansion(query)} />
    </section>
    <section class="card stack" aria-labelledby="steps"><h2 id="steps">Steps</h2>
      <${Timings} timings=${collectStepTimes(query.steps)} label="All steps" />
      ${Object.entries(query.steps).map(([name, step]) => html`<div class="stack tight"><h3>${STEP_TITLES[name]}</h3><${StepRecord} step=${step} /></div>`)}
    </section>
    <${ReplayForm} query=${query} />
    <section class="card stack" aria-labelledby="preset"><h2 id="preset">Preset</h2><${Facts} facts=${query.preset} dense=${true} formatLabel=${formatPresetNumber} /></section>
    <section class="card stack" aria-labelledby="contexts"><h2 id="contexts">Contexts</h2>
      <${Candidates} candidates=${query.retrieved_context} open=${false} />
      <${Groups} groups=${query.clean_retrieval_context} open=${false} />
      <details><summary>The saved query as JSON</summary><pre tabindex="0">${JSON.stringify(query, null, 2)}</pre></details>
    </section>
  </div>`;
}

/** Who did which step of an answer: a model by its name, or a local technique. */
function Techniques({ techniques }) {
  const entries = Object.entries(techniques);
  if (!entries.length) return null;
  return html`<details open><summary>Who did what</summary><dl class="facts">${entries.map(([step, name]) => html`<dt>${formatName(step)}</dt><dd>${name}</dd>`)}</dl></details>`;
}

/** The prompt that the answer was written to, made again of what is kept, when it is unfolded. */
function AnswerPrompt({ id }) {
  const [isOpen, setIsOpen] = useState(false);
  return html`<details onToggle=${(event) => setIsOpen(event.target.open)}><summary>The prompt of the answer</summary>${isOpen && html`<${PromptText} id=${id} />`}</details>`;
}

function PromptText({ id }) {
  const { data, error } = useLoad(() => getJson(`rag/queries/${id}/prompt`).catch(explainMissingPrompt));
  if (error) return html`<${ErrorBox} error=${error} />`;
  if (!data) return html`<${Loading} what="Loading the prompt" />`;
  return data.prompt ? html`<pre tabindex="0" aria-label="Prompt of the answer">${data.prompt}</pre>` : html`<p class="hint">${data.reason}</p>`;
}

/** Return why there is no prompt, which is no failure. */
function explainMissingPrompt(error) {
  if (error.code !== "no_prompt") throw error;
  return { reason: `${error.message[0].toUpperCase()}${error.message.slice(1)}.` };
}

const selectExpansion = ({ original_query, expanded_queries, hyde_answer, intent, entities }) => ({
  original_query,
  expanded_queries,
  hyde_answer,
  intent,
  entities,
});

/** The ranking of the query with another preset beside the saved ranking. */
function ReplayForm({ query }) {
  const presets = useLoad(() => getJson("rag/presets"));
  const replay = useAction();
  const [result, setResult] = useState(null);
  const run = async (event) => {
    event.preventDefault();
    const preset = new FormData(event.target).get("preset");
    setResult((await replay.act("replay", () => sendJson("POST", `rag/queries/${query.id}/replay`, { preset }))) ?? null);
  };
  const names = (presets.data?.presets ?? []).filter(({ pipeline }) => !["facets", "classical"].includes(pipeline)).map(({ name }) => name);
  return html`<section class="card stack" aria-labelledby="replay"><div><h2 id="replay">Replay with another preset</h2>
      <p class="hint">Runs the query again with another preset and compares the rankings. The saved query does not change.</p></div>
    ${!query.has_retrieved_context && html`<p class="muted">Retrieve first: there is no ranking to compare with.</p>`}
    ${query.has_retrieved_context && presets.error && html`<${ErrorBox} error=${presets.error} retry=${presets.reload} />`}
    ${query.has_retrieved_context && presets.data && html`<form class="actions" onSubmit=${run}>
      <${Field} label="Preset">${(attributes) => html`<select ...${attributes} name="preset">${names.map((name) => html`<option>${name}</option>`)}</select>`}<//>
      <${Button} kind="primary" type="submit" busy=${replay.busy !== null}>Replay<//>
    </form>`}
    <p role="status" class="status-text hint">${replay.busy && html`<${Progress} what="Running the query with this preset" />`}</p>
    ${replay.error && html`<${ErrorBox} error=${replay.error} />`}
    ${result && html`<${RankingComparison} replay=${result} candidatesById=${new Map(query.retrieved_context.map((candidate) => [candidate.id, candidate]))} />`}
  </section>`;
}

const ROW_HEIGHT = 52; // pixels; the lines between the rankings depend on it

/** Two rankings side by side. `candidatesById` has the saved candidates: a ranking lacks the place of a passage in its document. */
function RankingComparison({ replay, candidatesById }) {
  const [before, after] = [replay.before, replay.after].map(({ preset, ranking }) => ({
    preset,
    ranking: ranking.map((hit) => ({ ...candidatesById.get(hit.chunk_id), ...hit })),
  }));
  if (!before.ranking.length && !after.ranking.length) return html`<${Empty} title="Neither preset found any passages" />`;
  return html`<div class="stack">
    <p>Overlap of the first ten: <b>${Math.round(replay.overlap_at_10 * 100)} %</b>.
      <span class="muted"> ${formatCount(replay.moved.length, "passage")} changed rank, dropped or new.</span></p>
    <div class="replay">
      <${RankingColumn} title="Saved: ${before.preset.name ?? "no preset"}" ranking=${before.ranking} other=${after.ranking} missingLabel="dropped" />
      <${RankLines} before=${before.ranking} after=${after.ranking} />
      <${RankingColumn} title="Replay: ${after.preset.name}" ranking=${after.ranking} other=${before.ranking} missingLabel="new" />
    </div>
    <${Timings} timings=${replay.timings} label="Replay" />
    <p><${Cost} usage=${replay.usage} /></p>
    <${RunNotices} ...${replay} />
  </div>`;
}

/** A ranking; `missingLabel` marks the passages that the other ranking lacks. */
function RankingColumn({ title, ranking, other, missingLabel }) {
  const otherRanks = new Map(other.map(({ chunk_id, rank }) => [chunk_id, rank]));
  const isReplay = missingLabel === "new";
  return html`<div class="ranking"><h3>${title}</h3><ol class="plain">
    ${ranking.map((hit) => html`<li key=${hit.chunk_id} style=${{ height: `${ROW_HEIGHT}px` }}>
      <span class="rank">${hit.rank}</span>
      <span class="hit"><a href=${buildSourceAddress(hit)}>${hit.title}</a><span class="muted">${[hit.section.at(-1), hit.page && `page ${hit.page}`, hit.line_start && `line ${hit.line_start}`].filter(Boolean).join(" · ")}</span></span>
      ${otherRanks.has(hit.chunk_id)
        ? html`<span class="muted numeric">${isReplay && html`<${RankChange} before=${otherRanks.get(hit.chunk_id)} after=${hit.rank} />`} <span title="Score">${formatNumber(hit.score)}</span></span>`
        : html`<${Chip} tone=${isReplay ? "good" : "warn"}>${missingLabel}<//>`}
    </li>`)}
  </ol></div>`;
}

/** The earlier rank, if it differs, for readers who do not see the lines between the rankings. */
const RankChange = ({ before, after }) =>
  before !== after && html`<span><span aria-hidden="true">${after < before ? "↑" : "↓"}</span> was rank ${before} · </span>`;

/** A line from the earlier to the later rank of each passage. */
function RankLines({ before, after }) {
  const newRanks = new Map(after.map(({ chunk_id, rank }) => [chunk_id, rank]));
  const height = ROW_HEIGHT * Math.max(before.length, after.length);
  const common = before.filter(({ chunk_id }) => newRanks.has(chunk_id));
  return html`<svg class="moves" viewBox="0 0 100 ${height}" height=${height} preserveAspectRatio="none" aria-hidden="true">
    ${common.map(({ chunk_id, rank }) => html`<path class=${classifyMove(rank, newRanks.get(chunk_id))} d=${buildCurve(rank, newRanks.get(chunk_id))} vector-effect="non-scaling-stroke" />`)}
  </svg>`;
}

const classifyMove = (before, after) => (after < before ? "up" : after > before ? "down" : "same");

function buildCurve(before, after) {
  const [left, right] = [(before - 0.5) * ROW_HEIGHT, (after - 0.5) * ROW_HEIGHT];
  return `M0 ${left} C50 ${left} 50 ${right} 100 ${right}`;
}
