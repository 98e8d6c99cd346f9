// The documents of a workflow: found by a word, opened, deleted, brought back, erased.

import { address, get, send } from "../api.js";
import { Button, Chip, Empty, ErrorBox, Field, Loading, Page, Time, many, useAction, useLoad } from "../components.js";
import { Confirm } from "../confirm.js";
import { html, useState } from "../html.js";

export default function DocumentsPage({ query }) {
  const { data, error, reload } = useLoad(() => get("api/documents"));
  const [wanted, setWanted] = useState(query.get("filter") ?? "");
  const add = html`<a class="button primary" href=${`${address("/rag/admin")}#upload`}>Add a document</a>`;
  return html`<${Page} title="Documents" lead="What answers are made from. Open one to see its pages and passages." actions=${add}>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Looking for documents" />`}
    ${data && data.documents.length + data.deleted.length === 0 && html`
      <${Empty} title="There are no documents in this workflow"><p>Send one on the admin page, or with <code>rag index</code>.</p><//>`}
    ${data && data.documents.length + data.deleted.length > 0 && html`<div class="stack">
      <${Field} label="Filter" hint=${told(data.documents, wanted)}>${(named) => html`
        <input ...${named} type="search" value=${wanted} onInput=${(event) => setWanted(event.target.value)}
          placeholder="a word of a title, a source or a value" />`}<//>
      <${Present} documents=${data.documents.filter(has(wanted))} reload=${reload} />
      <${Deleted} documents=${data.deleted.filter(has(wanted))} reload=${reload} />
    </div>`}
  <//>`;
}

const told = (documents, wanted) =>
  wanted ? `${documents.filter(has(wanted)).length} of ${many(documents.length, "document")}` : many(documents.length, "document");

/** Whether every word that is wanted stands somewhere in what is known of a document. */
function has(wanted) {
  const words = wanted.toLowerCase().split(/\s+/);
  return (document) => {
    const known = [document.title, document.source, document.document_id, document.extractor, JSON.stringify(document.metadata)];
    const text = known.join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

function Present({ documents, reload }) {
  if (!documents.length) return html`<${Empty} title="No document has these words" />`;
  return html`<div class="card table"><table class="cards">
    <thead><tr><th scope="col">Document</th><th scope="col">Read as</th><th scope="col" class="numeric">Pages</th>
      <th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
    <tbody>${documents.map((document) => html`<tr key=${document.document_id}>
      <th scope="row"><${Known} document=${document} /></th>
      <td><${Chip}>${document.extractor}<//>${!document.kept && html` <${Chip} tone="warn" title="its bytes were not kept: its passages are shown, not its pages">no original<//>`}</td>
      <td class="numeric">${document.pages ? many(document.pages, "page") : html`<span class="muted">no pages</span>`}</td>
      <td><${Delete} document=${document} reload=${reload} /></td>
    </tr>`)}</tbody>
  </table></div>`;
}

function Known({ document }) {
  const values = Object.entries(document.metadata ?? {});
  return html`<a href=${address(`/rag/documents/${encodeURIComponent(document.document_id)}`)}>${document.title || document.document_id}</a>
    <p class="hint">${document.source}</p>
    ${values.length > 0 && html`<p class="chips">${values.map(([name, value]) => html`<${Chip}>${name}: ${String(value)}<//>`)}</p>`}`;
}

const named = (document) => document.title || document.document_id;

function Delete({ document, reload }) {
  const work = async () => {
    await send("POST", "api/delete_document", { document_id: document.document_id });
    await reload();
  };
  return html`<${Confirm} label="Delete" name="Delete ${named(document)}" title="Delete this document?" work=${work}>
    <p>“${named(document)}” will be in no result, answer or graph any more. It can be restored until it is erased.</p>
  <//>`;
}

function Deleted({ documents, reload }) {
  if (!documents.length) return null;
  return html`<section class="stack tight" aria-labelledby="deleted">
    <h2 id="deleted">Deleted</h2>
    <div class="card table"><table class="cards">
      <thead><tr><th scope="col">Document</th><th scope="col">Deleted</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
      <tbody>${documents.map((document) => html`<tr key=${document.document_id}>
        <th scope="row">${named(document)}<p class="hint">${document.source}</p></th>
        <td><${Time} at=${document.deleted_at} /></td>
        <td><div class="actions"><${Restore} document=${document} reload=${reload} /><${Purge} document=${document} reload=${reload} /></div></td>
      </tr>`)}</tbody>
    </table></div>
  </section>`;
}

function Restore({ document, reload }) {
  const { busy, error, act } = useAction();
  const restore = () =>
    act("restore", async () => {
      await send("POST", "api/restore_document", { document_id: document.document_id });
      await reload();
    });
  return html`<${Button} kind="quiet" busy=${busy !== null} aria-label="Restore ${named(document)}" onClick=${restore}>Restore<//>
    ${error && html`<${ErrorBox} error=${error} />`}`;
}

function Purge({ document, reload }) {
  const work = async () => {
    await send("POST", "api/delete_document", { document_id: document.document_id, purge: true });
    await reload();
  };
  return html`<${Confirm} label="Erase" name="Erase ${named(document)}" title="Erase this document for good?" work=${work}>
    <p>The text, the vectors and the original of “${named(document)}” will be gone. This cannot be taken back.</p>
  <//>`;
}
