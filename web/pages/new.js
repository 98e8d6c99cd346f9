// /rag/new: a new query. Its expansion prompt is shown, then run by a chat model or local techniques, or a response is pasted (S0-02, S0-07).

import { buildAddress, sendJson } from "../api.js";
import { useChatModel } from "../chat_model.js";
import { Button, CopyButton, ErrorBox, Field, Loading, Page, Progress, useAction } from "../components.js";
import { html, useEffect, useState } from "../html.js";

const TYPING_PAUSE_MS = 300; // without input before the prompt is loaded

export default function NewQueryPage() {
  const [text, setText] = useState("");
  const expansion = useAction();
  const createQuery = async (name, path, fields) => {
    const reply = await expansion.act(name, () => sendJson("POST", path, { original_query: text.trim(), ...fields }));
    if (reply) location.assign(buildAddress(`/rag/${reply.query_id}`));
  };
  return html`<${Page} title="New query" trail=${[[buildAddress("/rag"), "Queries"]]}
      lead="Enter a question. The expansion adds expanded queries, a HyDE answer, an intent and entities, so that the search finds more relevant passages.">
    <div class="stack">
      <section class="card">
        <${Field} label="Question">${(attributes) => html`<textarea ...${attributes} rows="2" class="question-box" autofocus required
          value=${text} onInput=${(event) => setText(event.target.value)}></textarea>`}<//>
      </section>
      <${Expansion} ready=${text.trim() !== ""} prompt=${useExpansionPrompt(text.trim())} createQuery=${createQuery} expansion=${expansion} />
    </div>
  <//>`;
}

/** Load the expansion prompt of `text` when the typing pauses: {text, error, stale}; empty for an empty text. */
function useExpansionPrompt(text) {
  const [prompt, setPrompt] = useState({});
  useEffect(() => {
    setPrompt((before) => ({ ...before, stale: true }));
    if (!text) return setPrompt({});
    let isCurrent = true;
    const setIfCurrent = (loaded) => isCurrent && setPrompt(loaded);
    const load = () => sendJson("POST", "rag/expansion/prompt", { original_query: text });
    const timer = setTimeout(() => load().then((reply) => setIfCurrent({ text: reply.prompt }), (error) => setIfCurrent({ error })), TYPING_PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text]);
  return prompt;
}

function Expansion({ ready, prompt, createQuery, expansion }) {
  return html`
    <section class="card stack" aria-labelledby="prompt-title">
      <div class="between"><h2 id="prompt-title">Prompt for the chat model</h2>${prompt.text && html`<${CopyButton} text=${prompt.text}>Copy prompt<//>`}</div>
      <${PromptText} prompt=${prompt} ready=${ready} />
    </section>
    <p role="status" class="status-text hint">${expansion.busy && html`<${Progress} what="Expanding the query" />`}</p>
    ${expansion.error && html`<${ErrorBox} error=${expansion.error} />`}
    <div class="columns">
      <${RunForm} ready=${ready} createQuery=${createQuery} busy=${expansion.busy} />
      <${PasteForm} ready=${ready} createQuery=${createQuery} busy=${expansion.busy} />
    </div>`;
}

function PromptText({ prompt, ready }) {
  if (!ready) return html`<p class="muted">Enter a question to see the prompt. It is not sent to the chat model before you run the expansion.</p>`;
  if (prompt.error) return html`<${ErrorBox} error=${prompt.error} />`;
  if (!prompt.text) return html`<${Loading} what="Loading the prompt" />`;
  return html`<pre tabindex="0" aria-busy=${prompt.stale ?? false} aria-label="Expansion prompt">${prompt.text}</pre>`;
}

function RunForm({ ready, createQuery, busy }) {
  const [usesFullModel, setUsesFullModel] = useState(true);
  const hasModel = useChatModel();
  return html`<section class="card stack" aria-labelledby="run-title">
    <h2 id="run-title">${hasModel === false ? "Expand without a model" : "Expand with the chat model"}</h2>
    ${hasModel === false
      ? html`<p class="muted">No chat model is configured: local techniques generate the expanded queries, and there is no HyDE answer.</p>`
      : html`<label class="check"><input type="checkbox" checked=${usesFullModel} onChange=${(event) => setUsesFullModel(event.target.checked)} /> Use the full model</label>`}
    <div><${Button} kind="primary" disabled=${!ready || busy !== null} busy=${busy === "run"}
      onClick=${() => createQuery("run", "rag/expansion/run", { use_full_model: usesFullModel })}>Run Expansion<//></div>
  </section>`;
}

function PasteForm({ ready, createQuery, busy }) {
  const [response, setResponse] = useState("");
  return html`<section class="card stack" aria-labelledby="paste-title">
    <h2 id="paste-title">Or paste a response</h2>
    <${Field} label="Response" hint="The response of any chat model to the prompt above, as JSON or plain text.">${(attributes) => html`
      <textarea ...${attributes} rows="5" value=${response} onInput=${(event) => setResponse(event.target.value)}></textarea>`}<//>
    <div><${Button} disabled=${!ready || !response.trim() || busy !== null} busy=${busy === "paste"}
      onClick=${() => createQuery("paste", "rag/expansion/manual", { llm_response: response })}>Save response<//></div>
  </section>`;
}
