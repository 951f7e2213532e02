// Ending a session politely: what will happen first, a hand-off if one wants to leave it, the certificate in the end.

import { html } from "../../vendor/preact.js";
import { openDialog } from "../parts/dialog.js";
import { Refused, Waiting } from "../parts/empty.js";
import { Done, Going, Over, useEnding } from "./ending.js";
import { Consequences, useSubject } from "./subject.js";

/** Cancel has the focus: what somebody meant to type into a terminal, Enter and all, ends nothing. */
export const endSession = (row) => openDialog(End, { row, wide: true, stays: true });

/** [name, label, one a line] */
const FIELDS = [
  ["checkpoint", "Current state of the work", false],
  ["next_session_focus", "Where to continue", false],
  ["decisions", "Decisions, one per line", true],
  ["open_loops", "Open items, one per line", true],
  ["warnings", "Warnings, one per line", true],
  ["epitaph", "Closing remark", false],
];

function End({ row, close }) {
  const ending = useEnding("end_session");
  const [session, problem] = useSubject(row, ending.phase === "asking");
  if (ending.phase === "going") return html`<${Going} row=${row} word="Ending" close=${close} />`;
  if (ending.phase === "done") return html`<${Done} result=${ending.result} close=${close} />`;
  if (session?.ending && session.state === "ended") return html`<${Over} session=${session} close=${close} />`;
  const submit = (event) => {
    event.preventDefault();
    ending.go({ session: row.id, ...given(new FormData(event.target)) });
  };
  return html`
    <header><h2 id="dialog-title">End ${row.name}?</h2></header>
    <form class="body" id="end-form" onSubmit=${submit}>
      <p class="muted">The program is asked to quit. What still runs then gets SIGTERM, and SIGKILL after the grace period.</p>
      ${session ? html`<${Consequences} session=${session} how="Ends" />` : html`<${Waiting} />`}
      <${Fields} />
      <${Refused} error=${ending.error ?? problem} />
    </form>
    <footer>
      <button onClick=${close} autofocus>Cancel</button>
      <button class="danger" type="submit" form="end-form" disabled=${!session}>End it</button>
    </footer>
  `;
}

const Fields = () => html`
  <div class="pair">
    <label>Reason<input name="reason" maxlength="2000" placeholder="stored with the session" /></label>
    <label>Grace<input name="grace" placeholder="default" pattern="[0-9.]+(ms|s|m|h)?" title="5s, 30s, 2m" /></label>
  </div>
  <details>
    <summary>Leave a hand-off</summary>
    <div class="stack">
      ${FIELDS.map(
        ([name, label]) => html`<label key=${name}>${label}<textarea name=${name} rows="2"></textarea></label>`,
      )}
      <label>Succession
        <select name="succession_policy">
          <option value="">default</option>
          <option value="successor_required">a successor is required</option>
          <option value="successor_allowed">a successor is allowed</option>
          <option value="closed_without_successor">closed without a successor</option>
        </select>
      </label>
    </div>
  </details>
`;

/** What was filled in; the rest is left to the operation. */
function given(form) {
  const text = (name) => String(form.get(name) ?? "").trim();
  const found = { reason: text("reason") };
  for (const name of ["grace", "succession_policy"]) if (text(name)) found[name] = text(name);
  for (const [name, , many] of FIELDS) {
    const lines = text(name)
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    if (lines.length) found[name] = many ? lines : text(name);
  }
  return found;
}
