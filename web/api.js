// The client of this server's JSON routes. It adds the function key and the workflow to each request.

const KEY = "functions_key";
const WORKFLOW = "workflow_id";
const DEFAULT_WORKFLOW = "default";

export class ApiError extends Error {
  /** `status` is 0 when the server did not respond. `code`, `field` and `details` are those of an error reply. */
  constructor(status, { code = "unknown", message, field = null, details = null, retryable = false } = {}) {
    super(message ?? `the server replied with status ${status} and without an error message`);
    Object.assign(this, { status, code, field, details, retryable });
  }
}

/** Return the workflow of the address, else the one last used in this tab. */
export function getWorkflowId() {
  return new URLSearchParams(location.search).get(WORKFLOW) || sessionStorage.getItem(WORKFLOW) || DEFAULT_WORKFLOW;
}

/** Store the current workflow in the tab, and add it to the address so that a shared link names it. */
export function rememberWorkflow() {
  const id = getWorkflowId();
  sessionStorage.setItem(WORKFLOW, id);
  const url = new URL(location.href);
  if (id === DEFAULT_WORKFLOW || url.searchParams.get(WORKFLOW)) return;
  url.searchParams.set(WORKFLOW, id);
  history.replaceState(null, "", url);
}

/** Store the workflow in the tab and open its list of queries. */
export function openWorkflow(id) {
  sessionStorage.setItem(WORKFLOW, id);
  location.assign(id === DEFAULT_WORKFLOW ? "/rag" : `/rag?${new URLSearchParams({ [WORKFLOW]: id })}`);
}

/** Return the address of a page in the current workflow. A list of values repeats its name; null and "" are left out. */
export function buildAddress(path, params = {}) {
  const workflow = getWorkflowId();
  const query = encodeQueryString({ ...(workflow === DEFAULT_WORKFLOW ? {} : { [WORKFLOW]: workflow }), ...params });
  return query ? `${path}?${query}` : path;
}

/** Send a GET request, with `params` as in `buildAddress`, and return the JSON reply. Throws ApiError. */
export function getJson(path, params = {}) {
  return requestJson(`${toLocalPath(path)}?${encodeQueryString({ [WORKFLOW]: getWorkflowId(), ...params })}`, { method: "GET" });
}

/** Return the OpenAPI description of this server, which belongs to no workflow. Throws ApiError. */
export const getApiDescription = () => requestJson("/api/openapi.json", { method: "GET" });

/** Send a POST, PATCH or PUT request with a JSON body, or a DELETE with `body` as its query string. Throws ApiError. */
export function sendJson(method, path, body = {}, signal = null) {
  const fields = { [WORKFLOW]: getWorkflowId(), ...body };
  if (method === "DELETE") return requestJson(`${toLocalPath(path)}?${encodeQueryString(fields)}`, { method });
  const headers = { "content-type": "application/json" };
  return requestJson(toLocalPath(path), { method, headers, body: JSON.stringify(fields), signal });
}

/** Return a path of this server for any path in a reply: a leading `//` would name another server. */
const toLocalPath = (path) => `/${path.replace(/^[/\\]+/, "")}`;

function encodeQueryString(params) {
  const pairs = Object.entries(params).flatMap(([name, values]) => [values].flat().map((value) => [name, value]));
  return String(new URLSearchParams(pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")));
}

const requestJson = async (url, options) => parseReply(await requestReply(url, options));

/**
 * Send a POST request whose reply is a stream of events, and call `handle(name, data)` for each until the one named "done", whose
 * data are returned. Throws ApiError, also for an event "error" and for a stream that ends without any of the two.
 */
export async function sendForEvents(path, body, handle, signal) {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const fields = JSON.stringify({ [WORKFLOW]: getWorkflowId(), ...body });
  const reply = await requestReply(toLocalPath(path), { method: "POST", headers, body: fields, signal });
  if (!reply.ok || !reply.headers.get("content-type")?.startsWith("text/event-stream")) return parseReply(reply);
  for await (const { name, data } of readEvents(reply.body)) {
    if (name === "done") return data;
    if (name === "error") throw new ApiError(reply.status, data.error);
    handle(name, data);
  }
  throw new ApiError(0, { code: "cut_off", message: "the answer was cut off before its end: ask again", retryable: true });
}

async function* readEvents(body) {
  let text = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read().catch(endCutOff);
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event) ?? [];
      if (name) yield { name, data: JSON.parse(data) };
    }
  }
}

/** End a reply that was cut off, so that the caller sees no "done"; one that the reader stopped is told as such. */
function endCutOff(error) {
  if (error.name === "AbortError") throw error;
  return { done: true };
}

async function requestReply(url, options) {
  for (let isRejected = false; ; isRejected = true) {
    const key = sessionStorage.getItem(KEY);
    const reply = await fetchReply(url, { ...options, headers: { ...options.headers, ...(key && { "x-functions-key": key }) } });
    if (reply.status !== 401) return reply;
    if (key === sessionStorage.getItem(KEY)) await requestKey(isRejected || key !== null); // else another request got a key meanwhile
  }
}

async function fetchReply(url, options) {
  try {
    return await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { code: "unreachable", message: "the server does not respond", retryable: true });
  }
}

async function parseReply(reply) {
  const body = await reply.json().catch(() => null);
  if (body === null || !reply.ok) throw new ApiError(reply.status, body?.error);
  return body;
}

// The function key: one dialog (components.js) for all requests that need it at the same time.

let promptForKey = null;
let pendingKey = null;

/** Register the function that asks the user for the key: of whether a key was rejected, returning a promise of a key or null. */
export function registerKeyPrompt(prompt) {
  promptForKey = prompt;
}

async function requestKey(isRejected) {
  pendingKey ??= promptForKey(isRejected).finally(() => (pendingKey = null));
  const key = await pendingKey;
  if (!key) throw new ApiError(401, { code: "key_wanted", message: "this server requires its function key" });
  sessionStorage.setItem(KEY, key);
}
