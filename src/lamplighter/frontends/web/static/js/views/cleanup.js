// Cleaning up: what could go, as a plan that is looked through and then applied; and beside it what others left behind.

import { html, signal, useEffect } from "../../vendor/preact.js";
import { addKeys } from "../keys.js";
import { want } from "../live.js";
import { Problem, Waiting } from "../parts/empty.js";
import { go, href, replace } from "../route.js";
import { argumentsOf, Choice, first, fromQuery, toQuery } from "./cleanup/choice.js";
import { Leaks } from "./cleanup/leaks.js";
import { NothingToDo, Plan } from "./cleanup/plan.js";
import { Planning } from "./cleanup/planning.js";

// Kept while other views are shown: an apply goes on, and a plan that was looked through is not lost.
const planning = new Planning();
const choice = signal(first);

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export function Cleanup({ id, query }) {
  useEffect(() => want({}), []);
  useEffect(
    () =>
      addKeys([
        { keys: ["["], does: "cleanup of sessions", act: () => go(["cleanup"]) },
        { keys: ["]"], does: "leaks", act: () => go(["cleanup", "leaks"]) },
      ]),
    [],
  );
  const leaks = id === "leaks";
  return html`
    <div class="head">
      <h1>${leaks ? "Leaks" : "Cleanup"}</h1>
      <nav class="switch" aria-label="What to clean up">
        <a href=${href(["cleanup"])} aria-current=${leaks ? null : "page"}>Sessions</a>
        <a href=${href(["cleanup", "leaks"])} aria-current=${leaks ? "page" : null}>Leaks</a>
      </nav>
    </div>
    ${leaks ? html`<${Leaks} />` : html`<${Sessions} query=${query} />`}
  `;
}

function submit(chosen) {
  const args = argumentsOf(chosen);
  if (!args) return;
  replace(["cleanup"], toQuery(chosen));
  planning.make(args);
}

function Sessions({ query }) {
  useEffect(() => begin(query), [query.selection, query.older_than]);
  const phase = planning.phase.value;
  const busy = phase === "planning" || phase === "applying";
  const args = argumentsOf(choice.value);
  const changed = !same(args, planning.asked.value);
  const again = () => submit(choice.value);
  useEffect(() => addKeys([{ keys: ["r"], does: "plan again", act: again }]), []);
  return html`
    <${Choice}
      choice=${choice.value}
      change=${(next) => (choice.value = next)}
      submit=${submit}
      busy=${busy}
      changed=${changed}
    />
    ${phase === "planning" && html`<${Waiting} />`}
    ${
      phase === "none" &&
      planning.error.value &&
      html`<section class="panel"><${Problem} error=${planning.error.value} /></section>`
    }
    <${Plan}
      planning=${planning}
      again=${again}
      blocked=${changed && phase === "planned" ? "The filter has changed. Plan again." : ""}
      nothing=${html`<${NothingToDo}>${nothing(planning.plan.value)}<//>`}
    />
  `;
}

/** As the address says; without a word in it, what was there before, or the default. */
function begin(query) {
  if (planning.phase.value === "applying") return;
  const asked = Boolean(query.selection || query.older_than);
  if (!asked && planning.phase.value !== "none") return;
  const wanted = asked ? fromQuery(query) : first;
  if (same(toQuery(wanted), toQuery(choice.value)) && planning.phase.value !== "none") return;
  choice.value = wanted;
  const args = argumentsOf(wanted);
  if (args) planning.make(args);
}

const nothing = (plan) =>
  plan?.left_out.length
    ? "Nothing that matches should be ended. The reasons are listed below."
    : "No session matches. A plan appears here once something is left over.";
