// The prompts: the wording that a model is given, as packaged or as edited.

import { get, send } from "../api.js";
import { Button, Chip, ErrorBox, Field, Loading, useAction, useLoad } from "../components.js";
import { html } from "../html.js";
import { EVERYONES, Refusal } from "./shared.js";

export function Prompts() {
  const { data, error, reload } = useLoad(() => get("rag/prompts"));
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} />`;
  return html`<p class="hint">Edited wordings apply to the workbench. What a document says is fenced off by the server, whatever a wording says.</p>
    ${data.prompts.map((prompt) => html`<details key=${prompt.tag + prompt.wording}>
      <summary>${prompt.tag.replaceAll("_", " ")} <${Chip} tone=${prompt.edited ? "next" : ""}>${prompt.edited ? "edited" : "as packaged"}<//></summary>
      <${Editor} prompt=${prompt} reload=${reload} /></details>`)}`;
}

function Editor({ prompt, reload }) {
  const { busy, error, act } = useAction();
  const change = (name, method, body) =>
    act(name, async () => {
      await send(method, `rag/prompts/${prompt.tag}`, { ...EVERYONES, ...body });
      await reload();
    });
  const save = (event) => {
    event.preventDefault();
    change("save", "PUT", { wording: new FormData(event.target).get("wording") });
  };
  return html`<form class="stack tight" onSubmit=${save}>
    <${Field} label="Wording of ${prompt.tag.replaceAll("_", " ")}">${(named) => html`<textarea ...${named} name="wording" class="prompt" rows="8" required>${prompt.wording}</textarea>`}<//>
    <div class="actions"><${Button} kind="primary" type="submit" busy=${busy === "save"}>Save<//>
      <${Button} disabled=${!prompt.edited} busy=${busy === "back"} onClick=${() => change("back", "DELETE")}>Back to the packaged wording<//></div>
    ${prompt.edited && html`<details><summary>The packaged wording</summary><pre tabindex="0">${prompt.packaged}</pre></details>`}
    <${Refusal} error=${error} />
  </form>`;
}
