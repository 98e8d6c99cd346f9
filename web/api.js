// The JSON routes of this server, and nothing else: with the reader's key, in the reader's workflow.

const KEY = "functions_key";
const WORKFLOW = "workflow_id";
const DEFAULT = "default";

export class ApiError extends Error {
  /** `status` 0 is a server that did not answer. `code`, `field` and `details` are those of the error contract. */
  constructor(status, { code = "unknown", message, field = null, details = null, retryable = false } = {}) {
    super(message ?? `the server answered ${status} and did not say why`);
    Object.assign(this, { status, code, field, details, retryable });
  }
}

/** Whose documents and questions are shown: by the address, else as before in this tab. */
export function workflow() {
  return new URLSearchParams(location.search).get(WORKFLOW) || sessionStorage.getItem(WORKFLOW) || DEFAULT;
}

/** Remember the workflow of the address, and say in the address the one that is remembered: what is shared says it. */
export function keepWorkflow() {
  const id = workflow();
  sessionStorage.setItem(WORKFLOW, id);
  const url = new URL(location.href);
  if (id === DEFAULT || url.searchParams.get(WORKFLOW)) return;
  url.searchParams.set(WORKFLOW, id);
  history.replaceState(null, "", url);
}

export function chooseWorkflow(id) {
  sessionStorage.setItem(WORKFLOW, id);
  location.assign(id === DEFAULT ? "/rag" : `/rag?${new URLSearchParams({ [WORKFLOW]: id })}`);
}

/** The address of one of our pages in this workflow. A list of values repeats its name; null and "" are left out. */
export function address(path, params = {}) {
  const query = searched({ ...(workflow() === DEFAULT ? {} : { [WORKFLOW]: workflow() }), ...params });
  return query ? `${path}?${query}` : path;
}

/** GET; `params` as of `address`. Throws ApiError. */
export function get(path, params = {}) {
  return asked(`${rooted(path)}?${searched({ [WORKFLOW]: workflow(), ...params })}`, { method: "GET" });
}

/** POST, PATCH, PUT with a JSON body, or DELETE, whose `body` is put in the query string. Throws ApiError. */
export function send(method, path, body = {}) {
  const told = { [WORKFLOW]: workflow(), ...body };
  if (method === "DELETE") return asked(`${rooted(path)}?${searched(told)}`, { method });
  const headers = { "content-type": "application/json" };
  return asked(rooted(path), { method, headers, body: JSON.stringify(told) });
}

/** Of this server, whatever a reply names: `//` would begin another one's. */
const rooted = (path) => `/${path.replace(/^[/\\]+/, "")}`;

function searched(params) {
  const pairs = Object.entries(params).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  return String(new URLSearchParams(pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")));
}

async function asked(url, options) {
  for (let refused = false; ; refused = true) {
    const key = sessionStorage.getItem(KEY);
    const reply = await answered(url, { ...options, headers: { ...options.headers, ...(key && { "x-functions-key": key }) } });
    if (reply.status !== 401) return parsed(reply);
    if (key === sessionStorage.getItem(KEY)) await newKey(refused || key !== null); // else another call was given one
  }
}

async function answered(url, options) {
  try {
    return await fetch(url, options);
  } catch {
    throw new ApiError(0, { code: "unreachable", message: "the server does not answer", retryable: true });
  }
}

async function parsed(reply) {
  const body = await reply.json().catch(() => null);
  if (body === null || !reply.ok) throw new ApiError(reply.status, body?.error);
  return body;
}

// The key. One question for all the calls that want it; the dialog of components.js is who asks.

let asking = null;
let pending = null;

/** Who asks for the key: a function of whether one was refused, that gives a promise of a key or of null. */
export function onKeyWanted(ask) {
  asking = ask;
}

async function newKey(refused) {
  pending ??= asking(refused).finally(() => (pending = null));
  const key = await pending;
  if (!key) throw new ApiError(401, { code: "key_wanted", message: "this server wants its function key" });
  sessionStorage.setItem(KEY, key);
}



