// One row of a plan: what it is and why it would go; then what came of it, with its proof.

import { html } from "../../../vendor/preact.js";
import { bytes, count, duration } from "../../format.js";
import { openDialog } from "../../parts/dialog.js";
import { Verdict } from "../../parts/verdict.js";
import { href } from "../../route.js";
import { Proof } from "./proof.js";

const MARKS = { ended: "✓", skipped: "–", survived: "!", failed: "!" };

export function Row({ row, planning, leaks, applying }) {
  const left = planning.without.value.has(row.id);
  const done = applying ? planning.done.value.get(row.id) : null;
  const outcome = done?.outcome;
  return html`
    <tr class=${`${left && !applying ? "left" : ""} ${outcome ?? ""}`} data-id=${row.id}>
      <td class="tickbox">
        ${
          applying
            ? html`<span class=${`tickmark ${outcome ?? "pending"}`} aria-hidden="true">${MARKS[outcome] ?? ""}</span>`
            : html`
              <input
                type="checkbox"
                aria-label=${`End ${row.name}`}
                checked=${!left}
                onChange=${(event) => planning.tick([row.id], event.target.checked)}
              />
            `
        }
      </td>
      <td class="who">
        ${leaks ? html`<strong>${row.name}</strong>` : html`<a href=${href(["sessions", row.id])}>${row.name}</a>`}
        ${" "}<code class="muted">${row.id}</code>
      </td>
      <td class="reasons">
        ${leaks ? html`<${Sure} certainty=${row.verdict} />` : html`<${Verdict} row=${{ ...row, state: "running" }} />`}
        <span class="muted">${row.evidence.join("; ")}</span>
      </td>
      <td class="figure" data-unit=${row.processes === 1 ? "process" : "processes"}>${row.processes}</td>
      <td class="figure">${bytes(row.memory)}</td>
      <td class="figure" data-before=${leaks ? "age" : "quiet"}>${duration(row.quiet_for)}</td>
      ${applying && html`<td class="result"><${Result} row=${done} left=${left} /></td>`}
    </tr>
  `;
}

export const Sure = ({ certainty }) =>
  html`<span class=${`verdict ${certainty}`}><i aria-hidden="true"></i>${certainty}</span>`;

function Result({ row, left }) {
  if (!row) return html`<span class="muted">${left ? "excluded" : "ending…"}</span>`;
  const told = row.outcome === "ended" ? provenBy(row.certificate) : row.why;
  return html`
    <span class=${`outcome ${row.outcome}`}>${row.outcome}</span>${" "}
    <span class="muted">${told}${row.error?.hint && ` · ${row.error.hint}`}</span>
    ${
      row.certificate &&
      html`
        <button
          class="quiet"
          aria-label=${`Certificate of ${row.name}`}
          onClick=${() => openDialog(Proof, { row, wide: true })}
        >
          Certificate
        </button>
      `
    }
  `;
}

const provenBy = (certificate) =>
  certificate
    ? `${count(certificate.processes.length, "process", "processes")} in ${certificate.seconds.toFixed(1)} s`
    : "";
