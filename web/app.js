// The entry point: loads the module of pages/ that belongs to the address and renders it.

import { rememberWorkflow } from "./api.js";
import { ErrorBox, KeyDialog, Page } from "./components.js";
import { html, render } from "./html.js";

const ROUTES = [
  [/^\/rag$/, "queries"],
  [/^\/rag\/ask$/, "ask"],
  [/^\/rag\/ask\/(?<id>-?\d+)$/, "ask"],
  [/^\/rag\/new$/, "new"],
  [/^\/rag\/(?<id>-?\d+)$/, "query"],
  [/^\/rag\/(?<id>-?\d+)\/inspect$/, "inspect"],
  [/^\/rag\/(?<id>-?\d+)\/results$/, "results"],
  [/^\/rag\/(?<id>-?\d+)\/results\/(?<resultId>-?\d+)$/, "result"],
  [/^\/rag\/admin$/, "admin"],
  [/^\/rag\/admin\/(?<section>[a-z]+)$/, "admin"],
  [/^\/rag\/documents$/, "documents"],
  [/^\/rag\/documents\/(?<documentId>.+)$/, "document"],
  [/^\/rag\/graph$/, "graph"],
  [/^\/rag\/schema$/, "schema"],
  [/^\/rag\/api$/, "api"],
];

function matchRoute(path) {
  for (const [pattern, name] of ROUTES) {
    const match = pattern.exec(path);
    if (match) return { name, params: decodeParams(match.groups ?? {}) };
  }
  throw new Error("no page exists at this address");
}

const decodeParams = (groups) =>
  Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]));

async function renderCurrentPage() {
  rememberWorkflow();
  const root = document.getElementById("app");
  const query = new URLSearchParams(location.search);
  try {
    const { name, params } = matchRoute(location.pathname.replace(/(.)\/+$/, "$1"));
    const { default: CurrentPage } = await import(`./pages/${name}.js`);
    render(html`<${CurrentPage} params=${params} query=${query} /><${KeyDialog} />`, root);
  } catch (error) {
    render(html`<${Page} title="This page could not be loaded"><${ErrorBox} error=${error} /><//>`, root);
  }
}

renderCurrentPage();
