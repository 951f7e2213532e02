// A day of sessions: bars over the hours, a lane for each project, how each ended, and the sums. What is shown is in the address.

import { html, useEffect, useMemo } from "../../vendor/preact.js";
import { addKeys } from "../keys.js";
import { want } from "../live.js";
import { useAnswer } from "../parts/answer.js";
import { Empty, Problem, Waiting } from "../parts/empty.js";
import { replace } from "../route.js";
import { Lanes } from "./timeline/lanes.js";
import { lanesOf } from "./timeline/packing.js";
import { dayName, range, step, title, ZOOMS } from "./timeline/range.js";
import { Sums } from "./timeline/sums.js";
import { SpanTable } from "./timeline/table.js";

const NOTHING = [];

export function Timeline({ query }) {
  useEffect(() => want({}), []);
  const span = useMemo(() => range(query), [query.day, query.zoom, query.hour]);
  const put = (more) => replace(["timeline"], { ...query, ...more });
  const living = span.from <= Date.now();
  const asked = { since: new Date(span.from).toISOString(), until: new Date(span.to).toISOString() };
  const { result, error, busy } = useAnswer("list_spans", asked, { live: living && Date.now() < span.to });
  const spans = result?.spans ?? NOTHING;
  const lanes = useMemo(() => lanesOf(spans, span), [spans, span]);
  useKeys(span, put);
  const table = query.as === "table";
  return html`
    <div class="head">
      <h1>Timeline</h1>
      <${Picker} span=${span} put=${put} table=${table} />
    </div>
    ${error && !result && html`<${Problem} error=${error} />`}
    ${!result && !error && html`<${Waiting} />`}
    ${result && spans.length === 0 && html`<${Nobody} first=${result.first_at} span=${span} put=${put} />`}
    ${
      result &&
      spans.length > 0 &&
      html`
        <${Sums} spans=${spans} span=${span} />
        ${
          result.left_out > 0 &&
          html`
            <p class="note warn">
              ${result.left_out} more sessions ended in this period. Choose a shorter period to see them all.
            </p>
          `
        }
        <div aria-busy=${busy}>
          ${table ? html`<${SpanTable} spans=${spans} span=${span} />` : html`<${Lanes} lanes=${lanes} span=${span} />`}
        </div>
      `
    }
  `;
}

function useKeys(span, put) {
  useEffect(
    () =>
      addKeys([
        { keys: ["["], does: "earlier", act: () => put(step(span, -1)) },
        { keys: ["]"], does: "later", act: () => put(step(span, 1)) },
        { keys: ["t"], does: "today", act: () => put({ day: "", hour: "" }) },
        { keys: ["z"], does: "zoom", act: () => put(ZOOMS.next(span)) },
      ]),
    [span],
  );
}

const Picker = ({ span, put, table }) => html`
  <div class="row picker">
    <div class="segmented" role="group" aria-label="View">
      <button aria-pressed=${!table} onClick=${() => put({ as: "" })}>Bars</button>
      <button aria-pressed=${table} onClick=${() => put({ as: "table" })}>Table</button>
    </div>
    <div class="segmented" role="group" aria-label="Period">
      ${ZOOMS.all.map(
        ([zoom, name]) => html`
          <button key=${zoom} aria-pressed=${span.zoom === zoom} onClick=${() => put(ZOOMS.to(span, zoom))}>${name}</button>
        `,
      )}
    </div>
    <div class="row dates">
      <button class="icon" aria-label="Earlier" onClick=${() => put(step(span, -1))}>‹</button>
      <input
        type="date"
        aria-label="Day"
        value=${span.day}
        onChange=${(event) => event.target.value && put({ day: event.target.value })}
      />
      <button class="icon" aria-label="Later" onClick=${() => put(step(span, 1))}>›</button>
      <button onClick=${() => put({ day: "", hour: "" })}>Today</button>
    </div>
    <span class="sr" role="status">${title(span)}</span>
  </div>
`;

const Nobody = ({ first, span, put }) => html`
  <section class="panel">
    <${Empty}
      title=${`No sessions ${span.zoom === "week" ? "this week" : "in this period"}`}
      command="lamp start -- claude"
    >
      ${title(span)}. ${first ? `The first session started on ${dayName(first)}.` : "No session has been started yet:"}
    <//>
    ${
      first &&
      html`<p class="empty-more">
      <button onClick=${() => put({ day: "", hour: "" })}>Go to today</button>
      <button class="quiet" onClick=${() => put({ day: dayName(first), hour: "" })}>Go to the first session</button>
    </p>`
    }
  </section>
`;
