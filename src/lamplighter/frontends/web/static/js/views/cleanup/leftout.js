// What matches but is not in a plan, each with why.

import { html } from "../../../vendor/preact.js";
import { count } from "../../format.js";
import { Verdict } from "../../parts/verdict.js";
import { href } from "../../route.js";
import { Sure } from "./row.js";

export function LeftOut({ plan, open = false }) {
  const rows = plan.left_out;
  if (!rows.length) return null;
  return html`
    <details class="leftout" open=${open}>
      <summary>${plan.leaks ? count(rows.length, "other leak") : matching(rows)}, not in the plan</summary>
      <ul>
        ${rows.map(
          (row) => html`
            <li key=${row.id}>
              ${plan.leaks ? html`<strong>${row.name}</strong>` : html`<a href=${href(["sessions", row.id])}>${row.name}</a>`}
              ${
                plan.leaks
                  ? html`<${Sure} certainty=${row.verdict} />`
                  : html`<${Verdict} row=${{ ...row, state: "running" }} />`
              }
              <span class="muted">${row.why}</span>
            </li>
          `,
        )}
      </ul>
    </details>
  `;
}

const matching = (rows) => `${count(rows.length, "session")} that match${rows.length === 1 ? "es" : ""}`;
