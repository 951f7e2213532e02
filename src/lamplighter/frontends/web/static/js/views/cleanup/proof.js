// The proof of one end, as a dialog.

import { html } from "../../../vendor/preact.js";
import { bytes } from "../../format.js";
import { Certificate } from "../../parts/certificate.js";

export const Proof = ({ row, close }) => html`
  <header><h2 id="dialog-title">${row.name}: ${row.outcome}</h2></header>
  <div class="body">
    <dl class="facts">
      <dt>Reason</dt><dd>${row.why}</dd>
      <dt>Freed</dt><dd>${bytes(row.memory)}</dd>
    </dl>
    <${Certificate} certificate=${row.certificate} />
  </div>
  <footer><button autofocus onClick=${close}>Close</button></footer>
`;
