// One answer of a conversation: its sentences with their verdicts and sources, what helps where it is unknown, and what can be done with it.

import { explain, VERDICTS } from "../answers.js";
import { buildAddress } from "../api.js";
import { Chip, CopyButton, ErrorBox, Loading, RunNotices } from "../components.js";
import { Excerpt, joinLines } from "../evidence.js";
import { html } from "../html.js";
import { formatName } from "../labels.js";
import { renderMarkdown } from "../markdown.js";
import { Feedback } from "./feedback.js";
import { buildMarkdown, describePlace, EvidenceButton, SaveButtons } from "./export.js";

/** A turn: {key, asked, steps, claims, text, reply, kept, feedback, error}; `show` opens a place beside the answer. */
export function Turn({ turn, number, show, ask, edit, reconsider }) {
  const { asked, reply, error } = turn;
  return html`<article class="turn" aria-labelledby="question-${turn.key}">
    <div class="asked"><h2 id="question-${turn.key}">${asked}</h2></div>
    ${reply && reply.question !== asked && html`<p class="hint understood">Understood as: “${reply.question}”
      <button type="button" class="quiet" onClick=${() => edit(reply.question)}>Edit</button></p>`}
    ${reply?.techniques.conversation && html`<p class="hint understood" title=${reply.techniques.conversation}>Read together with the questions before it.</p>`}
    <div class="card stack tight answered" aria-busy=${!reply && !error}>
      ${!reply && !error && html`<${Waiting} steps=${turn.steps} hasSentences=${turn.claims.length > 0} />`}
      ${error && html`<${ErrorBox} error=${error} retry=${() => ask(asked, turn.key)} />`}
      ${reply?.status === "unknown"
        ? html`<${Unknown} turn=${turn} show=${show} reconsider=${reconsider} />`
        : html`<${CheckedText} turn=${turn} text=${reply?.answer ?? turn.text} claims=${reply?.claims ?? turn.claims} show=${show} />`}
      ${reply && html`<${Footer} turn=${turn} number=${number} />`}
    </div>
  </article>`;
}

const PHASES = [
  ["verify", "Checking each sentence"], ["judge", "Checking each sentence"], ["answer", "Writing the answer"], ["extract", "Choosing the sentences that answer"],
  ["standalone_question", "Reading the conversation"],
];

function Waiting({ steps, hasSentences }) {
  const running = steps.at(-1);
  const [, phase] = PHASES.find(([name]) => name === running) ?? [];
  const what = phase ?? (running ? `Searching the documents (${formatName(running)})` : "Searching the documents");
  return html`<${Loading} what=${hasSentences ? "Checking the other sentences" : what} />`;
}

/** The text with the verdict of each sentence. Markdown is drawn as such; where its marks are lost the text stands as it is. */
function CheckedText({ turn, text, claims, show }) {
  if (!claims.length) return null;
  const drawClaim = (claim, index, part, isLast) => (isLast ? html`<${ClaimEnd} claim=${claim} index=${index} turn=${turn} show=${show} />` : html`<${ClaimPart} claim=${claim}>${part}<//>`);
  const elements = renderMarkdown(text, claims, drawClaim) ?? claims.map((claim, index) => html`<p>${drawClaim(claim, index, claim.text, false)}${drawClaim(claim, index, "", true)}</p>`);
  return html`<div class="answer-text" aria-live="polite">${elements}</div>
    <${Doubts} turn=${turn} claims=${claims} />
    <${Sources} claims=${claims} show=${show} />`;
}

function ClaimPart({ claim, children }) {
  const [, verdict] = VERDICTS[claim.verdict];
  return html`<span class="sentence ${claim.verdict}" title=${[verdict, explain(claim)].filter(Boolean).join(": ")}>${children}</span>`;
}

function ClaimEnd({ claim, index, turn, show }) {
  const [, verdict] = VERDICTS[claim.verdict];
  return html`<span class="visually-hidden"> (${verdict})</span>${claim.verdict !== "verified" && html`<sup><a class="cite doubt" href="#why-${turn.key}-${index}" aria-label="Why this sentence is ${verdict}">?</a></sup>`}${claim.citations.slice(0, MAX_MARKS).map(
    (citation) => html`<sup><button type="button" class="cite" aria-label="Source ${citation.number}: ${describePlace(citation)}" title=${describePlace(citation)}
      onClick=${(event) => show(citation, event.currentTarget)}>${citation.number}</button></sup>`,
  )}${claim.citations.length > MAX_MARKS && html` <span class="hint">and ${claim.citations.length - MAX_MARKS} more</span>`}`;
}

function Doubts({ turn, claims }) {
  if (claims.every((claim) => claim.verdict === "verified")) return null;
  return html`<ul class="plain doubts">${claims.map((claim, index) => claim.verdict !== "verified" && html`<li id="why-${turn.key}-${index}" tabindex="-1">
    <${Chip} tone=${VERDICTS[claim.verdict][0]}>${VERDICTS[claim.verdict][1]}<//> <span>“${shorten(claim.text)}” ${explain(claim) && html`<span class="muted">– ${explain(claim)}.</span>`}</span></li>`)}</ul>`;
}

const MAX_MARKS = 6; // of a sentence that is computed over many rows, the deciding ones first
const MAX_SOURCES = 8;
const MAX_QUOTED_CHARS = 90;
const shorten = (text) => (text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS).trimEnd()}…` : text);

/** The cited places, each once: a page that several sentences cite opens with the lines of all of them marked. */
function Sources({ claims, show }) {
  const citations = new Map(claims.flatMap((claim) => claim.citations).map((citation) => [citation.number, citation]));
  const places = Map.groupBy(citations.values(), (citation) => `${citation.document_id} ${describePlace(citation)}`);
  if (!places.size) return null;
  const [first, others] = [[...places.values()].slice(0, MAX_SOURCES), [...places.values()].slice(MAX_SOURCES)];
  const name = (citation) => describePlace(citation) + nameTwin(citation, [...citations.values()]);
  return html`<${SourceList} label="Sources" places=${first} name=${name} show=${show} />
    ${others.length > 0 && html`<details><summary class="hint">${others.length} more sources</summary><${SourceList} label="More sources" places=${others} name=${name} show=${show} /></details>`}`;
}

function SourceList({ label, places, name, show }) {
  return html`<ul class="chips sources-row" aria-label=${label}>${places.map((cited) => html`<li>
    <button type="button" class="chip source-chip" onClick=${(event) => show(joinCitations(cited), event.currentTarget)}>
      <b>${cited.map(({ number }) => number).join(", ")}</b> ${name(cited[0])}</button></li>`)}</ul>`;
}

/** The file of a citation, where another document of the same title is cited as well: two versions of one policy. */
function nameTwin(citation, citations) {
  const file = citation.source?.split("/").pop();
  const hasTwin = citations.some(({ title, document_id: id }) => title === citation.title && id !== citation.document_id);
  return hasTwin && file ? ` (${file})` : "";
}

const joinCitations = (cited) => ({ ...cited[0], boxes: cited.flatMap(({ boxes }) => boxes), quote: cited.map(({ quote }) => quote).join(" […] ") });

/** What an answer that is not known says: what was not found, the nearest passages, and what to try. */
function Unknown({ turn, show, reconsider }) {
  const { reply } = turn;
  const isEmpty = reply.warnings.some(({ code }) => code === "nothing_indexed");
  const unread = reply.warnings.find(({ code }) => code === "language_unread");
  return html`<div class="stack tight unknown">
    <p class="answer-text">${isEmpty ? "I don't know: this workflow holds no documents yet." : reply.answer}</p>
    ${unread && html`<p>${unread.message[0].toUpperCase()}${unread.message.slice(1)}.</p>`}
    ${reply.missing_words.length > 0 && !isEmpty && !unread && html`<p>Not found in the nearest passages: ${reply.missing_words.map((word) => html`<${Chip} tone="warn">${word}<//> `)}</p>`}
    ${reply.contexts.length > 0 && html`<section class="stack tight" aria-label="Nearest passages"><h3>Nearest passages</h3>
      <ol class="plain nearest">${reply.contexts.slice(0, 3).map((context) => html`<li>
        <button type="button" class="quiet place" onClick=${(event) => show(context, event.currentTarget)}>${describePlace(context)}</button><${Excerpt} text=${joinLines(context.content)} /></li>`)}</ol></section>`}
    <section class="stack tight" aria-label="What to try"><h3>What to try</h3><ul>
      ${isEmpty ? html`<li>Drop files anywhere on this page to add them.</li>` : html`<li>${unread ? "Ask in English, with the words that the documents use." : "Ask with the words that the documents use, or for one thing at a time."}</li>`}
      ${isNarrow(turn.scope) && html`<li>Only ${turn.scope.documents.length === 1 ? "one document was" : "some documents were"} asked.
        <button type="button" class="quiet" onClick=${() => reconsider(turn)}>Ask all documents</button></li>`}
      ${!isEmpty && html`<li>Add the document that says it: drop it anywhere on this page.</li>`}
    </ul></section>
  </div>`;
}

const isNarrow = (scope) => scope && (scope.documents.length > 0 || Object.keys(scope.filters).length > 0);

function Footer({ turn, number }) {
  const { reply, kept } = turn;
  return html`<div class="answer-footer">
      <${CopyButton} text=${buildMarkdown(turn)}>Copy<//>
      <${SaveButtons} turn=${turn} />
      ${kept && reply.citations.length > 0 && html`<${EvidenceButton} turn=${turn} />`}
      ${kept && html`<${CopyButton} text=${`${location.origin}${buildAddress(`/rag/ask/${kept}`)}`}>Copy link<//>
        <a class="button quiet" href=${buildAddress(`/rag/${kept}/inspect`)} aria-label="How was answer ${number} found?">How was this found?</a>
        <${Feedback} turn=${turn} />`}
    </div>
    <${Notices} reply=${reply} />`;
}

const SAID_OTHERWISE = ["nothing_indexed", "no_results"];

/** What was lesser than it should be. What the page says in other words, or once for all answers, is left out. */
function Notices({ reply }) {
  const warnings = reply.warnings.filter(({ code }) => !SAID_OTHERWISE.includes(code) && !(code === "language_unread" && reply.status === "unknown"));
  if (!reply.degraded.length && !warnings.length) return null;
  return html`<details class="notices-fold"><summary class="hint">Notes on this answer</summary><${RunNotices} degraded=${reply.degraded} warnings=${warnings} /></details>`;
}
