// What records are made of, as fields of forms.

import { html } from "../../../vendor/preact.js";

export const TYPES = [
  "note",
  "decision",
  "constraint",
  "warning",
  "preference",
  "open_loop",
  "checkpoint",
  "next_session_focus",
  "relational_delta",
];
export const CATEGORIES = ["preference", "lesson", "context", "relationship", "general"];
export const STATES = ["active", "resolved", "superseded", "forgotten", "all"];
export const SOURCES = ["end_session", "agent", "inferred", "operator", "import"];
export const GRADES = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];

/** next session focus */
export const typeName = (type) => type.replaceAll("_", " ");

/** `none` is what the empty choice is called, where there is one. */
export const Choice = ({ label, value, options, none, name = typeName, onChange, hidden }) => html`
  <label>
    <span class=${hidden ? "sr" : ""}>${label}</span>
    <select value=${value} onChange=${onChange}>
      ${none != null && html`<option value="">${none}</option>`}
      ${options.map((option) => html`<option key=${option} value=${option}>${name(option)}</option>`)}
    </select>
  </label>
`;

export const Failure = ({ error }) =>
  error && html`<p class="note bad" role="alert"><strong>${error.message}</strong><br />${error.hint}</p>`;
