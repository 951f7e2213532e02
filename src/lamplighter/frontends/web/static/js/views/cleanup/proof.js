// The proof of one end, as a dialog.

import { html } from "../../../vendor/preact.js";
import { bytes, count } from "../../format.js";

export function Proof({ row, close }) {
  const { certificate } = row;
  return html`
    <header><h2 id="dialog-title">${row.name}: ${row.outcome}</h2></header>
    <div class="body">
      <dl class="facts">
        <dt>Reason</dt><dd>${row.why}</dd>
        <dt>Freed</dt><dd>${bytes(row.memory)}</dd>
        <dt>Guarantee</dt><dd>${certificate.guarantee}</dd>
        <dt>Took</dt><dd>${certificate.seconds.toFixed(2)} s</dd>
        <dt>Survivors</dt><dd class=${certificate.survivors.length ? "bad" : ""}>${certificate.survivors.length || "none"}</dd>
      </dl>
      <h3>${count(certificate.processes.length, "process", "processes")}</h3>
      <ul class="pieces">
        ${certificate.processes.map(
          (process) => html`<li key=${process.pid}><code>${process.pid}</code><code class="grow">${process.command}</code><span class="muted">${process.signal ?? "exited"}</span></li>`,
        )}
      </ul>
    </div>
    <footer><button autofocus onClick=${close}>Close</button></footer>
  `;
}
