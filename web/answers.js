// An answer with the verdict and the sources of each of its sentences.

import { buildAddress, getJson, sendJson } from "./api.js";
import { Chip, CopyButton, ErrorBox, formatCount, Loading, RunNotices, Time, useLoad } from "./components.js";
import { Origin } from "./evidence.js";
import { html, useEffect, useRef } from "./html.js";

/** The latest answer to a query, with a link to all its results. A new answer is scrolled into view. */
export function LatestAnswer({ query }) {
  const latest = useLoad(() => (query.results_count ? loadLatestResult(query.id) : null), [query.id, query.results_count]);
  const result = latest.data;
  const section = useRef();
  const shownCount = useRef(query.results_count);
  useEffect(() => {
    if (result && query.results_count > shownCount.current) section.current.scrollIntoView({ block: "nearest" });
    if (result) shownCount.current = query.results_count;
  }, [result]);
  if (latest.error) return html`<${ErrorBox} error=${latest.error} retry=${latest.reload} />`;
  return result && html`<section class="stack tight latest-answer" aria-labelledby="latest-answer" ref=${section}>
    <div class="between"><h3 id="latest-answer">Latest answer</h3>
      <a href=${buildAddress(`/rag/${query.id}/results`)}>${formatCount(query.results_count, "result")}</a></div>
    <${Author} result=${result} />
    <${VerifiedText} key=${result.id} text=${result.response_text} claims=${result.details.claims ?? result.details.reply?.claims} />
  </section>`;
}

async function loadLatestResult(id) {
  const { results } = await getJson(`rag/queries/${id}/results`);
  return getJson(`rag/queries/${id}/results/${results[0].id}`);
}

export function Author({ result }) {
  return html`<p class="hint">${result.model ? `Model: ${result.model}` : "Pasted response"} · <${Time} at=${result.created_at} /></p>`;
}

export const VERDICTS = {
  verified: ["good", "verified"],
  partial: ["warn", "partially supported"],
  unsupported: ["bad", "not supported"],
};

/** A text with the verdict of each sentence; it is verified now unless `claims` were saved with it. */
export function VerifiedText({ text, claims }) {
  return claims ? html`<${Verdicts} text=${text} claims=${claims} />` : html`<${TextToVerify} text=${text} />`;
}

function TextToVerify({ text }) {
  const verification = useLoad(() => sendJson("POST", "api/extract_citations", { text }), [text]);
  return html`<${Verdicts} text=${text} claims=${verification.data?.claims ?? []} />
    ${verification.loading && html`<${Loading} what="Verifying each sentence against the documents" />`}
    ${verification.error && html`<${ErrorBox} error=${verification.error} retry=${verification.reload} />`}
    ${verification.data && html`<${RunNotices} ...${verification.data} />`}`;
}

function Verdicts({ text, claims }) {
  const citationsByNumber = new Map(claims.flatMap((claim) => claim.citations).map((citation) => [citation.number, citation]));
  return html`
    <div class="answer"><p class="prose">${markSentences(text, claims)}</p><${CopyButton} text=${text}>Copy answer<//></div>
    ${claims.length > 0 && html`<${VerdictCounts} claims=${claims} />`}
    <${UnverifiedClaims} claims=${claims} />
    ${citationsByNumber.size > 0 && html`<ol class="plain sources">${[...citationsByNumber.values()].map((citation) => html`<${Source} citation=${citation} />`)}</ol>`}`;
}

/** Return the pieces of the text: sentences with their marks, and the text between them unchanged. */
function markSentences(text, claims) {
  const characters = [...text]; // claims count characters, JavaScript strings count UTF-16 code units
  let position = 0;
  const pieces = [];
  for (const [index, claim] of claims.entries()) {
    pieces.push(characters.slice(position, claim.start).join(""), html`<${Sentence} claim=${claim} index=${index} />`);
    position = claim.end;
  }
  return [...pieces, characters.slice(position).join("")];
}

function Sentence({ claim, index }) {
  const [, verdict] = VERDICTS[claim.verdict];
  const title = [verdict, explain(claim)].filter(Boolean).join(": ");
  return html`<span class="sentence ${claim.verdict}" title=${title}>${claim.text}<span class="visually-hidden"> (${verdict})</span></span>
    ${claim.verdict !== "verified" && html`<sup><a href="#why-${index}" aria-label="Why this sentence is ${verdict}">?</a></sup>`}
    ${claim.citations.map(({ number }) => html`<sup><a href="#source-${number}" aria-label="Source ${number}">${number}</a></sup>`)}`;
}

function VerdictCounts({ claims }) {
  return html`<p class="chips">${Object.entries(VERDICTS).map(([name, [tone, verdict]]) => {
    const count = claims.filter((claim) => claim.verdict === name).length;
    return count > 0 && html`<${Chip} tone=${tone}>${formatCount(count, "sentence")} ${verdict}<//>`;
  })}</p>`;
}

/** Return why a claim is not verified; one that was saved by an earlier version has its reasons only. */
export const explain = (claim) => claim.explanation ?? claim.reasons.join("; ");

/** The sentences that are not verified, each with the reason and the nearest words of the documents. */
function UnverifiedClaims({ claims }) {
  if (claims.every((claim) => claim.verdict === "verified")) return null;
  return html`<div><p class="hint" id="unverified">Sentences that are not verified</p>
    <ol class="plain sources" aria-labelledby="unverified">${claims.map((claim, index) =>
      claim.verdict !== "verified" && html`<${UnverifiedClaim} claim=${claim} index=${index} />`)}</ol></div>`;
}

function UnverifiedClaim({ claim, index }) {
  const [tone, verdict] = VERDICTS[claim.verdict];
  const nearest = claim.nearest ?? claim.citations[0]?.quote;
  return html`<li id="why-${index}" class="source">
    <span class="rank" aria-hidden="true">?</span>
    <div><p>${claim.text}</p>
      ${explain(claim) && html`<p class="hint"><b>Why:</b> ${explain(claim)}.</p>`}
      ${nearest && html`<p class="hint"><b>Nearest words:</b></p><blockquote>${nearest}</blockquote>`}</div>
    <${Chip} tone=${tone}>${verdict}<//>
  </li>`;
}

function Source({ citation }) {
  const [tone, verdict] = VERDICTS[citation.verdict];
  return html`<li id="source-${citation.number}" class="source">
    <span class="rank">${citation.number}</span>
    <div><${Origin} passage=${citation} section=${citation.section} />
      <blockquote>${citation.quote}</blockquote></div>
    <${Chip} tone=${tone}>${verdict}<//>
  </li>`;
}
