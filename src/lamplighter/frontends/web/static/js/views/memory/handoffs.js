// What sessions have left to the next: those that somebody must go on from first.

import { html } from "../../../vendor/preact.js";
import { count } from "../../format.js";
import { useAnswer } from "../../parts/answer.js";
import { Empty, Problem, Waiting } from "../../parts/empty.js";
import { Ago } from "../../parts/tick.js";
import { href } from "../../route.js";
import { EVERYWHERE, nameOf } from "./projects.js";
import { sourceName } from "./record.js";

const MOST = 100;

export function Handoffs({ chosen }) {
  const of = chosen && chosen !== EVERYWHERE ? { project: chosen } : {};
  const { result: waiting, error } = useAnswer("list_handoffs", { ...of, waiting: true, limit: MOST });
  const { result: newest } = useAnswer("list_handoffs", { ...of, limit: MOST });
  if (error && !waiting) return html`<${Problem} error=${error} />`;
  if (!waiting || !newest) return html`<${Waiting} />`;
  const known = new Set(waiting.handoffs.map((one) => one.id));
  const others = newest.handoffs.filter((one) => !known.has(one.id));
  if (!waiting.handoffs.length && !others.length) {
    return html`
      <section class="panel">
        <${Empty}
          title=${`No hand-offs in ${nameOf(chosen)} yet`}
          command="lamp end NAME --checkpoint 'the parser reads all but dates'"
        >
          When a session ends, what it knows is kept for the next. Of one that says nothing itself it is inferred:
        <//>
      </section>
    `;
  }
  return html`
    ${waiting.handoffs.length > 0 && html`<${List} title="Needs a successor" rows=${waiting.handoffs} waits />`}
    ${others.length > 0 && html`<${List} title=${waiting.handoffs.length ? "Other hand-offs" : "Hand-offs"} rows=${others} />`}
  `;
}

const List = ({ title, rows, waits }) => html`
  <section class=${`panel handoffs ${waits ? "waits" : ""}`} aria-label=${title}>
    <header>
      <h2>${title}</h2>
      <small class="muted">${rows.length === MOST ? `the newest ${MOST}` : count(rows.length, "hand-off")}</small>
    </header>
    <ol>${rows.map((row) => html`<li key=${row.id}><${Row} row=${row} /></li>`)}</ol>
  </section>
`;

const Row = ({ row }) => html`
  <div class="row spread">
    <div class="row">
      ${
        row.session
          ? html`<a class="name" href=${href(["sessions", row.session, "handoff"])}>${row.name ?? row.session}</a>`
          : html`<strong>no session</strong>`
      }
      ${row.waiting && html`<span class="verdict waiting"><i aria-hidden="true"></i>needs a successor</span>`}
      ${row.source === "inferred" && html`<span class="chip">inferred</span>`}
      ${row.succession_policy && !row.waiting && html`<span class="chip">${row.succession_policy.replaceAll("_", " ")}</span>`}
    </div>
    <span class="muted"><${Ago} at=${row.at} /></span>
  </div>
  <p class="words short">${row.summary}</p>
  <ul class="row from muted">
    ${row.project && html`<li>${nameOf(row.project)}</li>`}
    <li>${sourceName(row.source)}</li>
    ${row.successor && html`<li>continued by <a href=${href(["sessions", row.successor])}>${row.successor}</a></li>`}
    ${row.session && html`<li><a href=${href(["memory", "lineage", row.session])}>lineage</a></li>`}
    ${row.session && html`<li><a href=${href(["memory", "packet"], { session: row.session })}>packet</a></li>`}
  </ul>
`;
