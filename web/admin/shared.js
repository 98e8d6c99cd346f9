// What the parts of the admin page share: whose things they change, and how a missing role is said.

import { ErrorBox } from "../components.js";
import { html } from "../html.js";

/** For requests about what is of no workflow: presets, prompts, the operator's collection. */
export const EVERYONES = { workflow_id: undefined };

export function Refusal({ error, retry }) {
  if (!error) return null;
  return html`<${ErrorBox} error=${error} retry=${retry} />
    ${error.status === 403 && html`<div class="note">
      <p>This is for administrators, and the caller is not known to be one.</p>
      <p>On your own machine, start the server with <code>rag serve --admin</code>. On Azure, switch the app's authentication on and
        give yourself the app role <code>admin</code>.</p>
    </div>`}`;
}
