// /rag/{id}: a saved query, step by step (S0-03, S0-08).

import { buildAddress, getJson, sendJson } from "../api.js";
import { LatestAnswer } from "../answers.js";
import { useChatModel } from "../chat_model.js";
import { Button, CopyButton, ErrorBox, Field, formatCount, Loading, Page, Progress, RunNotices, Timings, useAction, useLoad } from "../components.js";
import { ExpansionFields } from "../editing.js";
import { Candidates, Groups } from "../evidence.js";
import { html, useState } from "../html.js";
import { BUTTON_LABELS, collectStepTimes, PROGRESS_MESSAGES, runStep, Status, StepRecord } from "../steps.js";

export default function QueryPage({ params: { id } }) {
  const request = useLoad(() => getJson(`rag/queries/${id}`));
  const query = request.data;
  const links = html`<a class="button quiet" href=${buildAddress(`/rag/${id}/inspect`)}>Inspect</a>
    <a class="button quiet" href=${buildAddress(`/rag/${id}/results`)}>Results${query && ` (${query.results_count})`}</a>`;
  return html`<${Page} title=${query ? query.original_query : `Query ${id}`} trail=${[[buildAddress("/rag"), "Queries"]]} actions=${links}>
    ${request.error && html`<${ErrorBox} error=${request.error} retry=${request.reload} />`}
    ${request.loading && !query && html`<${Loading} what="Loading the query" />`}
    ${query && html`<${StepList} query=${query} reload=${request.reload} replace=${request.replace} />`}
  <//>`;
}

function StepList({ query, reload, replace }) {
  const step = useAction();
  const [messages, setMessages] = useState({});
  const advance = async (name) => {
    const reply = await step.act(name, () => runStep(name, query.id));
    setMessages({ [name]: reply?.message });
    await reload();
  };
  const buildProps = (name) => ({ name, query, advance, message: messages[name], busy: step.busy, error: step.failed === name ? step.error : null });
  return html`<div class="stack">
    <div><${Status} query=${query} /></div>
    <${Timings} timings=${collectStepTimes(query.steps)} label="All steps" />
    <ol class="stepper">
      <${Step} number=${1} title="Expand" done=${true} step=${query.steps.expand}><${ExpansionFields} query=${query} replace=${replace} reload=${reload} /><//>
      <${RunnableStep} number=${2} ...${buildProps("embed")} done=${query.vector_status === "vec"}
        text="Computes the embeddings of the query text, the expanded queries and the HyDE answer." />
      <${RunnableStep} number=${3} ...${buildProps("retrieve")} done=${query.has_retrieved_context}
        text="Runs lexical and vector search, fuses the rankings, reranks them by cross-encoder and boosts matching entities and intent.">
        <${Candidates} candidates=${query.retrieved_context} open=${!query.has_clean_context} /><//>
      <${RunnableStep} number=${4} ...${buildProps("consolidate")} done=${query.has_clean_context}
        text="Groups the passages of a section, joins neighbours, adds the text between them and drops sparse or short groups.">
        <${Groups} groups=${query.clean_retrieval_context} open=${query.results_count === 0} /><//>
      <${Step} number=${5} title="Answer" done=${query.results_count > 0} next=${query.next_step === "augment"} step=${query.steps.augment}>
        <${AnswerStep} query=${query} reload=${reload} /><//>
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
      <${StepRecord} step=${step} />
      ${children}
    </section>
  </li>`;
}

/** A step with a button, which is enabled when the step is next or done. */
function RunnableStep({ number, name, query, done, advance, message, busy, error, text, children }) {
  const next = query.next_step === name;
  const button = html`<${Button} kind=${next ? "primary" : ""} busy=${busy === name} disabled=${busy !== null || !(next || done)}
    onClick=${() => advance(name)}>${done ? `${BUTTON_LABELS[name]} again` : BUTTON_LABELS[name]}<//>`;
  const step = query.steps[name];
  const failure = !error && step?.came_out.error;
  return html`<${Step} number=${number} title=${BUTTON_LABELS[name]} done=${done} next=${next} step=${step} button=${button} text=${text}>
    <p role="status" class="status-text hint">${busy === name ? html`<${Progress} what=${PROGRESS_MESSAGES[name]} lastMs=${step?.ms} />` : message}</p>
    ${error && html`<${ErrorBox} error=${error} />`}
    ${failure && html`<p class="note">The last attempt failed: ${failure.message}</p>`}
    ${done && children}
  <//>`;
}

const DEFAULT_TOP_N = 5;
const MAX_TOP_N = 20; // the limit of the route

function AnswerStep({ query, reload }) {
  const [topN, setTopN] = useState(DEFAULT_TOP_N);
  return html`
    ${!query.has_retrieved_context && html`<p class="muted">Retrieve first: the prompt contains the retrieved passages.</p>`}
    ${query.has_retrieved_context && html`
      <div class="between">
        <${Field} label="Contexts in the prompt" hint="${formatCount(query.available_context_count, "context")} available">${(attributes) => html`
          <input ...${attributes} class="number" type="number" min="1" max=${MAX_TOP_N} defaultValue=${DEFAULT_TOP_N}
            onInput=${(event) => event.target.validity.valid && event.target.value && setTopN(Number(event.target.value))} />`}<//>
      </div>
      <${AnswerForm} query=${query} topN=${topN} reload=${reload} />
      <${AugmentedPrompt} query=${query} topN=${topN} />`}`;
}

/** The augmented prompt, loaded again when the query or `topN` changes; folded once there is an answer. It stands last: what it loads moves no button. */
function AugmentedPrompt({ query, topN }) {
  const prompt = useLoad(() => getJson(`rag/queries/${query.id}/augment/prompt`, { top_n: topN }), [query.id, query.version, topN]);
  if (prompt.error) return html`<${ErrorBox} error=${prompt.error} retry=${prompt.reload} />`;
  if (!prompt.data) return html`<${Loading} what="Loading the prompt" />`;
  return html`<div class="stack tight">
    <div class="between"><h3>Prompt for the chat model <span class="muted">· ${formatCount(prompt.data.context_count, "context")}</span></h3>
      <${CopyButton} text=${prompt.data.prompt}>Copy prompt<//></div>
    <details open=${query.results_count === 0}><summary>${prompt.data.prompt.length.toLocaleString()} characters</summary>
      <pre tabindex="0" aria-label="Augmented prompt" aria-busy=${prompt.loading}>${prompt.data.prompt}</pre></details>
    <${RunNotices} degraded=${prompt.data.degraded} warnings=${removeRepeatedWarnings(prompt.data.warnings, query.steps.augment)} />
  </div>`;
}

/** Return the warnings that the record of the latest answer does not show already. */
function removeRepeatedWarnings(warnings, step) {
  const shown = (step?.warnings ?? []).map(({ message }) => message);
  return warnings.filter(({ message }) => !shown.includes(message));
}

const ANSWER_MESSAGES = { run: "Answering, then verifying each sentence", paste: "Verifying each sentence" };

function AnswerForm({ query, topN, reload }) {
  const answer = useAction();
  const hasModel = useChatModel();
  const [usesFullModel, setUsesFullModel] = useState(false);
  const [response, setResponse] = useState("");
  const save = async (name, path, fields) => {
    const reply = await answer.act(name, () => sendJson("POST", `rag/queries/${query.id}/augment/${path}`, { top_n: topN, ...fields }));
    if (!reply) return;
    setResponse((typed) => (typed === fields.response_text ? "" : typed)); // what was typed meanwhile stays
    await reload();
  };
  return html`
    <div class="columns">
      <div class="stack tight">
        <h3>${hasModel === false ? "Answer in the documents' words" : "Answer with the chat model"}</h3>
        ${hasModel === false ? html`<p class="hint">No chat model is configured: sentences of the contexts are quoted.</p>` : html`<label class="check"><input type="checkbox" checked=${usesFullModel} onChange=${(event) => setUsesFullModel(event.target.checked)} /> Use the full model</label>`}
        <div><${Button} kind="primary" busy=${answer.busy === "run"} disabled=${answer.busy !== null || hasModel === null}
          onClick=${() => save("run", "run", { use_full_model: usesFullModel })}>${hasModel === false ? "Quote the documents" : "Run LLM"}<//></div>
      </div>
      <div class="stack tight">
        <${Field} label="Or paste a response" hint="The response of any chat model to the prompt below.">${(attributes) => html`
          <textarea ...${attributes} rows="3" value=${response} onInput=${(event) => setResponse(event.target.value)}></textarea>`}<//>
        <div><${Button} busy=${answer.busy === "paste"} disabled=${answer.busy !== null || !response.trim()}
          onClick=${() => save("paste", "manual", { response_text: response })}>Save response<//></div>
      </div>
    </div>
    <p role="status" class="status-text hint">${answer.busy && html`<${Progress} what=${ANSWER_MESSAGES[answer.busy]} lastMs=${answer.busy === "run" && query.steps.augment?.ms} />`}</p>
    ${answer.error && html`<${ErrorBox} error=${answer.error} />`}
    <${LatestAnswer} query=${query} />`;
}
