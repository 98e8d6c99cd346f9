// Which page an address is: a module of pages/, loaded when it is asked for.

import { keepWorkflow } from "./api.js";
import { ErrorBox, KeyDialog, Page } from "./components.js";
import { html, render } from "./html.js";

const ROUTES = [
  [/^\/rag$/, "queries"],
  [/^\/rag\/new$/, "new"],
  [/^\/rag\/(?<id>-?\d+)$/, "query"],
  [/^\/rag\/(?<id>-?\d+)\/inspect$/, "inspect"],
  [/^\/rag\/(?<id>-?\d+)\/results$/, "results"],
  [/^\/rag\/(?<id>-?\d+)\/results\/(?<resultId>-?\d+)$/, "result"],
  [/^\/rag\/admin$/, "admin"],
  [/^\/rag\/documents$/, "documents"],
  [/^\/rag\/documents\/(?<documentId>.+)$/, "document"],
  [/^\/rag\/graph$/, "graph"],
  [/^\/rag\/api$/, "api"],
];

function matched(path) {
  for (const [pattern, name] of ROUTES) {
    const found = pattern.exec(path);
    if (found) return { name, params: decoded(found.groups ?? {}) };
  }
  throw new Error("there is no page at this address");
}

const decoded = (groups) =>
  Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]));

async function start() {
  keepWorkflow();
  const root = document.getElementById("app");
  const query = new URLSearchParams(location.search);
  try {
    const { name, params } = matched(location.pathname.replace(/(.)\/+$/, "$1"));
    const { default: Shown } = await import(`./pages/${name}.js`);
    render(html`<${Shown} params=${params} query=${query} /><${KeyDialog} />`, root);
  } catch (error) {
    render(html`<${Page} title="This page could not be loaded"><${ErrorBox} error=${error} /><//>`, root);
  }
}

start();
