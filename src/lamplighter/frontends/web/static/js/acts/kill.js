// Killing a session: what will happen first; one that is active needs its name typed; the certificate in the end.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { openDialog } from "../parts/dialog.js";
import { Refused, Waiting } from "../parts/empty.js";
import { isActive } from "../parts/verdict.js";
import { endSession } from "./end.js";
import { Done, Going, Over, useEnding } from "./ending.js";
import { Consequences, useSubject } from "./subject.js";

export const killSession = (row) => openDialog(Kill, { row, wide: true, stays: true });

function Kill({ row, close }) {
  const ending = useEnding("kill_session");
  const [session, problem] = useSubject(row, ending.phase === "asking");
  const [typed, setTyped] = useState("");
  if (ending.phase === "going") return html`<${Going} row=${row} word="Killing" close=${close} />`;
  if (ending.phase === "done") return html`<${Done} result=${ending.result} close=${close} />`;
  if (session?.ending && session.state === "ended") return html`<${Over} session=${session} close=${close} />`;
  // What was active when somebody looked stays so for this dialog only as long as it is: the daemon looks once more itself.
  const active = session ? isActive(session) || ending.error?.code === "ACTIVE" : true;
  const meant = !active || [row.name, row.id].includes(typed.trim());
  const submit = (event) => {
    event.preventDefault();
    if (!session || !meant) return;
    const form = new FormData(event.target);
    ending.go({
      session: row.id,
      force: active,
      grace: String(form.get("grace") || "").trim() || null,
      reason: String(form.get("reason") ?? "").trim(),
    });
  };
  return html`
    <header><h2 id="dialog-title">Kill ${row.name}?</h2></header>
    <form class="body" id="kill-form" onSubmit=${submit}>
      <p class="muted">All processes get SIGTERM now and SIGKILL after the grace period. Unsaved work is lost.</p>
      ${session ? html`<${Consequences} session=${session} how="Kills" />` : html`<${Waiting} />`}
      <div class="pair">
        <label>Reason<input name="reason" maxlength="2000" placeholder="stored with the session" /></label>
        <label>
          Grace<input name="grace" placeholder="default" pattern="[0-9.]+(ms|s|m|h)?" title="5s; 0 for KILL at once" />
        </label>
      </div>
      ${session && active && html`<${Sure} row=${row} typed=${typed} setTyped=${setTyped} />`}
      <${Refused} error=${ending.error ?? problem} />
    </form>
    <footer>
      <button onClick=${() => endSession(row)}>End gracefully instead</button>
      <span class="spring"></span>
      <button onClick=${close} autofocus=${!(session && active)}>Cancel</button>
      <button class="danger" type="submit" form="kill-form" disabled=${!session || !meant}>Kill it</button>
    </footer>
  `;
}

function Sure({ row, typed, setTyped }) {
  const field = useRef(null);
  useEffect(() => void (document.activeElement?.value || field.current.focus()), []); // not out of what somebody is writing
  return html`
    <label class="sure">
      <span>This session is active. To kill it anyway, type its name: <code>${row.name}</code></span>
      <input
        ref=${field}
        autofocus
        value=${typed}
        onInput=${(event) => setTyped(event.target.value)}
        autocomplete="off"
        spellcheck=${false}
        autocapitalize="off"
      />
    </label>
  `;
}
