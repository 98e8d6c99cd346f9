// An answer with what the documents say to each of its sentences.

import { address, get, send } from "./api.js";
import { Chip, Copy, ErrorBox, Fell, Loading, many, Time, useLoad } from "./components.js";
import { Origin } from "./evidence.js";
import { html, useEffect, useRef } from "./html.js";

/** The newest answer to a question, checked, and where the others are. One that comes is brought into view. */
export function Answers({ query }) {
  const newest = useLoad(() => (query.results_count ? newestOf(query.id) : null), [query.id, query.results_count]);
  const result = newest.data;
  const section = useRef();
  const seen = useRef(query.results_count);
  useEffect(() => {
    if (result && query.results_count > seen.current) section.current.scrollIntoView({ block: "nearest" });
    if (result) seen.current = query.results_count;
  }, [result]);
  if (newest.error) return html`<${ErrorBox} error=${newest.error} retry=${newest.reload} />`;
  return result && html`<section class="stack tight newest" aria-labelledby="newest" ref=${section}>
    <div class="between"><h3 id="newest">The newest answer</h3>
      <a href=${address(`/rag/${query.id}/results`)}>${many(query.results_count, "result")}</a></div>
    <${Author} result=${result} />
    <${Checked} key=${result.id} text=${result.response_text} claims=${result.details.claims} />
  </section>`;
}

async function newestOf(id) {
  const { results } = await get(`rag/queries/${id}/results`);
  return get(`rag/queries/${id}/results/${results[0].id}`);
}

export function Author({ result }) {
  return html`<p class="hint">${result.model ? `by ${result.model}` : "pasted by hand"} · <${Time} at=${result.created_at} /></p>`;
}

const VERDICTS = {
  verified: ["good", "verified"],
  partial: ["warn", "partly borne out"],
  unsupported: ["bad", "not borne out"],
};

/** A text, each sentence marked by whether the documents bear it out; asked for now where that was not kept with it. */
export function Checked({ text, claims }) {
  return claims ? html`<${Verdicts} text=${text} claims=${claims} />` : html`<${CheckedNow} text=${text} />`;
}

function CheckedNow({ text }) {
  const check = useLoad(() => send("POST", "api/extract_citations", { text }), [text]);
  return html`<${Verdicts} text=${text} claims=${check.data?.claims ?? []} />
    ${check.loading && html`<${Loading} what="Checking each sentence against the documents" />`}
    ${check.error && html`<${ErrorBox} error=${check.error} retry=${check.reload} />`}
    ${check.data && html`<${Fell} ...${check.data} />`}`;
}

function Verdicts({ text, claims }) {
  const sources = new Map(claims.flatMap((claim) => claim.citations).map((citation) => [citation.number, citation]));
  return html`
    <div class="answer"><p class="prose">${marked(text, claims)}</p><${Copy} text=${text}>Copy answer<//></div>
    ${claims.length > 0 && html`<${Tally} claims=${claims} />`}
    ${sources.size > 0 && html`<ol class="plain sources">${[...sources.values()].map((one) => html`<${Source} citation=${one} />`)}</ol>`}`;
}

/** The text in its pieces: sentences marked, what is between them as it stands. */
function marked(text, claims) {
  const characters = [...text]; // claims count characters, JavaScript's strings count halves of some
  let at = 0;
  const pieces = [];
  for (const claim of claims) {
    pieces.push(characters.slice(at, claim.start).join(""), html`<${Sentence} claim=${claim} />`);
    at = claim.end;
  }
  return [...pieces, characters.slice(at).join("")];
}

function Sentence({ claim }) {
  const [, told] = VERDICTS[claim.verdict];
  return html`<span class="sentence ${claim.verdict}" title=${[told, ...claim.reasons].join("; ")}>${claim.text}<span class="visually-hidden"> (${told})</span></span>
    ${claim.citations.map(({ number }) => html`<sup><a href="#source-${number}" aria-label="Source ${number}">${number}</a></sup>`)}`;
}

function Tally({ claims }) {
  return html`<p class="chips">${Object.entries(VERDICTS).map(([verdict, [tone, told]]) => {
    const count = claims.filter((claim) => claim.verdict === verdict).length;
    return count > 0 && html`<${Chip} tone=${tone}>${many(count, "sentence")} ${told}<//>`;
  })}</p>`;
}

function Source({ citation }) {
  const [tone, told] = VERDICTS[citation.verdict];
  return html`<li id="source-${citation.number}" class="source">
    <span class="rank">${citation.number}</span>
    <div><${Origin} passage=${citation} section=${citation.section} />
      <blockquote>${citation.quote}</blockquote></div>
    <${Chip} tone=${tone}>${told}<//>
  </li>`;
}
