// /rag/ask and /rag/ask/{id}: a conversation with the documents. {id} is the saved query of its last answer.

import { buildAddress, getJson } from "../api.js";
import { buildSourceAddress, ErrorBox, Loading, Page, useLoad } from "../components.js";
import { Turn } from "../ask/answer.js";
import { askForEvents } from "../ask/events.js";
import { describePlace } from "../ask/export.js";
import { History } from "../ask/history.js";
import { EVERYTHING, ScopeBar, useScope } from "../ask/scope.js";
import { useChatModel } from "../chat_model.js";
import { CitedOriginal } from "../document/original.js";
import { joinLines } from "../evidence.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { AddButtons, DropCover, UploadList, useUploads } from "../uploads.js";

const MAX_TURNS = 10; // of a conversation that go with a question, as pairs
const MAX_TURN_CHARS = 8000;

export default function AskPage({ params, query }) {
  const saved = useLoad(() => (params.id ? loadConversation(params.id) : []), []);
  const isReady = saved.data !== null;
  return html`<${Page} title="Ask" lead="Each sentence of an answer is checked against the documents, and leads to the place that says it."
    actions=${html`<a class="button" href=${buildAddress("/rag/ask")}>New conversation</a>`}>
    ${saved.error && html`<${ErrorBox} error=${saved.error} retry=${saved.reload} />`}
    ${!isReady && !saved.error && html`<${Loading} what="Loading the answer" />`}
    ${isReady && html`<${Conversation} earlier=${saved.data} begun=${query.get("question") ?? ""} />`}
  <//>`;
}

/** Return the turns that led to a saved answer, oldest first. */
async function loadConversation(id) {
  const turns = [];
  for (let next = id; next && turns.length < MAX_TURNS; ) {
    const turn = await loadTurn(next, turns.length === 0);
    if (!turn) break; // an earlier one that was deleted
    turns.unshift(turn);
    next = turn.follows;
  }
  return turns;
}

async function loadTurn(id, isWanted) {
  try {
    const { results } = await getJson(`rag/queries/${id}/results`);
    const { details } = results.length ? await getJson(`rag/queries/${id}/results/${results.at(-1).id}`) : {};
    if (details?.reply) return { ...newTurn(details.asked), ...details, kept: Number(id), feedback: details.feedback };
    if (isWanted) throw new Error("this query has no saved answer of this page: open it in the workbench");
  } catch (error) {
    if (isWanted) throw error;
  }
  return null;
}

let lastKey = 0;
const newTurn = (asked, scope = EVERYTHING) => ({ key: ++lastKey, asked, scope, steps: [], claims: [], text: "", reply: null, kept: null, error: null });

/** A conversation; `begun` is a question that the address has, to be asked or changed by the reader. */
function Conversation({ earlier, begun }) {
  const [turns, setTurns] = useState(earlier);
  const [place, setPlace] = useState(null);
  const [scope, changeScope] = useScope();
  const [text, setText] = useState(begun);
  const documents = useLoad(() => getJson("api/documents"));
  const uploading = useUploads(documents.reload);
  const box = useRef();
  const running = useRef(null);
  useEffect(() => {
    if (turns.length > earlier.length) document.querySelector(".turn:last-of-type")?.scrollIntoView({ block: "start" });
  }, [turns.length]);
  const isBusy = turns.some(({ reply, error }) => !reply && !error);
  const change = (key, update) => setTurns((all) => all.map((turn) => (turn.key === key ? { ...turn, ...update(turn) } : turn)));

  const ask = async (question, replacedKey = null, asScope = scope) => {
    const before = turns.filter(({ key, reply }) => reply && key !== replacedKey);
    const turn = newTurn(question, asScope);
    setTurns([...turns.filter(({ key }) => key !== replacedKey), turn]);
    running.current = new AbortController();
    try {
      const handle = (name, data) => change(turn.key, (current) => applyEvent(current, name, data));
      const reply = await askForEvents(buildRequest(question, before, asScope), handle, running.current.signal);
      change(turn.key, () => ({ reply, kept: reply.kept ?? null }));
      if (reply.kept) history.replaceState(null, "", buildAddress(`/rag/ask/${reply.kept}`));
    } catch (error) {
      change(turn.key, () => ({ error: error.name === "AbortError" ? new Error("You stopped this answer.") : error }));
    }
  };
  const submit = (event) => {
    event.preventDefault();
    if (!text.trim() || isBusy) return;
    ask(text.trim());
    setText("");
  };
  const edit = (question) => {
    setText(question);
    box.current.focus();
  };
  const reconsider = (turn) => {
    const wider = { ...EVERYTHING, preset: scope.preset };
    changeScope(wider);
    ask(turn.asked, null, wider);
  };
  const close = () => {
    (place?.opener?.isConnected ? place.opener : box.current).focus();
    setPlace(null);
  };
  return html`<div class=${place ? "ask has-beside" : "ask"}>
    <div class="conversation stack">
      <${ModelNotice} />
      ${turns.length === 0 && html`<${Welcome} documents=${documents} ask=${edit} />`}
      ${turns.map((turn, index) => html`<${Turn} key=${turn.key} turn=${turn} number=${index + 1} ask=${ask} edit=${edit} reconsider=${reconsider}
        show=${(citation, opener) => setPlace({ citation, opener })} />`)}
      <${UploadList} ...${uploading} />
      <form class="card stack tight composer" onSubmit=${submit}>
        <label class="visually-hidden" for="question">Question</label>
        <${QuestionBox} box=${box} text=${text} setText=${setText} submit=${submit} isFollowUp=${turns.length > 0} />
        <div class="between"><${ScopeBar} scope=${scope} change=${changeScope} documents=${documents} />
          <div class="actions"><${AddButtons} add=${uploading.add} />
            <${SendButton} isBusy=${isBusy} isEmpty=${!text.trim()} stop=${() => running.current?.abort()} /></div></div>
      </form>
      <details class="card past-questions" open=${turns.length === 0 && innerWidth > 900}><summary><h2>History</h2></summary>
        <${History} version=${turns.filter(({ kept }) => kept).length} forget=${(id) => setTurns((all) => all.filter(({ kept }) => kept !== id))} /></details>
    </div>
    ${place && html`<${Beside} key=${JSON.stringify(place.citation)} citation=${place.citation} close=${close} />`}
    <${DropCover} isOver=${uploading.isOver} />
  </div>`;
}

function buildRequest(query, before, scope) {
  const history = before.slice(-MAX_TURNS).flatMap(({ asked, reply }) => [
    { role: "user", content: asked },
    { role: "assistant", content: reply.answer.slice(0, MAX_TURN_CHARS) },
  ]);
  const { documents: document_ids, preset } = scope;
  const filters = Object.fromEntries(Object.entries(scope.filters).map(([name, value]) => [`metadata.${name}`, value]));
  return { query, history, keep: true, ...(before.at(-1)?.kept && { follows: before.at(-1).kept }), filters, ...(document_ids.length && { document_ids }), ...(preset && { preset }) };
}

/** Return what an event changes in a turn: the step that runs, or the sentences so far. */
function applyEvent(turn, name, data) {
  if (name === "step") return { steps: data.state === "started" ? [...turn.steps, data.step] : turn.steps.filter((step) => step !== data.step) };
  if (name === "sentence") return { claims: [...turn.claims, data], text: turn.text + data.lead + data.text };
  return {};
}

/** Says once that no chat model is configured. Its place is kept until that is known, so that nothing below it moves. */
function ModelNotice() {
  const hasModel = useChatModel();
  if (hasModel) return null;
  return html`<p class=${hasModel === null ? "hint unknown-yet" : "hint"}>No chat model is configured: answers are quoted from the documents, word for word.</p>`;
}

/** Says what to do first. Its place is kept until the documents are known. */
function Welcome({ documents }) {
  const count = documents.data?.documents.length ?? 1;
  return html`<div class=${documents.data ? "welcome" : "welcome unknown-yet"}><p class="title">${count ? "What do you want to know?" : "Begin with a document"}</p>
    <p class="muted">${count ? "Ask in your own words. Follow-up questions may refer to what was said before." : "Drop files or folders anywhere on this page, then ask about them."}</p></div>`;
}

function QuestionBox({ box, text, setText, submit, isFollowUp }) {
  const handleKey = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && submit(event);
  useEffect(() => box.current.focus({ preventScroll: true }), []);
  return html`<textarea id="question" ref=${box} rows="2" maxlength="8000" class="question-box" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${handleKey}
    placeholder=${isFollowUp ? "Ask a follow-up question" : "Ask a question"}></textarea>`;
}

/** Asks, and stops what is asked: one element, which keeps the focus. */
function SendButton({ isBusy, isEmpty, stop }) {
  const click = (event) => {
    event.preventDefault(); // stopping asks nothing
    stop();
  };
  return html`<button type="submit" class=${isBusy ? "" : "primary"} aria-disabled=${!isBusy && isEmpty} onClick=${isBusy ? click : null}>${isBusy ? "Stop" : "Ask"}</button>`;
}

/** The cited page beside the answer; Escape and the button lead back to where one was. */
function Beside({ citation, close }) {
  const heading = useRef();
  useLayoutEffect(() => heading.current.focus({ preventScroll: true }), []); // before it is seen, or an early Escape would reach nobody
  return html`<aside class="beside" aria-labelledby="beside-title" onKeyDown=${(event) => event.key === "Escape" && close()}>
    <div class="beside-head"><h2 id="beside-title" tabindex="-1" ref=${heading}>${describePlace(citation)}</h2>
      <div class="actions"><a class="button quiet" href=${buildSourceAddress(citation)}>Open the document</a>
        <button type="button" onClick=${close}>Back to the answer</button></div></div>
    ${(citation.quote ?? citation.content) && html`<blockquote tabindex="0">${joinLines(citation.quote ?? citation.content)}</blockquote>`}
    <div class="beside-view"><${CitedOriginal} document_id=${citation.document_id} citation=${{ page: citation.page, boxes: citation.boxes ?? [], lines: citation.lines }} /></div>
  </aside>`;
}
