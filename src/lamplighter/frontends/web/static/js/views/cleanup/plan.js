// A plan as a table: what would go and why, what is left out; and once it is applied what came of each row, as it comes.

import { html, useEffect, useRef } from "../../../vendor/preact.js";
import { bytes, count } from "../../format.js";
import { addKeys } from "../../keys.js";
import { openDialog } from "../../parts/dialog.js";
import { Empty } from "../../parts/empty.js";
import { isPast, Until } from "../../parts/tick.js";
import { Apply } from "./apply.js";
import { LeftOut } from "./leftout.js";
import { STALE } from "./planning.js";
import { Row } from "./row.js";

export const things = (plan, number) => count(number, plan.leaks ? "leak" : "session");
const processes = (number) => count(number, "process", "processes");
const sum = (rows, field) => rows.reduce((total, row) => total + row[field], 0);

/** `blocked` says why the plan cannot be applied as it is; `again` makes another; `nothing` is shown for a plan without rows. */
export function Plan({ planning, again, blocked = "", nothing, after }) {
  const plan = planning.plan.value;
  const place = useRef(null);
  useEffect(() => addKeys(keys(place, () => ask(planning, blocked))), [planning, blocked]);
  if (!plan) return null;
  if (!plan.rows.length) {
    return html`<section class="panel">${nothing}<${LeftOut} plan=${plan} open=${true} /></section>`;
  }
  const phase = planning.phase.value;
  const applying = phase === "applying" || phase === "applied";
  return html`
    <section class="panel plan" ref=${place} aria-label="The plan" aria-busy=${phase === "planning" || phase === "applying"}>
      <header>
        <${Said} planning=${planning} />
        <${Acts} planning=${planning} again=${again} blocked=${blocked} after=${after} />
      </header>
      <${Stale} planning=${planning} again=${again} />
      <table class="cards">
        <thead>
          <tr>
            <th scope="col" class="tickbox"><${All} planning=${planning} fixed=${applying} /></th>
            <th scope="col">${plan.leaks ? "Leak" : "Session"}</th>
            <th scope="col">${plan.leaks ? "Certainty and reasons" : "Verdict"}</th>
            <th scope="col" class="figure">Processes</th>
            <th scope="col" class="figure">Memory</th>
            <th scope="col" class="figure">${plan.leaks ? "Age" : "Quiet"}</th>
            ${applying && html`<th scope="col" class="result">Outcome</th>`}
          </tr>
        </thead>
        <tbody>
          ${plan.rows.map(
            (row) => html`
              <${Row} key=${row.id} row=${row} planning=${planning} leaks=${plan.leaks} applying=${applying} />
            `,
          )}
        </tbody>
      </table>
      <${LeftOut} plan=${plan} />
    </section>
  `;
}

/** The plan, or what it came to, in one sentence. */
function Said({ planning }) {
  const plan = planning.plan.value;
  const phase = planning.phase.value;
  if (phase === "applied") return html`<div role="status"><${Done} plan=${plan} /></div>`;
  if (phase === "applying") {
    const done = planning.done.value.size;
    return html`
      <div role="status" class="going">
        <h2>${done} of ${things(plan, plan.rows.length)} done</h2>
        <progress max=${plan.rows.length} value=${done} aria-label="Rows that are done"></progress>
        ${
          planning.interrupted.value &&
          html`<small class="muted">The daemon is unavailable. It continues with this plan once it is back.</small>`
        }
      </div>
    `;
  }
  const rows = planning.ticked;
  const kept = plan.rows.length - rows.length;
  return html`
    <div>
      <h2>
        ${
          rows.length
            ? html`Frees ${bytes(sum(rows, "memory"))}: ${processes(sum(rows, "processes"))} of ${things(plan, rows.length)}`
            : "Nothing selected"
        }
      </h2>
      <small class="muted">
        ${kept > 0 && `${count(kept, "row")} excluded · `}nothing has ended yet · valid for
        ${" "}<${Until} at=${plan.expires_at} over="no longer" />
      </small>
    </div>
  `;
}

function Done({ plan }) {
  const { ended, skipped, survived, failed, memory } = plan.sums;
  const rest = [
    [skipped, "skipped"],
    [survived, "with survivors"],
    [failed, "failed"],
  ].filter(([number]) => number);
  return html`
    <h2>
      ${ended ? `Ended ${things(plan, ended)}: ${processes(plan.sums.processes)}, ${bytes(memory)} freed` : "Nothing was ended"}
    </h2>
    ${
      rest.length > 0 &&
      html`
        <small class=${survived || failed ? "bad" : "muted"}>
          ${rest.map(([number, word]) => `${number} ${word}`).join(" · ")}
        </small>
      `
    }
  `;
}

function Acts({ planning, again, blocked, after }) {
  const plan = planning.plan.value;
  const phase = planning.phase.value;
  if (phase === "applied")
    return html`<div class="row">${after ?? html`<button class="main" onClick=${again}>Plan again</button>`}</div>`;
  if (phase === "applying") return null;
  const number = planning.ticked.length;
  return html`
    <div class="row">
      ${blocked && html`<small class="muted">${blocked}</small>`}
      <button class="danger" disabled=${!canApply(planning, blocked)} onClick=${() => ask(planning, blocked)}>
        End ${things(plan, number)}…
      </button>
    </div>
  `;
}

const canApply = (planning, blocked) =>
  !blocked &&
  planning.phase.value === "planned" &&
  planning.ticked.length > 0 &&
  !isPast(planning.plan.value.expires_at) &&
  !isStale(planning);

const isStale = (planning) => STALE.includes(planning.error.value?.code);

function ask(planning, blocked) {
  if (planning.plan.value && canApply(planning, blocked)) openDialog(Apply, { planning });
}

/** Why it cannot be applied any more, or what went wrong; and another plan with one click. */
function Stale({ planning, again }) {
  const error = planning.error.value;
  const over = planning.phase.value === "planned" && isPast(planning.plan.value.expires_at);
  if (!error && !over) return null;
  const told =
    error && !over ? error.message : "This plan has expired. A plan is valid for ten minutes, as sessions change.";
  return html`
    <div class="note warn expired" role="alert">
      <span>${told} ${error && !over && !isStale(planning) && error.hint}</span>
      <button onClick=${again}>Plan again</button>
    </div>
  `;
}

function All({ planning, fixed }) {
  const plan = planning.plan.value;
  const some = planning.ticked.length;
  const every = some === plan.rows.length;
  if (fixed) return html`<span class="sr">Done</span>`;
  return html`
    <input
      type="checkbox"
      aria-label="All rows"
      checked=${every}
      ref=${(input) => input && ((input.indeterminate = some > 0 && !every))}
      onChange=${() =>
        planning.tick(
          plan.rows.map((row) => row.id),
          !every,
        )}
    />
  `;
}

const isText = (target) =>
  /^(TEXTAREA|SELECT)$/.test(target.tagName) || (target.tagName === "INPUT" && target.type !== "checkbox");

/** Keys work at a tick box too, where they type nothing. */
function keys(place, apply) {
  const step = (by) => (event) => {
    if (isText(event.target) || !place.current) return false;
    const boxes = [...place.current.querySelectorAll("tbody .tickbox input")];
    const here = boxes.indexOf(document.activeElement);
    boxes[here < 0 ? 0 : Math.max(0, Math.min(boxes.length - 1, here + by))]?.focus();
    return boxes.length > 0;
  };
  return [
    { keys: ["j", "ArrowDown"], does: "next row of the plan; Space selects it", act: step(1), always: true },
    { keys: ["k", "ArrowUp"], does: "row before", act: step(-1), always: true },
    {
      keys: ["a"],
      does: "apply the plan (asks first)",
      act: (event) => (isText(event.target) ? false : apply()),
      always: true,
    },
  ];
}

export const NothingToDo = ({ children }) => html`<${Empty} title="Nothing to clean up">${children}<//>`;
