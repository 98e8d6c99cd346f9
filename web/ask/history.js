// The questions that were asked before, searched and deleted.

import { buildAddress, getJson, sendJson } from "../api.js";
import { ErrorBox, Field, Time, useLoad } from "../components.js";
import { ConfirmButton } from "../confirm.js";
import { html, useState } from "../html.js";

const NEWEST = 500; // saved queries among which is searched

/** The saved answers, newest first. `version` changes when there is a new one, `forget(id)` is told of one that is gone. */
export function History({ version, forget }) {
  const { data, error, reload } = useLoad(() => getJson("rag/queries", { limit: NEWEST }), [version]);
  const [words, setWords] = useState("");
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  const asked = (data?.queries ?? []).filter(({ origin }) => origin === "ask");
  const wanted = words.toLowerCase().split(/\s+/);
  const shown = asked.filter(({ original_query }) => wanted.every((word) => original_query.toLowerCase().includes(word)));
  const remove = async (id) => {
    await sendJson("DELETE", `rag/queries/${id}`);
    forget(id);
    await reload();
  };
  return html`<div class="stack tight">
    ${(asked.length > 5 || words) && html`<${Field} label="Search the history">${(attributes) => html`<input ...${attributes} type="search" value=${words} onInput=${(event) => setWords(event.target.value)} />`}<//>`}
    ${data && !shown.length && html`<p class="hint">${asked.length ? "No question has these words." : "What you ask is kept here until you delete it."}</p>`}
    <ul class="plain past">${shown.slice(0, 100).map(({ id, original_query, created_at }) => html`<li key=${id}>
      <a href=${buildAddress(`/rag/ask/${id}`)} aria-current=${location.pathname === `/rag/ask/${id}` ? "page" : null}>${original_query}</a>
      <span class="between"><span class="hint"><${Time} at=${created_at} /></span>
        <${ConfirmButton} label="Delete" name="Delete “${original_query}”" title="Delete this answer?" work=${() => remove(id)}><p>The question, its answer and your comment on it are deleted for good.</p><//></span></li>`)}</ul>
  </div>`;
}
