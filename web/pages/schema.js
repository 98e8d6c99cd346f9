// /rag/schema: what of a database a question needs, as boxes of tables that joins connect, and as DDL to copy.

import { buildAddress, sendJson } from "../api.js";
import { Chip, CopyButton, Empty, ErrorBox, Field, Loading, Page, Time, buildSourceAddress, formatCount, formatUsd, useLoad } from "../components.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { buildColumnKey, traceJoins } from "../joins.js";

export default function SchemaPage({ query }) {
  const asked = { question: query.get("question"), database: query.get("database") };
  return html`<${Page} title="Schema" lead="What of a database a question needs: tables, columns, joins, values and rules, for who writes its SQL.">
    <div class="stack">
      <${QuestionForm} asked=${asked} />
      ${asked.question ? html`<${LinkedQuestion} asked=${asked} />` : html`
        <${Empty} title="Ask what you would ask of the data"><p>A database is added to this workflow by <code>rag index --database URL</code>.</p><//>`}
    </div>
  <//>`;
}

/** The form for the question, which is put in the address so that what it needs can be shared as a link. */
function QuestionForm({ asked }) {
  const submit = (event) => {
    event.preventDefault();
    location.assign(buildAddress("/rag/schema", Object.fromEntries(new FormData(event.target))));
  };
  return html`<form class="card schema-form" onSubmit=${submit} aria-label="What is asked">
    <${Field} label="Question">${(attributes) => html`<input ...${attributes} name="question" required maxlength="8000" defaultValue=${asked.question ?? ""}
      placeholder="What is the average height of villains with blue eyes?" />`}<//>
    <${Field} label="Database">${(attributes) => html`<input ...${attributes} name="database" maxlength="500" defaultValue=${asked.database ?? ""} placeholder="the only one" />`}<//>
    <button class="primary">Link</button>
  </form>`;
}

function LinkedQuestion({ asked }) {
  const { data, error, reload } = useLoad(() => sendJson("POST", "api/link_schema", { query: asked.question, ...(asked.database ? { database: asked.database } : {}) }));
  if (error) return html`<${ErrorBox} error=${error} retry=${reload} />`;
  if (!data) return html`<${Loading} what="Linking the question" />`;
  return html`
    <${OpenPoints} links=${data} />
    <${TableDrawing} links=${data} />
    <div class="columns">
      <${JoinList} joins=${data.joins} />
      <${ValueList} matches=${data.value_matches} />
    </div>
    <${Ddl} links=${data} />
    <${RuleList} rules=${data.rules} />
    <${PastQuestionList} questions=${data.past_questions} />`;
}

// What the question leaves open

function OpenPoints({ links }) {
  return html`
    ${links.degraded.length > 0 && html`<ul class="note plain">${links.degraded.map(({ step, fallback }) => html`<li>The step ${step} failed: ${fallback}.</li>`)}</ul>`}
    ${links.not_in_schema && html`<p class="note" role="status">This schema has nothing near to the question: the chance that it answers it is ${links.answerable.toFixed(2)}.</p>`}
    ${links.unknown_words.length > 0 && html`<p class="note" role="status">Nothing in this database, its values or the rules accounts for ${links.unknown_words.map((word, index) => html`${index > 0 && ", "}<b>${word}</b>`)}.
      The SQL may answer another question.</p>`}
    ${links.choices.length > 0 && html`<section class="card stack tight" aria-labelledby="choices">
      <h2 id="choices">Left open</h2>
      <ul class="plain stack tight">${links.choices.map(({ words, options }) => html`<li>“${words}” may mean <span class="chips">${options.map((option) => html`
        <${Chip} tone="warn">${option.condition ?? `${option.table}.${option.column}`}<//>`)}</span></li>`)}</ul>
    </section>`}`;
}

// The drawing

const describeInferred = (share) => (share ? `inferred: ${Math.round(100 * share)} % of the values match` : "inferred from names");
const describeJoin = ({ match_share }) => (match_share === null ? "declared" : describeInferred(match_share));

function TableDrawing({ links }) {
  const frame = useRef();
  const [lines, setLines] = useState([]);
  useEffect(() => {
    const trace = () => setLines(traceJoins(links.joins, frame.current));
    const observer = new ResizeObserver(trace);
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, [links]);
  const size = `${formatCount(links.tables.length, "table")} and ${formatCount(links.columns.length, "column")} of ${links.database}`;
  return html`<figure class="card schema" aria-label=${size}>
    <div class="tables" ref=${frame}>
      <svg aria-hidden="true">${lines.map(({ index, join, d }) => html`<path key=${index} class=${join.match_share === null ? "" : "inferred"} d=${d} />`)}</svg>
      ${links.tables.map((table) => html`<${TableBox} key=${table.name} table=${table} links=${links} />`)}
    </div>
    <figcaption class="hint">${size}${links.schema_read_at && html`, read <${Time} at=${links.schema_read_at} />`}. A line joins two columns that are equal; a dashed one was inferred from names, types and values.</figcaption>
  </figure>`;
}

function TableBox({ table, links }) {
  const columns = links.columns.filter((column) => column.table === table.name);
  return html`<section class="table-box" data-box aria-label="Table ${table.name}">
    <h3>${table.name}</h3>
    <p class="hint">${table.reasons.join("; ")}</p>
    <ul class="plain">${columns.map((column) => html`<${ColumnRow} key=${column.column} column=${column} links=${links} />`)}</ul>
  </section>`;
}

function ColumnRow({ column, links }) {
  const refers = links.joins.some((join) => join.table === column.table && join.column === column.column);
  const matched = links.value_matches.filter((match) => match.table === column.table && match.column === column.column);
  return html`<li data-column=${buildColumnKey(column.table, column.column)} title=${column.description}>
    <span><b>${column.column}</b> <span class="muted">${[column.type, column.unit && `in ${column.unit}`].filter(Boolean).join(", ")}</span></span>
    <span class="chips">${column.primary_key && html`<${Chip} tone="next" title="A part of the primary key">key<//>`}
      ${refers && html`<${Chip} title="Refers to another table">refers<//>`}
      ${matched.map(({ value }) => html`<${Chip} tone="good" title="A value in the question">= ${value}<//>`)}</span>
  </li>`;
}

// The lists

function JoinList({ joins }) {
  if (!joins.length) return null;
  return html`<section class="card stack tight" aria-labelledby="joins"><h2 id="joins">Joins</h2>
    <ul class="plain stack tight">${joins.map((join) => html`<li><code>${join.table}.${join.column} = ${join.referenced_table}.${join.referenced_column}</code>
      ${" "}<${Chip} tone=${join.match_share === null ? "" : "pending"}>${describeJoin(join)}<//></li>`)}</ul></section>`;
}

function ValueList({ matches }) {
  if (!matches.length) return null;
  return html`<section class="card stack tight" aria-labelledby="values"><h2 id="values">Values in the question and its rules</h2>
    <ul class="plain stack tight">${matches.map(({ condition, by_rule }) => html`<li><code>${condition}</code>${by_rule && " (in a rule)"}</li>`)}</ul></section>`;
}

function Ddl({ links }) {
  const cost = links.cost_usd > 0 ? `, ${formatUsd(links.cost_usd)}` : "";
  return html`<section class="card stack tight" aria-labelledby="ddl">
    <div class="between"><h2 id="ddl">DDL <span class="hint">${formatCount(links.ddl_tokens, "token")}${cost}</span></h2><${CopyButton} text=${links.ddl}>Copy the DDL<//></div>
    <pre tabindex="0" aria-labelledby="ddl">${links.ddl}</pre>
    ${links.dropped.length > 0 && html`<p class="hint">Left out for want of room: ${links.dropped.join(", ")}</p>`}
  </section>`;
}

function RuleList({ rules }) {
  if (!rules.length) return null;
  return html`<section class="card stack tight" aria-labelledby="rules"><h2 id="rules">Rules</h2>
    <ol class="plain stack">${rules.map((rule) => html`<${Rule} rule=${rule} />`)}</ol></section>`;
}

function Rule({ rule }) {
  const { document_id, page, lines } = rule.metadata;
  return html`<li><h3><a href=${buildSourceAddress({ document_id, page, lines })}>${rule.title || document_id}</a>
      <span class="muted"> ${[page && `page ${page}`, lines && `lines ${lines[0]}–${lines[1]}`].filter(Boolean).join(", ")}</span></h3>
    <blockquote>${rule.content}</blockquote></li>`;
}

function PastQuestionList({ questions }) {
  if (!questions.length) return null;
  return html`<section class="card stack tight" aria-labelledby="past"><h2 id="past">Asked before</h2>
    <ul class="plain stack">${questions.map(({ question, sql }) => html`<li class="stack tight"><p>${question}</p><pre>${sql}</pre></li>`)}</ul></section>`;
}
