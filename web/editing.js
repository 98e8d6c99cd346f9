// The expansion fields of a saved query, shown and edited. Before an edit is saved, the page says which steps it discards (S0-18).

import { sendJson } from "./api.js";
import { Button, Chip, ErrorBox, Field, useAction } from "./components.js";
import { Excerpt } from "./evidence.js";
import { html, useEffect, useRef, useState } from "./html.js";

/** The expansion of a query. `replace` is called with the query as the edit left it. */
export function ExpansionFields({ query, replace, reload }) {
  const [editing, setEditing] = useState(false);
  const editButton = useRef();
  const wasEditing = useRef(false);
  useEffect(() => {
    if (wasEditing.current && !editing) editButton.current.focus();
    wasEditing.current = editing;
  }, [editing]);
  const acceptEdit = (editedQuery) => {
    replace(editedQuery);
    setEditing(false);
  };
  if (editing) return html`<${ExpansionForm} query=${query} acceptEdit=${acceptEdit} reload=${reload} cancel=${() => setEditing(false)} />`;
  return html`
    <dl class="facts">
      <dt>Query text</dt><dd>${query.original_query}</dd>
      <dt>Expanded queries</dt><dd>${query.expanded_queries.length ? html`<ul class="plain">${query.expanded_queries.map((text) => html`<li>${text}</li>`)}</ul>` : NONE}</dd>
      <dt>HyDE answer</dt><dd>${query.hyde_answer ? html`<${Excerpt} text=${query.hyde_answer} />` : NONE}</dd>
      <dt>Intent</dt><dd>${query.intent ? html`<${Chip} tone="next">${query.intent}<//>` : NONE}</dd>
      <dt>Entities</dt><dd>${query.entities.length ? html`<span class="chips">${query.entities.map((entity) => html`<${Chip}>${entity}<//>`)}</span>` : NONE}</dd>
    </dl>
    <div><button type="button" class="quiet" ref=${editButton} onClick=${() => setEditing(true)}>Edit these fields</button></div>`;
}

const NONE = html`<span class="muted">none</span>`;
const splitLines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function ExpansionForm({ query, acceptEdit, reload, cancel }) {
  const saving = useAction();
  const firstField = useRef();
  useEffect(() => firstField.current.focus(), []);
  const [draft, setDraft] = useState({
    original_query: query.original_query,
    expanded_queries: query.expanded_queries.join("\n"),
    hyde_answer: query.hyde_answer,
    intent: query.intent,
    entities: query.entities.join("\n"),
  });
  const changes = findChanges(query, draft);
  const bind = (name) => ({ value: draft[name], onInput: (event) => setDraft({ ...draft, [name]: event.target.value }) });
  const save = async (event) => {
    event.preventDefault();
    const reply = await saving.act("save", () => sendJson("PATCH", `rag/queries/${query.id}`, changes));
    if (reply) acceptEdit(reply);
  };
  const retry = saving.error?.code === "query_changed" ? () => (cancel(), reload()) : null;
  const discarded = listDiscardedResults(query, changes);
  return html`<form class="stack" onSubmit=${save}>
    <${Field} label="Query text">${(attributes) => html`<textarea ...${attributes} ref=${firstField} rows="2" required ...${bind("original_query")}></textarea>`}<//>
    <${Field} label="Expanded queries" hint="One per line.">${(attributes) => html`<textarea ...${attributes} rows="3" ...${bind("expanded_queries")}></textarea>`}<//>
    <${Field} label="HyDE answer">${(attributes) => html`<textarea ...${attributes} rows="4" ...${bind("hyde_answer")}></textarea>`}<//>
    <${Field} label="Intent" hint="One of the intents in the expansion prompt, such as DEFINITION or MECHANISM.">${(attributes) => html`<input ...${attributes} maxlength="50" ...${bind("intent")} />`}<//>
    <${Field} label="Entities" hint="One per line.">${(attributes) => html`<textarea ...${attributes} rows="3" ...${bind("entities")}></textarea>`}<//>
    <p class=${discarded ? "note" : "hint"} role="status">${describeEffect(query, changes, discarded)}</p>
    ${saving.error && html`<${ErrorBox} error=${saving.error} retry=${retry} />`}
    <div class="actions">
      <${Button} kind="primary" type="submit" busy=${saving.busy !== null} disabled=${!Object.keys(changes).length || !draft.original_query.trim()}>Save changes<//>
      <${Button} onClick=${cancel}>Cancel<//>
    </div>
  </form>`;
}

/** Return the fields in which the draft differs from the query, as the body of a PATCH request. */
function findChanges(query, draft) {
  const fields = {
    original_query: draft.original_query.trim(),
    expanded_queries: splitLines(draft.expanded_queries),
    hyde_answer: draft.hyde_answer,
    intent: draft.intent.trim(),
    entities: splitLines(draft.entities),
  };
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(query[name])));
}

const EMBEDDED_FIELDS = ["original_query", "expanded_queries", "hyde_answer"];
const hasEmbeddedField = (changes) => EMBEDDED_FIELDS.some((name) => name in changes);

/** Return the results of steps that these changes discard, as a phrase; "" for none. */
function listDiscardedResults(query, changes) {
  if (!Object.keys(changes).length) return "";
  const discardsEmbeddings = hasEmbeddedField(changes) && query.vector_status === "vec";
  return [discardsEmbeddings && "the embeddings", query.has_retrieved_context && "the retrieved passages", query.has_clean_context && "the consolidated groups"]
    .filter(Boolean)
    .join(", ")
    .replace(/, ([^,]*)$/, " and $1");
}

function describeEffect(query, changes, discarded) {
  if (discarded) return `Saving discards ${discarded}. Run those steps again afterwards.`;
  if (query.vector_status === "vec_err" && hasEmbeddedField(changes)) return "After saving you can retry the embedding that failed.";
  return "No completed step depends on these changes.";
}
