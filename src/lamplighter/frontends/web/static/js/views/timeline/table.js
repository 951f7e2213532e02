// The same as a table, for those who would rather read, and for screen readers.

import { html } from "../../../vendor/preact.js";
import { bytes, clock, day, duration, short } from "../../format.js";
import { How, howOf } from "../../parts/ending.js";
import { href } from "../../route.js";

const moment = (at, span) =>
  at ? `${span.zoom === "week" || Date.parse(at) < span.from ? `${day(at)} ` : ""}${clock(at)}` : "now";
const length = (one) =>
  duration(((one.ended_at ? Date.parse(one.ended_at) : Date.now()) - Date.parse(one.started_at)) / 1000);
const tokens = (one) => (one.tokens ? short(Object.values(one.tokens).reduce((all, number) => all + number, 0)) : "");

export const SpanTable = ({ spans, span }) => html`
  <section class="panel spans" aria-label="Sessions in this period">
    <table>
      <thead>
        <tr>
          <th>Session</th>
          <th class="wide-only">Project</th>
          <th class="figure">From</th>
          <th class="figure">Until</th>
          <th class="figure wide-only">For</th>
          <th>How</th>
          <th class="figure wide-only">CPU</th>
          <th class="figure wide-only">Memory</th>
          <th class="figure wide-only">Tokens</th>
        </tr>
      </thead>
      <tbody>
        ${spans.map(
          (one) => html`
            <tr key=${one.id}>
              <td><a href=${href(["sessions", one.id])}>${one.name}</a></td>
              <td class="wide-only">${one.project}</td>
              <td class="figure">${moment(one.started_at, span)}</td>
              <td class="figure">${moment(one.ended_at, span)}</td>
              <td class="figure wide-only">${length(one)}</td>
              <td><${How} how=${howOf(one)} /></td>
              <td class="figure wide-only">${one.cpu == null ? "" : `${one.cpu.toFixed(1)}s`}</td>
              <td class="figure wide-only">${one.memory == null ? "" : bytes(one.memory)}</td>
              <td class="figure wide-only">${tokens(one)}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  </section>
`;
