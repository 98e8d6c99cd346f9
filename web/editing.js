// The fields of a question, shown and edited: what an edit takes back is said before it is saved (S0-18).

import { send } from "./api.js";
import { Button, Chip, ErrorBox, Field, useAction } from "./components.js";
import { Excerpt } from "./evidence.js";
import { html, useEffect, useRef, useState } from "./html.js";

/** What the expansion gave. `replace` is given the question as the edit left it. */
export function Expanded({ query, replace, reload }) {
  const [editing, setEditing] = useState(false);
  const opener = useRef();
  const opened = useRef(false);
  useEffect(() => {
    if (opened.current && !editing) opener.current.focus();
    opened.current = editing;
  }, [editing]);
  const saved = (changed) => {
    replace(changed);
    setEditing(false);
  };
  if (editing) return html`<${Editor} query=${query} saved=${saved} reload=${reload} stop=${() => setEditing(false)} />`;
  return html`
    <dl class="facts">
      <dt>Question</dt><dd>${query.original_query}</dd>
      <dt>Rewordings</dt><dd>${query.expanded_queries.length ? html`<ul class="plain">${query.expanded_queries.map((one) => html`<li>${one}</li>`)}</ul>` : none}</dd>
      <dt>Imagined answer</dt><dd>${query.hyde_answer ? html`<${Excerpt} text=${query.hyde_answer} />` : none}</dd>
      <dt>Intent</dt><dd>${query.intent ? html`<${Chip} tone="next">${query.intent}<//>` : none}</dd>
      <dt>Entities</dt><dd>${query.entities.length ? html`<span class="chips">${query.entities.map((one) => html`<${Chip}>${one}<//>`)}</span>` : none}</dd>
    </dl>
    <div><button type="button" class="quiet" ref=${opener} onClick=${() => setEditing(true)}>Edit these fields</button></div>`;
}

const none = html`<span class="muted">none</span>`;
const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function Editor({ query, saved, reload, stop }) {
  const saving = useAction();
  const first = useRef();
  useEffect(() => first.current.focus(), []);
  const [draft, setDraft] = useState({
    original_query: query.original_query,
    expanded_queries: query.expanded_queries.join("\n"),
    hyde_answer: query.hyde_answer,
    intent: query.intent,
    entities: query.entities.join("\n"),
  });
  const changes = changed(query, draft);
  const lost = takenBack(query, changes);
  const anew = query.vector_status === "vec_err" && embeds(changes);
  const bind = (name) => ({ value: draft[name], onInput: (event) => setDraft({ ...draft, [name]: event.target.value }) });
  const save = async (event) => {
    event.preventDefault();
    const reply = await saving.act("save", () => send("PATCH", `rag/queries/${query.id}`, changes));
    if (reply) saved(reply);
  };
  const again = saving.error?.code === "query_changed" ? () => (stop(), reload()) : null;
  return html`<form class="stack" onSubmit=${save}>
    <${Field} label="Question">${(its) => html`<textarea ...${its} ref=${first} rows="2" required ...${bind("original_query")}></textarea>`}<//>
    <${Field} label="Rewordings" hint="One a line.">${(its) => html`<textarea ...${its} rows="3" ...${bind("expanded_queries")}></textarea>`}<//>
    <${Field} label="Imagined answer">${(its) => html`<textarea ...${its} rows="4" ...${bind("hyde_answer")}></textarea>`}<//>
    <${Field} label="Intent" hint="DEFINITION, MECHANISM, … as the prompt names them.">${(its) => html`<input ...${its} maxlength="50" ...${bind("intent")} />`}<//>
    <${Field} label="Entities" hint="One a line.">${(its) => html`<textarea ...${its} rows="3" ...${bind("entities")}></textarea>`}<//>
    <p class=${lost ? "note" : "hint"} role="status">${lost ? `Saving takes back ${lost}: those steps are to be taken again.` : anew ? "The embedding that failed can be tried again with these words." : "Nothing that was done depends on this change."}</p>
    ${saving.error && html`<${ErrorBox} error=${saving.error} retry=${again} />`}
    <div class="actions">
      <${Button} kind="primary" type="submit" busy=${saving.busy !== null} disabled=${!Object.keys(changes).length || !draft.original_query.trim()}>Save changes<//>
      <${Button} onClick=${stop}>Cancel<//>
    </div>
  </form>`;
}

/** The fields that the draft has otherwise, as PATCH wants them. */
function changed(query, draft) {
  const given = {
    original_query: draft.original_query.trim(),
    expanded_queries: lines(draft.expanded_queries),
    hyde_answer: draft.hyde_answer,
    intent: draft.intent.trim(),
    entities: lines(draft.entities),
  };
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(query[name])));
}

const EMBEDDED = ["original_query", "expanded_queries", "hyde_answer"];
const embeds = (changes) => EMBEDDED.some((name) => name in changes);

/** What these changes take back of what was done, in words; "" for nothing. */
function takenBack(query, changes) {
  if (!Object.keys(changes).length) return "";
  const vectors = embeds(changes) && query.vector_status === "vec";
  return [vectors && "the embeddings", query.has_retrieved_context && "the retrieved passages", query.has_clean_context && "the consolidated groups"]
    .filter(Boolean)
    .join(", ")
    .replace(/, ([^,]*)$/, " and $1");
}
