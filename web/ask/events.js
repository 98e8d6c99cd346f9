// The events of an answer: on its reply, or by polling where the host sends them all at its end, as Azure Functions does.

import { getJson, sendForEvents } from "../api.js";

const POLL_AFTER_MS = 1500; // without an event
const POLL_EVERY_MS = 700;

/** Ask a question, call `handle(name, data)` for each event, however it came, and return the reply. Throws ApiError. */
export async function askForEvents(question, handle, signal) {
  const progress_id = makeProgressId();
  const polling = new AbortController();
  let heard = 0;
  const hear = (number, name, data) => {
    if (number <= heard) return; // it has come the other way
    heard = number;
    handle(name, data);
  };
  let streamed = 0;
  const hearStreamed = (name, data) => {
    polling.abort();
    hear(++streamed, name, data);
  };
  pollEvents(progress_id, hear, polling.signal).catch(() => {}); // the reply comes all the same
  try {
    return await sendForEvents("api/rag/ask", { ...question, progress_id }, hearStreamed, signal);
  } finally {
    polling.abort();
  }
}

/** Call `hear(number, name, data)` for the events of an answer under way, until there are no more or the signal is given. */
async function pollEvents(progress_id, hear, signal) {
  await pause(POLL_AFTER_MS);
  let after = 0;
  while (!signal.aborted) {
    const { events, state } = await getJson("api/rag/answer_events", { progress_id, after });
    if (signal.aborted) return;
    for (const { number, name, data } of events) hear((after = number), name, data);
    if (state === "ended") return;
    await pause(POLL_EVERY_MS);
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Return 128 random bits; `randomUUID` is there in secure contexts only. */
const makeProgressId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
