// /rag/documents: the documents of a workflow, filtered, opened, deleted, restored and purged.

import { buildAddress, getJson, sendJson } from "../api.js";
import { Button, Chip, Empty, ErrorBox, Field, Loading, Page, Time, formatCount, useAction, useLoad } from "../components.js";
import { ConfirmButton } from "../confirm.js";
import { html, useState } from "../html.js";

export default function DocumentsPage({ query }) {
  const { data, error, reload } = useLoad(() => getJson("api/documents"));
  const [filter, setFilter] = useState(query.get("filter") ?? "");
  const addLink = html`<a class="button primary" href=${`${buildAddress("/rag/admin")}#upload`}>Add a document</a>`;
  return html`<${Page} title="Documents" lead="The documents of this workflow. Open a document to see its pages and passages." actions=${addLink}>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Loading the documents" />`}
    ${data && data.documents.length + data.deleted.length === 0 && html`
      <${Empty} title="There are no documents in this workflow"><p>Add a document on the admin page or with <code>rag index</code>.</p><//>`}
    ${data && data.documents.length + data.deleted.length > 0 && html`<div class="stack">
      <${Field} label="Filter" hint=${describeCount(data.documents, filter)}>${(attributes) => html`
        <input ...${attributes} type="search" value=${filter} onInput=${(event) => setFilter(event.target.value)}
          placeholder="words in the title, source or metadata" />`}<//>
      <${DocumentTable} documents=${data.documents.filter(createMatcher(filter))} reload=${reload} />
      <${DeletedDocuments} documents=${data.deleted.filter(createMatcher(filter))} reload=${reload} />
    </div>`}
  <//>`;
}

const describeCount = (documents, filter) =>
  filter ? `${documents.filter(createMatcher(filter)).length} of ${formatCount(documents.length, "document")}` : formatCount(documents.length, "document");

/** Return a predicate for the documents that contain every word of the filter in their title, source, id, extractor or metadata. */
function createMatcher(filter) {
  const words = filter.toLowerCase().split(/\s+/);
  return (document) => {
    const fields = [document.title, document.source, document.document_id, document.extractor, JSON.stringify(document.metadata)];
    const text = fields.join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
}

function DocumentTable({ documents, reload }) {
  if (!documents.length) return html`<${Empty} title="No document matches the filter" />`;
  return html`<div class="card table"><table class="cards">
    <thead><tr><th scope="col">Document</th><th scope="col">Extractor</th><th scope="col" class="numeric">Pages</th>
      <th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
    <tbody>${documents.map((document) => html`<tr key=${document.document_id}>
      <th scope="row"><${DocumentTitle} document=${document} /></th>
      <td><${Chip}>${document.extractor}<//>${!document.kept && html` <${Chip} tone="warn" title="The original was not stored: the document page shows passages instead of pages.">no original<//>`}</td>
      <td class="numeric">${document.pages ? formatCount(document.pages, "page") : html`<span class="muted">no pages</span>`}</td>
      <td><${DeleteButton} document=${document} reload=${reload} /></td>
    </tr>`)}</tbody>
  </table></div>`;
}

function DocumentTitle({ document }) {
  const metadata = Object.entries(document.metadata ?? {});
  return html`<a href=${buildAddress(`/rag/documents/${encodeURIComponent(document.document_id)}`)}>${document.title || document.document_id}</a>
    <p class="hint">${document.source}</p>
    ${metadata.length > 0 && html`<p class="chips">${metadata.map(([name, value]) => html`<${Chip}>${name}: ${String(value)}<//>`)}</p>`}`;
}

const getTitle = (document) => document.title || document.document_id;

function DeleteButton({ document, reload }) {
  const deleteDocument = async () => {
    await sendJson("POST", "api/delete_document", { document_id: document.document_id });
    await reload();
  };
  return html`<${ConfirmButton} label="Delete" name="Delete ${getTitle(document)}" title="Delete this document?" work=${deleteDocument}>
    <p>“${getTitle(document)}” will no longer appear in results, answers or the graph. You can restore it until it is purged.</p>
  <//>`;
}

function DeletedDocuments({ documents, reload }) {
  if (!documents.length) return null;
  return html`<section class="stack tight" aria-labelledby="deleted">
    <h2 id="deleted">Deleted</h2>
    <div class="card table"><table class="cards">
      <thead><tr><th scope="col">Document</th><th scope="col">Deleted</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
      <tbody>${documents.map((document) => html`<tr key=${document.document_id}>
        <th scope="row">${getTitle(document)}<p class="hint">${document.source}</p></th>
        <td><${Time} at=${document.deleted_at} /></td>
        <td><div class="actions"><${RestoreButton} document=${document} reload=${reload} /><${PurgeButton} document=${document} reload=${reload} /></div></td>
      </tr>`)}</tbody>
    </table></div>
  </section>`;
}

function RestoreButton({ document, reload }) {
  const { busy, error, act } = useAction();
  const restore = () =>
    act("restore", async () => {
      await sendJson("POST", "api/restore_document", { document_id: document.document_id });
      await reload();
    });
  return html`<${Button} kind="quiet" busy=${busy !== null} aria-label="Restore ${getTitle(document)}" onClick=${restore}>Restore<//>
    ${error && html`<${ErrorBox} error=${error} />`}`;
}

function PurgeButton({ document, reload }) {
  const purge = async () => {
    await sendJson("POST", "api/delete_document", { document_id: document.document_id, purge: true });
    await reload();
  };
  return html`<${ConfirmButton} label="Purge" name="Purge ${getTitle(document)}" title="Purge this document?" work=${purge}>
    <p>This deletes the text, the embeddings and the original of “${getTitle(document)}” for good. A purged document cannot be restored.</p>
  <//>`;
}
