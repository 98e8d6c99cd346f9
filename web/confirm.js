// A button that asks for confirmation before it acts.

import { Button, ErrorBox, focusPage, useAction } from "./components.js";
import { html, useId, useRef } from "./html.js";

/** `children` say what will happen; `work` is called when the user confirms, and its failure is shown in the dialog. */
export function ConfirmButton({ label, name = label, title, kind = "quiet", work, children }) {
  const dialog = useRef();
  const id = useId();
  const { busy, error, act, clear } = useAction();
  const confirm = () =>
    act("work", async () => {
      await work();
      if (dialog.current) dialog.current.close();
      else focusPage(); // gone with its row
    });
  return html`<button type="button" class=${kind} aria-label=${name} onClick=${() => dialog.current.showModal()}>${label}</button>
    <dialog ref=${dialog} aria-labelledby=${id} onClose=${clear}>
      <div class="stack">
        <h2 id=${id}>${title}</h2>
        <div>${children}</div>
        ${error && html`<${ErrorBox} error=${error} />`}
        <div class="actions">
          <${Button} kind="primary" busy=${busy !== null} onClick=${confirm}>${label}<//>
          <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
        </div>
      </div>
    </dialog>`;
}
