// Requests about what belongs to no workflow, and the error box for requests that require the role admin.

import { ErrorBox } from "../components.js";
import { html } from "../html.js";

/** The body fields of a request about presets, prompts or the proposals, which belong to no workflow. */
export const NO_WORKFLOW = { workflow_id: undefined };

/** An error; for a missing role it says how to get the role. */
export function AdminErrorBox({ error, retry }) {
  if (!error) return null;
  return html`<${ErrorBox} error=${error} retry=${retry} />
    ${error.status === 403 && html`<div class="note">
      <p>This requires the role <code>admin</code>, which your request does not have.</p>
      <p>On your own machine, start the server with <code>rag serve --admin</code>. On Azure, enable the app's authentication and
        assign yourself the app role <code>admin</code>.</p>
    </div>`}`;
}
