// /rag/{id}: a question, step by step (S0-03, S0-08).

import { address, get, send } from "../api.js";
import { Button, Copy, ErrorBox, Fell, Field, Loading, many, Page, Timings, useAction, useLoad, Waiting } from "../components.js";
import { Candidates, Groups } from "../evidence.js";
import { html, useState } from "../html.js";
import { Expanded } from "../editing.js";
import { Account, BUTTONS, DOING, Status, take, timesOf } from "../steps.js";
import { Answers } from "../answers.js";

export default function QueryPage({ params: { id } }) {
  const loaded = useLoad(() => get(`rag/queries/${id}`));
  const query = loaded.data;
  const links = html`<a class="button quiet" href=${address(`/rag/${id}/inspect`)}>Inspect</a>
    <a class="button quiet" href=${address(`/rag/${id}/results`)}>Results${query && ` (${query.results_count})`}</a>`;
  return html`<${Page} title=${query ? query.original_query : `Question ${id}`} trail=${[[address("/rag"), "Questions"]]} actions=${links}>
    ${loaded.error && html`<${ErrorBox} error=${loaded.error} retry=${loaded.reload} />`}
    ${loaded.loading && !query && html`<${Loading} what="Loading the question" />`}
    ${query && html`<${Steps} query=${query} reload=${loaded.reload} replace=${loaded.replace} />`}
  <//>`;
}

function Steps({ query, reload, replace }) {
  const step = useAction();
  const [said, setSaid] = useState({});
  const advance = async (name) => {
    const reply = await step.act(name, () => take(name, query.id));
    setSaid({ [name]: reply?.message });
    await reload();
  };
  const of = (name) => ({ name, query, advance, said: said[name], busy: step.busy, error: step.failed === name ? step.error : null });
  return html`<div class="stack">
    <div><${Status} query=${query} /></div>
    <${Timings} timings=${timesOf(query.steps)} label="All steps" />
    <ol class="stepper">
      <${Step} number=${1} title="Expand" done=${true} step=${query.steps.expand}><${Expanded} query=${query} replace=${replace} reload=${reload} /><//>
      <${Taken} number=${2} ...${of("embed")} done=${query.vector_status === "vec"}
        text="The question, its rewordings and the imagined answer become vectors." />
      <${Taken} number=${3} ...${of("retrieve")} done=${query.has_retrieved_context}
        text="By meaning and by words, fused, then judged by the cross-encoder with boosts for entities and intent.">
        <${Candidates} candidates=${query.retrieved_context} open=${!query.has_clean_context} /><//>
      <${Taken} number=${4} ...${of("consolidate")} done=${query.has_clean_context}
        text="Passages under one heading are put together, neighbours merged, thin groups dropped.">
        <${Groups} groups=${query.clean_retrieval_context} open=${query.results_count === 0} /><//>
      <${Step} number=${5} title="Answer" done=${query.results_count > 0} next=${query.next_step === "augment"} step=${query.steps.augment}>
        <${Augment} query=${query} reload=${reload} /><//>
    </ol>
  </div>`;
}

function Step({ number, title, done, next = false, step, button, text, children }) {
  return html`<li class="step ${done ? "done" : next ? "next" : "later"}">
    <span class="bullet" aria-hidden="true">${done ? "✓" : number}</span>
    <section class="card stack" aria-labelledby="step-${number}">
      <div class="between">
        <div><h2 id="step-${number}">${title}<span class="visually-hidden">${done ? ", done" : next ? ", next" : ", later"}</span></h2>
          ${text && html`<p class="hint">${text}</p>`}</div>
        ${button}
      </div>
      <${Account} step=${step} />
      ${children}
    </section>
  </li>`;
}

/** A step that a button takes. One that is done can be taken again; one whose turn has not come cannot be taken. */
function Taken({ number, name, query, done, advance, said, busy, error, text, children }) {
  const next = query.next_step === name;
  const button = html`<${Button} kind=${next ? "primary" : ""} busy=${busy === name} disabled=${busy !== null || !(next || done)}
    onClick=${() => advance(name)}>${done ? `${BUTTONS[name]} again` : BUTTONS[name]}<//>`;
  const step = query.steps[name];
  const failure = !error && step?.came_out.error;
  return html`<${Step} number=${number} title=${BUTTONS[name]} done=${done} next=${next} step=${step} button=${button} text=${text}>
    <p role="status" class="said hint">${busy === name ? html`<${Waiting} what=${DOING[name]} before=${step?.ms} />` : said}</p>
    ${error && html`<${ErrorBox} error=${error} />`}
    ${failure && html`<p class="note">The last try failed: ${failure.message}</p>`}
    ${done && children}
  <//>`;
}

const TOP_N = 5;
const TOP_N_MOST = 20; // the route takes no more

function Augment({ query, reload }) {
  const [topN, setTopN] = useState(TOP_N);
  const ready = query.has_retrieved_context;
  return html`
    ${!ready && html`<p class="muted">Retrieve first: the prompt is made of what was found.</p>`}
    ${ready && html`
      <div class="between">
        <${Field} label="Contexts in the prompt" hint="${many(query.available_context_count, "context")} available">${(its) => html`
          <input ...${its} class="number" type="number" min="1" max=${TOP_N_MOST} defaultValue=${TOP_N}
            onInput=${(event) => event.target.validity.valid && event.target.value && setTopN(Number(event.target.value))} />`}<//>
      </div>
      <${Prompt} query=${query} topN=${topN} />
      <${Answering} query=${query} topN=${topN} reload=${reload} />`}`;
}

/** The whole prompt, asked for anew when what it is made of changes; folded once there is an answer. */
function Prompt({ query, topN }) {
  const prompt = useLoad(() => get(`rag/queries/${query.id}/augment/prompt`, { top_n: topN }), [query.id, query.version, topN]);
  if (prompt.error) return html`<${ErrorBox} error=${prompt.error} retry=${prompt.reload} />`;
  if (!prompt.data) return html`<${Loading} what="Making the prompt" />`;
  return html`<div class="stack tight">
    <div class="between"><h3>The prompt that is sent <span class="muted">· ${many(prompt.data.context_count, "context")}</span></h3>
      <${Copy} text=${prompt.data.prompt}>Copy prompt<//></div>
    <details open=${query.results_count === 0}><summary>${prompt.data.prompt.length.toLocaleString()} characters</summary>
      <pre tabindex="0" aria-label="Augmented prompt" aria-busy=${prompt.loading}>${prompt.data.prompt}</pre></details>
    <${Fell} degraded=${prompt.data.degraded} warnings=${unsaid(prompt.data.warnings, query.steps.augment)} />
  </div>`;
}

/** Those that the account of the last answer does not say already. */
function unsaid(warnings, step) {
  const said = (step?.warnings ?? []).map(({ message }) => message);
  return warnings.filter(({ message }) => !said.includes(message));
}

const ANSWERING = { run: "Answering, then checking each sentence", paste: "Checking each sentence" };

function Answering({ query, topN, reload }) {
  const answer = useAction();
  const [full, setFull] = useState(false);
  const [pasted, setPasted] = useState("");
  const save = async (name, path, body) => {
    const reply = await answer.act(name, () => send("POST", `rag/queries/${query.id}/augment/${path}`, { top_n: topN, ...body }));
    if (!reply) return;
    setPasted("");
    await reload();
  };
  return html`
    <div class="columns">
      <div class="stack tight">
        <h3>Let the model answer</h3>
        <label class="check"><input type="checkbox" checked=${full} onChange=${(event) => setFull(event.target.checked)} /> Use the full model</label>
        <div><${Button} kind="primary" busy=${answer.busy === "run"} disabled=${answer.busy !== null}
          onClick=${() => save("run", "run", { use_full_model: full })}>Run LLM<//></div>
      </div>
      <div class="stack tight">
        <${Field} label="Or paste a response" hint="What any model said to the prompt above.">${(its) => html`
          <textarea ...${its} rows="3" value=${pasted} onInput=${(event) => setPasted(event.target.value)}></textarea>`}<//>
        <div><${Button} busy=${answer.busy === "paste"} disabled=${answer.busy !== null || !pasted.trim()}
          onClick=${() => save("paste", "manual", { response_text: pasted })}>Save response<//></div>
      </div>
    </div>
    <p role="status" class="said hint">${answer.busy && html`<${Waiting} what=${ANSWERING[answer.busy]} before=${answer.busy === "run" && query.steps.augment?.ms} />`}</p>
    ${answer.error && html`<${ErrorBox} error=${answer.error} />`}
    <${Answers} query=${query} />`;
}
