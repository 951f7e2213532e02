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
        The text is typed as it is, followed by Enter. An agent receives it as one message. Press Shift+Enter for a new line.
      </p>
      <${Composer} session=${row} focused onSent=${setSent} />
      <p role="status" class="muted">${sent && `Sent: ${sent.slice(0, 80)}`}</p>
    </div>
    <footer><button onClick=${close}>Close</button></footer>
  `;
}
