// What is shown where there is nothing: what it would be, and what to do next.

import { html } from "../../vendor/preact.js";

export const Empty = ({ title, children, command }) => html`
  <div class="empty">
    <img src="/icon.svg" alt="" width="48" height="48" />
    <h2>${title}</h2>
    <p>${children}</p>
    ${command && html`<pre><code>${command}</code></pre>`}
  </div>
`;

/** An error in place of what was asked for. */
export const Problem = ({ error }) => html`
  <div class="empty problem" role="alert">
    <h2>${error.message}</h2>
    <p>${error.hint}</p>
    <code>${error.code}</code>
  </div>
`;

/** An error where somebody tried something. In a dialog it has to be there: all that is outside is out of reach. */
export const Refused = ({ error }) =>
  error && html`<p class="note bad" role="alert"><strong>${error.message}</strong> ${error.hint}</p>`;

export const Waiting = () => html`<div class="waiting" aria-busy="true"><span class="sr">Loading</span></div>`;
