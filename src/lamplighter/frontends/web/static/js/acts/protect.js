// Protecting a session, and no longer: what that means first. It can be taken back at any time.

import { html, useState } from "../../vendor/preact.js";
import { call } from "../api.js";
import { openDialog } from "../parts/dialog.js";
import { Refused } from "../parts/empty.js";
import { say } from "../parts/toast.js";

export const protectSession = (row) => openDialog(Protect, { row });

function Protect({ row, close }) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState(null);
  const off = row.protected;
  const act = async () => {
    setBusy(true);
    try {
      await call("protect_session", { session: row.id, off });
      say(off ? `${row.name} is no longer protected` : `${row.name} is protected`);
      close();
    } catch (error) {
      setRefused(error);
      setBusy(false);
    }
  };
  return html`
    <header><h2 id="dialog-title">${off ? `Unprotect ${row.name}?` : `Protect ${row.name}?`}</h2></header>
    <div class="body">
      <p>
        ${
          off
            ? "Cleanups, limits and authorized agents can end it again."
            : "Cleanups, limits and agents can no longer end it. Only you can, by name."
        }
      </p>
      <p class="muted">This does not affect the running session, and you can undo it at any time.</p>
      <${Refused} error=${refused} />
    </div>
    <footer>
      <button onClick=${close}>Cancel</button>
      <button class="main" autofocus disabled=${busy} onClick=${act}>${off ? "Unprotect" : "Protect"}</button>
    </footer>
  `;
}
