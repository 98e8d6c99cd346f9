// Shows a page many times side by side: every text of a reply, and what the page reads of its address, is a payload, and
// each kind of reply is given once with each of them; a path without a reply is refused. What `pressed` selects is filled
// in, sent or clicked once. Gives what was found, the payloads never shown, and how often each path was asked for.
async (look, { page, payloads, replies, params, pressed }) => {
  const { html, render } = await import("/rag/static/html.js");
  const { default: Shown } = await import(`/rag/static/pages/${page}.js`);
  const MARK = "a payload stands here";
  const ours = /^(kind|status|next_step|vector_status|verdict|method|type|in|\$ref)$/; // words on which a page chooses
  const named = /^(metadata|timings|parts|packaged|edited|techniques|scores|steps|preset)$/;
  const marked = (value, name = "") => {
    if (typeof value === "string") return ours.test(name) ? value : MARK;
    if (Array.isArray(value)) return value.slice(0, 2).map((one) => marked(one, name));
    if (value === null || typeof value !== "object") return value;
    const fields = Object.entries(value).map(([field, one]) => [field, marked(one, field)]);
    if (named.test(name) && fields.length) fields.push([MARK, fields[0][1]]);
    return Object.fromEntries(fields);
  };
  const error = { code: MARK, message: MARK, field: MARK, retryable: false, details: { [MARK]: MARK } };
  const refusal = JSON.stringify({ success: false, error });
  const told = Object.fromEntries(Object.entries(JSON.parse(replies)).map(([path, reply]) => [path, JSON.stringify(marked(reply))]));
  const turns = {};
  let events = 0; // what a page did or was told: while more happens it is not settled
  let reading = 0; // replies and files that are being read
  const readingUntil = (ended) => (reading++, ended.finally(() => (reading--, events++)));
  window.fetch = async (url) => {
    const path = new URL(url, location).pathname;
    events++;
    turns[path] = (turns[path] ?? 0) + 1;
    const written = JSON.stringify(payloads[(turns[path] - 1) % payloads.length]).slice(1, -1);
    const reply = new Response((told[path] ?? refusal).replaceAll(MARK, () => written), { status: path in told ? 200 : 422 });
    const read = reply.json.bind(reply);
    return Object.assign(reply, { json: () => readingUntil(read()) });
  };
  const readFile = (window.readFile ??= FileReader.prototype.readAsDataURL);
  FileReader.prototype.readAsDataURL = function (file) {
    readingUntil(new Promise((ended) => this.addEventListener("loadend", ended)));
    readFile.call(this, file);
  };
  const later = (window.later ??= window.setTimeout.bind(window));
  window.setTimeout = (work) => later(work); // no pause of a reader's
  const paint = new MessageChannel(); // as often as asked for, not as often as a screen is drawn
  const waiting = [];
  paint.port1.onmessage = () => waiting.splice(0).forEach((work) => work());
  window.requestAnimationFrame = (work) => (waiting.push(work), paint.port2.postMessage(0));
  new MutationObserver(() => events++).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  // until nothing happens for six turns: effects, replies and what they show come one after the other. A page that asks
  // again and again never rests
  const settled = async () => {
    for (let turn = 0, quiet = 0; quiet < 6 && turn < 600; turn++) {
      const before = events;
      await new Promise((done) => later(done));
      quiet = events === before && !reading && !waiting.length ? quiet + 1 : 0;
    }
  };
  const fill = (control, payload) => {
    if (control.type === "file") {
      const files = new DataTransfer();
      files.items.add(new File([payload], payload));
      control.files = files.files;
    } else if (/^text/.test(control.type)) control.value = payload;
    control.dispatchEvent(new Event(control.type === "file" ? "change" : "input", { bubbles: true }));
  };
  const press = (element, payload) => {
    for (const control of element.matches("form") ? element.elements : [element]) if (control.matches("input, textarea")) fill(control, payload);
    if (element.matches("form")) element.requestSubmit();
    if (element.matches("button")) element.click();
  };
  const app = document.getElementById("app");
  const plain = new CSSStyleSheet(); // all of it is shown, one below the other: half of the layout of tables and wrapped lines
  plain.replaceSync("#app * { display: block !important; float: none !important; position: static !important; white-space: pre !important }");
  document.adoptedStyleSheets = [plain];
  const found = [];
  let shown = "";
  app.hidden = true;
  const looked = (batch) => {
    app.hidden = false;
    app.getBoundingClientRect(); // drawn once, not whenever a root changes
    for (const details of document.querySelectorAll("details")) details.open = true;
    found.push(...look(document).map((what) => `near ${batch[0]}: ${what}`));
    shown += app.textContent;
    __caught.length = 0;
    app.hidden = true;
  };
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
    await settled();
    looked(batch);
    if (pressed) {
      roots.forEach((root, which) => root.querySelectorAll(pressed).forEach((element) => press(element, batch[which])));
      await settled();
      looked(batch);
    }
    for (const root of roots) render(null, root), root.remove();
  }
  return { found, missing: payloads.filter((payload) => !shown.includes(payload)), turns };
}
