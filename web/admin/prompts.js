// The prompts for the chat model with their packaged or edited wording.

import { getJson, sendJson } from "../api.js";
import { Button, Chip, ErrorBox, Field, Loading, useAction, useLoad } from "../components.js";
import { html, useRef } from "../html.js";
import { formatName } from "../labels.js";
import { AdminErrorBox, NO_WORKFLOW } from "./access.js";

export function PromptEditor() {
  const { data, error, reload } = useLoad(() => getJson("rag/prompts"));
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  return html`<div class="card stack"><p class="hint">The server marks the text of documents as data in every prompt, whatever its wording.</p>
    ${data.prompts.map((prompt) => html`<details key=${prompt.tag}>
      <summary>${formatName(prompt.tag)} <${Chip} tone=${prompt.edited ? "next" : ""}>${prompt.edited ? "edited" : "as packaged"}<//></summary>
      <${PromptForm} prompt=${prompt} reload=${reload} /></details>`)}</div>`;
}

function PromptForm({ prompt, reload }) {
  const { busy, error, act } = useAction();
  const form = useRef();
  const change = (name, method, body) =>
    act(name, async () => {
      await sendJson(method, `rag/prompts/${prompt.tag}`, { ...NO_WORKFLOW, ...body });
      await reload();
      if (method === "DELETE") form.current?.reset(); // to what is loaded now
    });
  const save = (event) => {
    event.preventDefault();
    change("save", "PUT", { wording: new FormData(event.target).get("wording") });
  };
  return html`<form class="stack tight" ref=${form} onSubmit=${save}>
    <${Field} label="Wording of the prompt: ${formatName(prompt.tag)}">${(attributes) => html`<textarea ...${attributes} name="wording" class="prompt" rows="8" required defaultValue=${prompt.wording}></textarea>`}<//>
    <div class="actions"><${Button} kind="primary" type="submit" busy=${busy === "save"}>Save<//>
      <${Button} disabled=${!prompt.edited} busy=${busy === "reset"} onClick=${() => change("reset", "DELETE")}>Restore the packaged wording<//></div>
    ${prompt.edited && html`<details><summary>Packaged wording</summary><pre tabindex="0">${prompt.packaged}</pre></details>`}
    <${AdminErrorBox} error=${error} />
  </form>`;
}
