// Shows a page many times side by side: every text of a reply, and what the page reads of its address, is a payload, and
// each kind of reply is given once with each of them. Gives what was found, and how often each payload was shown.
async (look, { page, payloads, replies, refused, params }) => {
  const { html, render } = await import("/rag/static/html.js");
  const { default: Shown } = await import(`/rag/static/pages/${page}.js`);
  const ours = /^(kind|status|next_step|vector_status|verdict|method|type|in|\$ref)$/; // words on which a page chooses
  const named = /^(metadata|timings|parts|packaged|edited|techniques|scores|steps|preset)$/;
  const poisoned = (value, payload, name = "") => {
    if (typeof value === "string") return ours.test(name) ? value : payload;
    if (Array.isArray(value)) return value.slice(0, 2).map((one) => poisoned(one, payload, name));
    if (value === null || typeof value !== "object") return value;
    const known = Object.entries(value).slice(0, name === "paths" ? 2 : undefined);
    const fields = known.map(([field, one]) => [field, poisoned(one, payload, field)]);
    if (named.test(name) && fields.length) fields.push([payload, fields[0][1]]);
    return Object.fromEntries(fields);
  };
  const turns = {};
  window.fetch = async (url) => {
    const path = new URL(url, location).pathname;
    const payload = payloads[(turns[path] = (turns[path] ?? -1) + 1) % payloads.length];
    const error = { code: payload, message: payload, field: payload, retryable: false, details: { [payload]: payload } };
    const told = !refused && replies[path];
    return new Response(JSON.stringify(told ? poisoned(told, payload) : { success: false, error }), { status: told ? 200 : 422 });
  };
  const paint = new MessageChannel(); // as often as asked for, not as often as a screen is drawn
  const waiting = [];
  paint.port1.onmessage = () => waiting.splice(0).forEach((work) => work());
  window.requestAnimationFrame = (work) => (waiting.push(work), paint.port2.postMessage(0));
  const app = document.getElementById("app");
  const found = [];
  let shown = "";
  for (let at = 0; at < payloads.length; at += 25) {
    const batch = payloads.slice(at, at + 25);
    const search = (payload) => new URLSearchParams(["box", "lines", "page", "workflow_id", "filter", "preset"].map((name) => [name, payload]));
    history.replaceState(null, "", `/rag/${encodeURIComponent(batch[0])}?${search(batch[0])}#${encodeURIComponent(batch[0])}`);
    sessionStorage.setItem("workflow_id", batch[0]);
    const roots = batch.map((payload) => {
      const root = app.appendChild(document.createElement("div"));
      render(html`<${Shown} params=${{ ...params, documentId: payload }} query=${search(payload)} />`, root);
      return root;
    });
    for (let turn = 0; turn < 6; turn++) await new Promise((done) => setTimeout(done)); // effects, replies, what they show
    for (const details of document.querySelectorAll("details")) details.open = true;
    found.push(...look(document).map((what) => `near ${batch[0]}: ${what}`));
    shown += app.textContent;
    __caught.length = 0;
    for (const root of roots) render(null, root), root.remove();
  }
  return { found, missing: payloads.filter((payload) => !shown.includes(payload)) };
}
