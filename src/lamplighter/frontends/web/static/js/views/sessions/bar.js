// What can be done with the sessions that are marked. Ending several leads to a plan; nothing is ended from here.

import { html } from "../../../vendor/preact.js";
import { endSession } from "../../acts/end.js";
import { killSession } from "../../acts/kill.js";
import { protectSession } from "../../acts/protect.js";
import { sendTo } from "../../acts/send.js";
import { bytes, count } from "../../format.js";
import { say } from "../../parts/toast.js";
import { go } from "../../route.js";
import { clearMarks, marked } from "./shown.js";

// A selection has no more characters than this (domain/selection.py).
const LONGEST = 1000;

/** Ending several is a cleanup: a plan of exactly these, to be looked at and applied there. */
export function endMarked() {
  const selection = marked.value
    .filter((row) => row.state !== "ended")
    .map((row) => row.id)
    .join("+");
  if (!selection) return say("None of the selected sessions is running", "bad", "select running sessions");
  if (selection.length > LONGEST) {
    return say("Too many sessions selected", "bad", "use a filter in Cleanup instead, such as idle,kind:cron");
  }
  go(["cleanup"], { selection });
}

export function Bar() {
  const rows = marked.value;
  if (!rows.length) return null;
  const memory = rows.reduce((sum, row) => sum + row.memory, 0);
  const one = rows.length === 1 && rows[0].state !== "ended" ? rows[0] : null;
  return html`
    <div class="panel marked-bar" role="region" aria-label="Selected sessions">
      <span><strong>${one ? one.name : count(rows.length, "session")}</strong> selected · ${bytes(memory)}</span>
      <span class="row">
        <button class="quiet" onClick=${clearMarks}>Clear</button>
        ${
          one &&
          html`
            <button onClick=${() => sendTo(one)}>Send…</button>
            <button onClick=${() => protectSession(one)}>${one.protected ? "Unprotect…" : "Protect…"}</button>
            <button onClick=${() => endSession(one)}>End…</button>
            <button class="danger soft" onClick=${() => killSession(one)}>Kill…</button>
          `
        }
        ${!one && html`<button class="main" onClick=${endMarked}>End selected…</button>`}
      </span>
    </div>
  `;
}
