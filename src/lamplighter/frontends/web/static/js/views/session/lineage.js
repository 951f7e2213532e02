// The line that a session is in: who it went on from, and who went on from it.

import { html, useEffect, useState } from "../../../vendor/preact.js";
import { call } from "../../api.js";
import { clock, day } from "../../format.js";
import { Problem, Waiting } from "../../parts/empty.js";
import { Verdict } from "../../parts/verdict.js";
import { href } from "../../route.js";

export function Lineage({ session }) {
  const [found, setFound] = useState({ line: null, problem: null });
  useEffect(() => {
    let over = false;
    call("get_lineage", { session: session.id }).then(
      (line) => !over && setFound({ line, problem: null }),
      (problem) => !over && setFound({ line: null, problem }),
    );
    return () => (over = true);
  }, [session.id, session.predecessor, session.successor, session.state, session.handoff?.id]);
  if (found.problem) return html`<section class="panel"><${Problem} error=${found.problem} /></section>`;
  if (!found.line) return html`<${Waiting} />`;
  const { generations, cut } = found.line;
  return html`
    <section class="panel" aria-labelledby="lineage-title">
      <header>
        <h2 id="lineage-title">Lineage</h2>
        <span class="muted">
          ${generations.length === 1 ? "no predecessor, no successor" : `${generations.length} generations`}
        </span>
      </header>
      <ol class="lineage">
        ${generations.map((one) => html`<${Generation} key=${one.id} one=${one} />`)}
      </ol>
      ${cut && html`<p class="body muted">The lineage continues. Open its first or last session to see more.</p>`}
    </section>
  `;
}

const when = (moment) => (moment ? `${day(moment)} ${clock(moment)}` : "");

const Generation = ({ one }) => html`
  <li class=${one.asked ? "asked" : ""} style=${{ "--depth": Math.min(one.depth, 12) }}>
    <span class="knot" aria-hidden="true"></span>
    <div>
      <div class="row">
        ${
          one.asked
            ? html`<strong aria-current="true">${one.name}</strong>`
            : html`<a href=${href(["sessions", one.id])}><strong>${one.name}</strong></a>`
        }
        <${Verdict} row=${{ ...one, verdict: one.state }} />
        <span class="muted">${one.agent} · ${when(one.started_at)}${one.how && ` · ${one.how}`}</span>
      </div>
      ${one.handoff && html`<p>${one.inferred && html`<span class="chip">inferred</span> `}${one.handoff}</p>`}
      ${one.succession_policy === "successor_required" && html`<p class="muted">Needs a successor.</p>`}
    </div>
  </li>
`;
