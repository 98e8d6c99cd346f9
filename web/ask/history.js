// The questions that were asked before, searched and deleted.

import { buildAddress, getJson, sendJson } from "../api.js";
import { Button, ErrorBox, Field, formatCount, Time, useAction, useLoad } from "../components.js";
import { ConfirmButton } from "../confirm.js";
import { saveFile } from "../files.js";
import { html, useState } from "../html.js";

const NEWEST = 500; // saved queries among which is searched

/** The saved answers, newest first. `version` changes when there is a new one, `forget(id)` is told of one that is gone. */
export function History({ version, forget }) {
  const { data, error, reload } = useLoad(() => getJson("rag/queries", { limit: NEWEST }), [version]);
  const [words, setWords] = useState(null); // not a text before one was searched for: the box stays while it is used
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  const asked = (data?.queries ?? []).filter(({ origin }) => origin === "ask");
  const wanted = (words ?? "").toLowerCase().split(/\s+/);
  const shown = asked.filter(({ original_query }) => wanted.every((word) => original_query.toLowerCase().includes(word)));
  const remove = async (id) => {
    await sendJson("DELETE", `rag/queries/${id}`);
    forget(id);
    await reload();
  };
  return html`<div class="stack tight">
    ${(asked.length > 5 || words !== null) && html`<${Field} label="Search the history">${(attributes) => html`<input ...${attributes} type="search" value=${words ?? ""} onInput=${(event) => setWords(event.target.value)} />`}<//>`}
    ${data && !shown.length && html`<p class="hint">${asked.length ? "No question has these words." : "What you ask is kept here until you delete it."}</p>`}
    <ul class="plain past">${shown.slice(0, 100).map(({ id, original_query, created_at }) => html`<li key=${id}>
      <a href=${buildAddress(`/rag/ask/${id}`)} aria-current=${location.pathname === `/rag/ask/${id}` ? "page" : null}>${original_query}</a>
      <span class="between"><span class="hint"><${Time} at=${created_at} /></span>
        <${ConfirmButton} label="Delete" name="Delete “${original_query}”" title="Delete this answer?" work=${() => remove(id)}><p>The question, its answer and your comment on it are deleted for good.</p><//></span></li>`)}</ul>
    ${asked.length > 0 && html`<${RatingsButton} />`}
  </div>`;
}

const MOST_RATINGS = 1000; // of one request

/** A button that saves the rated answers as the file that `rag eval answers` reads. */
function RatingsButton() {
  const { busy, error, act } = useAction();
  const [note, setNote] = useState("");
  const download = () =>
    act("ratings", async () => {
      const { answers, left_out } = await getJson("rag/ratings", { limit: MOST_RATINGS });
      if (answers.length) saveFile(answers.map((row) => `${JSON.stringify(row)}\n`).join(""), "text/plain", "rated-answers.jsonl");
      const refusals = left_out ? ` ${formatCount(left_out, "rated refusal")} left out.` : "";
      setNote(`${answers.length ? formatCount(answers.length, "rated answer") + " saved." : "No answer has been rated yet."}${refusals}`);
    });
  return html`<div class="actions"><${Button} kind="quiet" busy=${busy !== null} onClick=${download} title="Question, passages, answer and rating, one answer a line: for rag eval answers">Save rated answers<//>
    <span role="status" class="hint">${note}</span></div>${error && html`<${ErrorBox} error=${error} />`}`;
}
