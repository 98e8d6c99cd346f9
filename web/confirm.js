// A button whose work cannot be taken back lightly: it asks first.

import { ErrorBox, Button, useAction } from "./components.js";
import { html, useId, useRef } from "./html.js";

/** `children` say what will happen; `work` does it once that is agreed to, and a failure is told where it was asked. */
export function Confirm({ label, name = label, title, kind = "quiet", work, children }) {
  const dialog = useRef();
  const id = useId();
  const { busy, error, act, clear } = useAction();
  const agreed = () =>
    act("work", async () => {
      await work();
      dialog.current?.close(); // not there any more when its row is gone
    });
  return html`<button type="button" class=${kind} aria-label=${name} onClick=${() => dialog.current.showModal()}>${label}</button>
    <dialog ref=${dialog} aria-labelledby=${id} onClose=${clear}>
      <div class="stack">
        <h2 id=${id}>${title}</h2>
        <div>${children}</div>
        ${error && html`<${ErrorBox} error=${error} />`}
        <div class="actions">
          <${Button} kind="primary" busy=${busy !== null} onClick=${agreed}>${label}<//>
          <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
        </div>
      </div>
    </dialog>`;
}
