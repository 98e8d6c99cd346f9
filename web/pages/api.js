// /rag/api: the HTTP API as api/openapi.json describes it, each operation with its fields, an example, replies and errors.

import { getApiDescription } from "../api.js";
import { Chip, CopyButton, ErrorBox, Field, Loading, Page, useLoad } from "../components.js";
import { html, useEffect, useState } from "../html.js";

export default function ApiPage() {
  const { data, error, reload } = useLoad(() => getApiDescription());
  return html`<${Page} title="HTTP API" lead="All operations of this server, from its OpenAPI description.">
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Loading the API description" />`}
    ${data && html`<${OperationList} description=${data} />`}
  <//>`;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

function OperationList({ description }) {
  const [filter, setFilter] = useState("");
  const operations = listOperations(description);
  const shown = operations.filter(({ path, summary }) => `${path} ${summary}`.toLowerCase().includes(filter.toLowerCase()));
  useEffect(() => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView(), []); // the browser looked for it before it was rendered
  return html`<div class="stack">
    <p>Requests and replies are JSON. Operations marked <${Chip}>key<//> require the function key in the header <code>x-functions-key</code>.
      The machine-readable description is <a href="/api/openapi.json">api/openapi.json</a> (OpenAPI ${description.openapi}).</p>
    <${Field} label="Filter" hint="${shown.length} of ${operations.length} operations">${(attributes) => html`
      <input ...${attributes} type="search" value=${filter} onInput=${(event) => setFilter(event.target.value)} />`}<//>
    <nav aria-label="Operations"><ul class="plain operations">${shown.map(({ operationId: id, method, path }) => html`
      <li><span class="method" aria-hidden="true">${method}</span> <a href="#${id}">${path}</a></li>`)}</ul></nav>
    ${shown.map((operation) => html`<${Operation} key=${operation.operationId} operation=${operation} schemas=${description.components.schemas} />`)}
  </div>`;
}

const listOperations = ({ paths }) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => ({ path, method: method.toUpperCase(), ...methods[method] })),
  );

function Operation({ operation, schemas }) {
  const { operationId: id, method, path, summary, security = [], responses } = operation;
  const body = operation.requestBody?.content["application/json"];
  const fields = body ? listFields(body.schema, schemas) : (operation.parameters ?? []).map(describeParameter);
  const curl = buildCurlCommand(operation, body?.example);
  const replies = Object.entries(responses).filter(([status]) => status < 300);
  const errors = Object.entries(responses).filter(([status]) => status >= 300);
  return html`<article class="card stack operation" id=${id} aria-labelledby="${id}-title">
    <div class="between"><h2 id="${id}-title"><span class="method">${method}</span> <code>${path}</code></h2>
      <span class="chips">${security.length > 0 && html`<${Chip}>key<//>`}<a class="hint" href="#${id}">${id}</a></span></div>
    <p>${summary}</p>
    ${fields.length > 0 && html`<${FieldTable} fields=${fields} label="Fields of ${id}" />`}
    <div class="stack tight"><div class="between"><h3>Example</h3><${CopyButton} text=${curl}>Copy the example<//></div><pre tabindex="0">${curl}</pre></div>
    ${replies.map(([status, response]) => html`<details><summary><b>${status}</b> ${response.description}</summary>
      <${FieldTable} fields=${listReplyFields(response, schemas)} label="Fields of the ${status} reply of ${id}" /></details>`)}
    ${errors.length > 0 && html`<details><summary><b>Errors</b> ${errors.map(([status]) => status).join(", ")}</summary>
      <dl class="facts">${errors.map(([status, response]) => html`<dt>${status}</dt><dd>${response.description}</dd>`)}</dl></details>`}
  </article>`;
}

function FieldTable({ fields, label }) {
  return html`<div class="fields" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
    <tbody>${fields.map(({ name, type, required, meaning }) => html`<tr>
      <th scope="row"><code>${name}</code>${required && html` <${Chip} tone="next">required<//>`}</th><td>${type}</td><td>${meaning}</td></tr>`)}</tbody>
  </table></div>`;
}

// Descriptions of schemas

const describeParameter = ({ name, required, schema, in: place }) => ({
  name,
  required,
  type: formatType(schema),
  meaning: describeSchema(schema, place === "path" ? "in the path" : ""),
});

const listReplyFields = (response, schemas) => {
  const described = response.content?.["application/json"]?.schema;
  const schema = described?.anyOf?.[0] ?? described; // where a compact reply can be asked for, the full one is shown
  return schema ? listFields(schema, schemas).map((field) => ({ ...field, required: false })) : [];
};

/** Return the fields of an object's schema; a field that refers to another schema has that schema's name as its type. */
function listFields(schema, schemas) {
  const { properties = {}, required = [] } = resolveReference(schema, schemas);
  return Object.entries(properties).map(([name, property]) => ({
    name,
    required: required.includes(name),
    type: formatType(property),
    meaning: describeSchema(property, resolveReference(property, schemas).description ?? ""),
  }));
}

const getSchemaName = (reference) => reference.split("/").at(-1);
const resolveReference = (schema, schemas) => (schema.$ref ? (schemas[getSchemaName(schema.$ref)] ?? {}) : schema);

const TYPE_NAMES = { string: "text", integer: "whole number", number: "number", boolean: "true or false", null: "null", object: "object" };

/** Return the type of a value for a reader who does not know JSON Schema. */
function formatType(schema) {
  if (schema.$ref) return getSchemaName(schema.$ref);
  if (schema.enum ?? schema.const) return [schema.enum ?? schema.const].flat().map((value) => JSON.stringify(value)).join(", ");
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return [...new Set(alternatives.map(formatType))].join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? formatType(schema.items) : "values"}`;
  if (schema.additionalProperties?.type) return `object of ${formatType(schema.additionalProperties)}`;
  return TYPE_NAMES[schema.type] ?? "any";
}

const LIMITS = [
  ["minimum", (n) => `at least ${n}`],
  ["maximum", (n) => (n < 2 ** 53 ? `at most ${n}` : "")],
  ["minLength", (n) => `at least ${n === 1 ? "1 character" : `${n} characters`}`],
  ["maxLength", (n) => `at most ${n} characters`],
  ["minItems", (n) => `at least ${n === 1 ? "1 item" : `${n} items`}`],
  ["maxItems", (n) => `at most ${n} items`],
];

function describeSchema(schema, addition) {
  const limits = LIMITS.filter(([name]) => schema[name] !== undefined).map(([name, formatLimit]) => formatLimit(schema[name]));
  const defaultValue = schema.default === undefined || schema.default === null ? "" : `default ${JSON.stringify(schema.default)}`;
  return [...new Set([schema.description, addition])].concat(limits, defaultValue).filter(Boolean).join("; ");
}

// An example for a shell

/** Return a text as one argument of a POSIX shell. */
const quoteForShell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function buildCurlCommand({ method, path, parameters = [], security = [] }, body) {
  const examples = parameters.filter((parameter) => parameter.example !== undefined);
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(examples.find((parameter) => parameter.name === name)?.example ?? "1"));
  const query = new URLSearchParams(examples.filter((parameter) => parameter.in === "query").map((parameter) => [parameter.name, String(parameter.example)]));
  const url = `${location.origin}${filledPath}${query.size ? `?${query}` : ""}`;
  const parts = [`curl -sS${method === "GET" || (method === "POST" && body) ? "" : ` -X ${method}`} ${quoteForShell(url)}`];
  if (security.length) parts.push(`-H "x-functions-key: $KEY"`);
  if (body) parts.push(`-H 'content-type: application/json'`, `-d ${quoteForShell(JSON.stringify(body))}`);
  return parts.join(" \\\n  ");
}
