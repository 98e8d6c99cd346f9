// The HTTP surface, read off api/openapi.json: each operation with its fields, an example, replies and refusals.

import { get } from "../api.js";
import { Chip, Copy, ErrorBox, Field, Loading, Page, useLoad } from "../components.js";
import { html, useEffect, useState } from "../html.js";

export default function ApiPage() {
  const { data, error, reload } = useLoad(() => get("api/openapi.json"));
  return html`<${Page} title="HTTP API" lead="Every operation of this server, as it describes itself.">
    ${error && html`<${ErrorBox} error=${error} retry=${reload} />`}
    ${!data && !error && html`<${Loading} what="Reading the description" />`}
    ${data && html`<${Surface} description=${data} />`}
  <//>`;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

function Surface({ description }) {
  const [wanted, setWanted] = useState("");
  const all = operationsOf(description);
  const shown = all.filter(({ path, summary }) => `${path} ${summary}`.toLowerCase().includes(wanted.toLowerCase()));
  useEffect(() => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView(), []); // drawn after the browser looked
  return html`<div class="stack">
    <p>Requests and replies are JSON. Operations marked <${Chip}>key<//> want the function key in the header <code>x-functions-key</code>.
      The machine-readable description is <a href="/api/openapi.json">api/openapi.json</a> (OpenAPI ${description.openapi}).</p>
    <${Field} label="Filter" hint="${shown.length} of ${all.length} operations">${(named) => html`
      <input ...${named} type="search" value=${wanted} onInput=${(event) => setWanted(event.target.value)} />`}<//>
    <nav aria-label="Operations"><ul class="plain operations">${shown.map(({ operationId: id, method, path }) => html`
      <li><span class="method" aria-hidden="true">${method}</span> <a href="#${id}">${path}</a></li>`)}</ul></nav>
    ${shown.map((operation) => html`<${Operation} key=${operation.operationId} operation=${operation} schemas=${description.components.schemas} />`)}
  </div>`;
}

const operationsOf = ({ paths }) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => ({ path, method: method.toUpperCase(), ...methods[method] })),
  );

function Operation({ operation, schemas }) {
  const { operationId: id, method, path, summary, security = [], responses } = operation;
  const body = operation.requestBody?.content["application/json"];
  const fields = body ? fieldsOf(body.schema, schemas) : (operation.parameters ?? []).map(parameter);
  const curl = curlOf(operation, body?.example);
  const good = Object.entries(responses).filter(([status]) => status < 300);
  const refused = Object.entries(responses).filter(([status]) => status >= 300);
  return html`<article class="card stack operation" id=${id} aria-labelledby="${id}-title">
    <div class="between"><h2 id="${id}-title"><span class="method">${method}</span> <code>${path}</code></h2>
      <span class="chips">${security.length > 0 && html`<${Chip}>key<//>`}<a class="hint" href="#${id}">${id}</a></span></div>
    <p>${summary}</p>
    ${fields.length > 0 && html`<${Fields} fields=${fields} label="Fields of ${id}" />`}
    <div class="stack tight"><div class="between"><h3>Example</h3><${Copy} text=${curl}>Copy the example<//></div><pre tabindex="0">${curl}</pre></div>
    ${good.map(([status, response]) => html`<details><summary><b>${status}</b> ${response.description}</summary>
      <${Fields} fields=${repliedFields(response, schemas)} label="Fields of the ${status} of ${id}" /></details>`)}
    ${refused.length > 0 && html`<details><summary><b>Refusals</b> ${refused.map(([status]) => status).join(", ")}</summary>
      <dl class="facts">${refused.map(([status, response]) => html`<dt>${status}</dt><dd>${response.description}</dd>`)}</dl></details>`}
  </article>`;
}

function Fields({ fields, label }) {
  return html`<div class="fields" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead>
    <tbody>${fields.map(({ name, type, required, meaning }) => html`<tr>
      <th scope="row"><code>${name}</code>${required && html` <${Chip} tone="next">required<//>`}</th><td>${type}</td><td>${meaning}</td></tr>`)}</tbody>
  </table></div>`;
}

// A schema in words

const parameter = ({ name, required, schema, in: place }) => ({ name, required, type: typeOf(schema), meaning: meaningOf(schema, place === "path" ? "in the path" : "") });

const repliedFields = (response, schemas) => {
  const schema = response.content?.["application/json"]?.schema;
  return schema ? fieldsOf(schema, schemas).map((field) => ({ ...field, required: false })) : [];
};

/** The fields of an object's schema; those of a schema that it refers to stand there under its own name. */
function fieldsOf(schema, schemas) {
  const { properties = {}, required = [] } = resolved(schema, schemas);
  return Object.entries(properties).map(([name, of]) => ({
    name,
    required: required.includes(name),
    type: typeOf(of),
    meaning: meaningOf(of, resolved(of, schemas).description ?? ""),
  }));
}

const nameOf = (reference) => reference.split("/").at(-1);
const resolved = (schema, schemas) => (schema.$ref ? (schemas[nameOf(schema.$ref)] ?? {}) : schema);

const PLAIN = { string: "text", integer: "whole number", number: "number", boolean: "true or false", null: "null", object: "object" };

/** The type of a value, for a reader who does not know JSON Schema. */
function typeOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.enum ?? schema.const) return [schema.enum ?? schema.const].flat().map((value) => JSON.stringify(value)).join(", ");
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return [...new Set(either.map(typeOf))].join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items) : "values"}`;
  if (schema.additionalProperties?.type) return `object of ${typeOf(schema.additionalProperties)}`;
  return PLAIN[schema.type] ?? "any";
}

const LIMITS = [
  ["minimum", (n) => `at least ${n}`],
  ["maximum", (n) => (n < 2 ** 53 ? `at most ${n}` : "")],
  ["minLength", (n) => `at least ${n} long`],
  ["maxLength", (n) => `at most ${n} characters`],
  ["minItems", (n) => `at least ${n}`],
  ["maxItems", (n) => `at most ${n}`],
];

function meaningOf(schema, more) {
  const limits = LIMITS.filter(([name]) => schema[name] !== undefined).map(([name, told]) => told(schema[name]));
  const usual = schema.default === undefined || schema.default === null ? "" : `${JSON.stringify(schema.default)} when not given`;
  return [...new Set([schema.description, more])].concat(limits, usual).filter(Boolean).join("; ");
}

// An example to be pasted into a shell

/** One argument of a POSIX shell. */
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function curlOf({ method, path, parameters = [], security = [] }, body) {
  const given = parameters.filter((one) => one.example !== undefined);
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) => encodeURIComponent(given.find((one) => one.name === name)?.example ?? "1"));
  const query = new URLSearchParams(given.filter((one) => one.in === "query").map((one) => [one.name, String(one.example)]));
  const url = `${location.origin}${filled}${query.size ? `?${query}` : ""}`;
  const parts = [`curl -sS${method === "GET" || (method === "POST" && body) ? "" : ` -X ${method}`} ${quoted(url)}`];
  if (security.length) parts.push(`-H "x-functions-key: $KEY"`);
  if (body) parts.push(`-H 'content-type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  return parts.join(" \\\n  ");
}
