// Sending a text or a key to a session from anywhere on the page.

import { html, useState } from "../../vendor/preact.js";
import { openDialog } from "../parts/dialog.js";
import { Composer } from "../views/session/composer.js";

/** Where the session's own text box is on the page, that one. */
export function sendTo(row) {
  const field = document.querySelector("#composer");
  if (field) field.focus();
  else openDialog(Send, { row });
}

function Send({ row, close }) {
  const [sent, setSent] = useState("");
  return html`
    <header><h2 id="dialog-title">Send to ${row.name}</h2></header>
    <div class="body">
      <p class="muted">
        It is typed there as it is, then Enter. An agent gets it as one message. Shift and Enter begin a new line here.
      </p>
      <${Composer} session=${row} focused onSent=${setSent} />
      <p role="status" class="muted">${sent && `Sent: ${sent.slice(0, 80)}`}</p>
    </div>
    <footer><button onClick=${close}>Close</button></footer>
  `;
}
