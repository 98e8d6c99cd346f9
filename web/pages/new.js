// /rag/new: ask, see the prompt before it is sent, and expand by a model, a local technique or a paste (S0-02, S0-07).

import { address, send } from "../api.js";
import { Button, Copy, ErrorBox, Field, Loading, Page, useAction, Waiting } from "../components.js";
import { html, useEffect, useState } from "../html.js";

const PAUSE_MS = 300; // of typing, before the prompt is asked for

export default function NewPage() {
  const [text, setText] = useState("");
  const expansion = useAction();
  const create = async (name, path, rest) => {
    const reply = await expansion.act(name, () => send("POST", path, { original_query: text.trim(), ...rest }));
    if (reply) location.assign(address(`/rag/${reply.query_id}`));
  };
  return html`<${Page} title="New query" trail=${[[address("/rag"), "Questions"]]}
      lead="Write a question. Its expansion adds rewordings, an imagined answer, an intent and entities, so that more of what bears on it is found.">
    <div class="stack">
      <section class="card">
        <${Field} label="Question">${(its) => html`<textarea ...${its} rows="2" class="question-box" autofocus required
          value=${text} onInput=${(event) => setText(event.target.value)}></textarea>`}<//>
      </section>
      <${Expansion} ready=${text.trim() !== ""} prompt=${usePrompt(text.trim())} create=${create} expansion=${expansion} />
    </div>
  <//>`;
}

/** The expansion prompt of `text` as it would be sent, when the typing rests: {text, error}, empty for no question. */
function usePrompt(text) {
  const [prompt, setPrompt] = useState({});
  useEffect(() => {
    setPrompt((before) => ({ ...before, stale: true }));
    if (!text) return setPrompt({});
    let current = true;
    const show = (found) => current && setPrompt(found);
    const asked = () => send("POST", "rag/expansion/prompt", { original_query: text });
    const timer = setTimeout(() => asked().then((reply) => show({ text: reply.prompt }), (error) => show({ error })), PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text]);
  return prompt;
}

function Expansion({ ready, prompt, create, expansion }) {
  return html`
    <section class="card stack" aria-labelledby="prompt-title">
      <div class="between"><h2 id="prompt-title">The prompt that is sent</h2>${prompt.text && html`<${Copy} text=${prompt.text}>Copy prompt<//>`}</div>
      <${Prompt} prompt=${prompt} ready=${ready} />
    </section>
    <p role="status" class="said hint">${expansion.busy && html`<${Waiting} what="Expanding the question" />`}</p>
    ${expansion.error && html`<${ErrorBox} error=${expansion.error} />`}
    <div class="columns">
      <${Run} ready=${ready} create=${create} busy=${expansion.busy} />
      <${Paste} ready=${ready} create=${create} busy=${expansion.busy} />
    </div>`;
}

function Prompt({ prompt, ready }) {
  if (!ready) return html`<p class="muted">It is shown here as soon as there is a question. Nothing is sent until you say so.</p>`;
  if (prompt.error) return html`<${ErrorBox} error=${prompt.error} />`;
  if (!prompt.text) return html`<${Loading} what="Making the prompt" />`;
  return html`<pre tabindex="0" aria-busy=${prompt.stale ?? false} aria-label="Expansion prompt">${prompt.text}</pre>`;
}

function Run({ ready, create, busy }) {
  const [full, setFull] = useState(true);
  return html`<section class="card stack" aria-labelledby="run-title">
    <h2 id="run-title">Let the model expand it</h2>
    <p class="muted">Without a chat model, local techniques make the rewordings, and no answer is imagined.</p>
    <label class="check"><input type="checkbox" checked=${full} onChange=${(event) => setFull(event.target.checked)} /> Use the full model</label>
    <div><${Button} kind="primary" disabled=${!ready || busy !== null} busy=${busy === "run"}
      onClick=${() => create("run", "rag/expansion/run", { use_full_model: full })}>Run Expansion<//></div>
  </section>`;
}

function Paste({ ready, create, busy }) {
  const [response, setResponse] = useState("");
  return html`<section class="card stack" aria-labelledby="paste-title">
    <h2 id="paste-title">Or paste a response</h2>
    <${Field} label="Response" hint="What any model said to the prompt above: JSON or plain text.">${(its) => html`
      <textarea ...${its} rows="5" value=${response} onInput=${(event) => setResponse(event.target.value)}></textarea>`}<//>
    <div><${Button} disabled=${!ready || !response.trim() || busy !== null} busy=${busy === "paste"}
      onClick=${() => create("paste", "rag/expansion/manual", { llm_response: response })}>Save response<//></div>
  </section>`;
}
