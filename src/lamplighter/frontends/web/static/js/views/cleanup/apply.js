// The question before a plan is applied: what will end, how, and what is lost. An active session needs a tick of its own.

import { html, useState } from "../../../vendor/preact.js";
import { bytes, count } from "../../format.js";
import { isActive } from "../../parts/verdict.js";

export function Apply({ planning, close }) {
  const [reason, setReason] = useState("");
  const [sure, setSure] = useState(false);
  const plan = planning.plan.value;
  const rows = planning.ticked;
  const active = plan.leaks ? [] : rows.filter((row) => isActive({ ...row, state: "running", attached: 0 }));
  const likely = plan.leaks ? rows.filter((row) => row.verdict === "likely") : [];
  const what = count(rows.length, plan.leaks ? "leak" : "session");
  const onSubmit = (event) => {
    event.preventDefault();
    close();
    planning.apply({ reason: reason.trim() });
  };
  return html`
    <header><h2 id="dialog-title">End ${what}?</h2></header>
    <form id="apply" class="body" onSubmit=${onSubmit}>
      <p>
        This ends <strong>${count(sum(rows, "processes"), "process", "processes")}</strong> and frees
        <strong> ${bytes(sum(rows, "memory"))}</strong>. ${plan.leaks ? LEAKS : SESSIONS}
      </p>
      <ul class="names">
        ${rows.slice(0, 12).map((row) => html`<li key=${row.id} class="chip">${row.name}</li>`)}
        ${rows.length > 12 && html`<li class="muted">and ${rows.length - 12} more</li>`}
      </ul>
      ${
        active.length > 0 &&
        html`
          <label class="check note warn">
            <input type="checkbox" checked=${sure} onChange=${(event) => setSure(event.target.checked)} />
            <span>${activeWords(active)}</span>
          </label>
        `
      }
      ${
        likely.length > 0 &&
        html`
          <label class="check note warn">
            <input type="checkbox" checked=${sure} onChange=${(event) => setSure(event.target.checked)} />
            <span>
              ${count(likely.length, "of these is", "of these are")} only likely leaks: they may still be needed. End
              ${" "}${likely.length === 1 ? "it" : "them"} anyway.
            </span>
          </label>
        `
      }
      <label>
        Reason
        <input
          value=${reason}
          maxlength="2000"
          placeholder="optional, stored with each session"
          onInput=${(event) => setReason(event.target.value)}
        />
      </label>
    </form>
    <footer>
      <button onClick=${close} autofocus>Cancel</button>
      <button class="danger" type="submit" form="apply" disabled=${active.length + likely.length > 0 && !sure}>
        End ${what}
      </button>
    </footer>
  `;
}

const SESSIONS =
  "Each is checked again and skipped if it has changed. It is asked to quit first; what still runs five seconds " +
  "after SIGTERM is killed. Unsaved work is lost. A hand-off is inferred where there is none.";
const LEAKS =
  "Each is checked again and skipped if it is no longer a leak. What still runs five seconds after SIGTERM is killed.";

const sum = (rows, field) => rows.reduce((total, row) => total + row[field], 0);

function activeWords(active) {
  const verdicts = [...new Set(active.map((row) => row.verdict))].join(", ");
  return active.length === 1
    ? `${active[0].name} is active (${verdicts}). End it anyway.`
    : `${active.length} of these are active (${verdicts}). End them anyway.`;
}
