// /rag/documents: the documents of a workflow, added, filtered, previewed, opened, indexed anew, deleted, restored and purged.

import { buildAddress, getJson, sendJson } from "../api.js";
import { Button, Chip, Empty, ErrorBox, Field, Loading, Page, RunNotices, Time, focusPage, formatCount, formatPages, useAction, useLoad } from "../components.js";
import { ConfirmButton } from "../confirm.js";
import { EntityChips, listEntities } from "../document/entities.js";
import { loadDocument } from "../document/loading.js";
import { hasPageImages } from "../document/original.js";
import { html, useState } from "../html.js";
import { AddButtons, DropCover, reindexDocument, UploadList, useUploads } from "../uploads.js";

export default function DocumentsPage({ query }) {
  const { data, error, reload } = useLoad(() => getJson("api/documents"));
  const [filter, setFilter] = useState(query.get("filter") ?? "");
  const uploading = useUploads(reload);
  return html`<${Page} title="Documents" lead="The documents of this workflow. Open a document to see its pages and passages, or drop files here to add them." actions=${html`<${AddButtons} add=${uploading.add} kind="primary" />`}>
    <div class="stack"><${UploadList} ...${uploading} /></div>
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Loading the documents" />`}
    ${data && data.documents.length + data.deleted.length === 0 && html`
      <${Empty} title="There are no documents in this workflow"><p>Drop files or folders anywhere on this page, or add them with <code>rag index</code>.</p><//>`}
    ${data && data.documents.length + data.deleted.length > 0 && html`<div class="stack">
      <${Field} label="Filter" hint=${describeCount(data.documents, filter)}>${(attributes) => html`
        <input ...${attributes} type="search" value=${filter} onInput=${(event) => setFilter(event.target.value)}
          placeholder="words in the title, source or metadata" />`}<//>
      <${DocumentTable} documents=${data.documents.filter(createMatcher(filter))} reload=${reload} ask=${uploading.ask} />
      <${DeletedDocuments} documents=${data.deleted.filter(createMatcher(filter))} reload=${reload} />
    </div>`}
    <${DropCover} isOver=${uploading.isOver} />
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

function DocumentTable({ documents, reload, ask }) {
  if (!documents.length) return html`<${Empty} title="No document matches the filter" />`;
  return html`<div class="card table"><table class="cards">
    <thead><tr><th scope="col">Document</th><th scope="col">Format</th><th scope="col" class="numeric">Pages</th>
      <th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
    <tbody>${documents.map((document) => html`<tr key=${document.document_id}>
      <th scope="row"><${DocumentTitle} document=${document} /></th>
      <td><${Chip} title=${document.extractor}>${document.extractor.split(/[ ,]/)[0]}<//>${!document.kept && html` <${Chip} tone="warn" title="The original was not stored: the document page shows passages instead of pages.">no original<//>`}${document.outdated && html` <${Chip} title="An older version has read it. Re-index it, or add the file again, to have its entities and title found anew.">older reading<//>`}</td>
      <td class="numeric">${formatPages(document) || html`<span class="muted">no pages</span>`}</td>
      <td><div class="actions">${document.kept && html`<${ReindexButton} document=${document} reload=${reload} ask=${ask} />`}<${DeleteButton} document=${document} reload=${reload} /></div></td>
    </tr>`)}</tbody>
  </table></div>`;
}

function DocumentTitle({ document }) {
  const metadata = Object.entries(document.metadata ?? {});
  return html`<a href=${buildAddress(`/rag/documents/${encodeURIComponent(document.document_id)}`)}>${document.title || document.document_id}</a>
    <p class="hint">${document.source}</p>
    ${metadata.length > 0 && html`<p class="chips">${metadata.map(([name, value]) => html`<${Chip}>${name}: ${String(value)}<//>`)}</p>`}
    <${Preview} document=${document} />`;
}

/** What a document is about, loaded when it is unfolded: its summary, its most frequent entities and its first page. */
function Preview({ document }) {
  const [isOpen, setIsOpen] = useState(false);
  return html`<details onToggle=${(event) => setIsOpen(event.target.open)}><summary class="hint" aria-label="Preview of ${getTitle(document)}">Preview</summary>
    ${isOpen && html`<${PreviewContent} document_id=${document.document_id} />`}</details>`;
}

function PreviewContent({ document_id }) {
  const { data, error, reload } = useLoad(() => loadDocument(document_id));
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Loading the preview" />`;
  const entities = listEntities(data.chunks);
  return html`<div class="preview"><div class="stack tight">
      <p>${data.summary || data.chunks[0]?.content.slice(0, MAX_PREVIEW_CHARS) || "This document has no text."}</p>
      <p class="hint">${formatCount(data.chunks.length, "passage")}${data.warnings.some(({ code }) => code === "chunks_cut") && " or more"}</p>
      ${entities.length > 0 && html`<${EntityChips} entities=${entities} />`}</div>
    ${hasPageImages(data, 1) && html`<${FirstPage} document=${data} />`}</div>`;
}

const MAX_PREVIEW_CHARS = 400;

function FirstPage({ document }) {
  const { data } = useLoad(() => getJson("api/document_page", { document_id: document.document_id, page: 1 }));
  return data && html`<img src="data:image/png;base64,${data.image_base64}" width=${Math.round(data.width)} height=${Math.round(data.height)} alt="Page 1 of ${getTitle(document)}" />`;
}

function ReindexButton({ document, reload, ask }) {
  const { busy, error, act } = useAction();
  const [outcome, setOutcome] = useState({ message: "" });
  const isAgreed = document.extractor.includes("Document Intelligence"); // in the dialog below
  const reindex = () =>
    act("reindex", async () => {
      setOutcome({ message: "" });
      setOutcome(await reindexDocument(document, { isAgreed, ask }));
      await reload();
    });
  const told = html`<span class="hint" role="status">${outcome.message}</span><${RunNotices} degraded=${outcome.degraded} />${error && html`<${ErrorBox} error=${error} />`}`;
  if (isAgreed) {
    return html`<${ConfirmButton} label="Re-index" name="Re-index ${getTitle(document)}" title="Read this document again?" work=${reindex}>
      <p>What Document Intelligence has read of “${getTitle(document)}” (${formatPages(document) || "no page count"}) is sent to it again, and paid for by the page.</p>
    <//>${told}`;
  }
  return html`<${Button} kind="quiet" busy=${busy !== null} aria-label="Re-index ${getTitle(document)}" title="Read the original and index it anew" onClick=${reindex}>Re-index<//>
    ${told}`;
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
      focusPage(); // the row is gone
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
