// The sums of the stretch: how many sessions, how long, what they used, and how they ended, which is the key to the colours too.

import { html } from "../../../vendor/preact.js";
import { count, duration, short } from "../../format.js";
import { HOWS, How, howOf } from "../../parts/ending.js";
import { coarse } from "../../parts/tick.js";
import { lived, tokensOf } from "./packing.js";

export function Sums({ spans, span }) {
  const time = spans.reduce((all, one) => all + lived(one, span, coarse.value), 0) / 1000;
  const cpu = spans.reduce((all, one) => all + (one.cpu ?? 0), 0);
  const tokens = tokensOf(spans);
  const all = Object.values(tokens).reduce((sum, one) => sum + one, 0);
  const ways = Map.groupBy ? Map.groupBy(spans, howOf) : grouped(spans);
  const kinds = Object.entries(tokens)
    .map(([kind, number]) => `${short(number)} ${kind}`)
    .join(", ");
  return html`
    <section class="sums" aria-label="Sums">
      <dl>
        <div>
          <dt>Sessions</dt>
          <dd>${spans.length.toLocaleString("en")}</dd>
          <dd class="more">${count(ways.get("running")?.length ?? 0, "alive", "alive")}</dd>
        </div>
        <div><dt>Total time</dt><dd>${duration(time)}</dd><dd class="more">in this period</dd></div>
        <div><dt>CPU</dt><dd>${duration(cpu)}</dd><dd class="more">of these sessions</dd></div>
        <div>
          <dt>Tokens</dt>
          <dd>${all ? short(all) : "–"}</dd>
          <dd class="more" title=${kinds}>${all ? kinds : "unknown"}</dd>
        </div>
      </dl>
      <ul class="row ways" aria-label="How they ended">
        ${["running", ...HOWS].map(
          (how) => html`
            <li key=${how} class=${ways.has(how) ? "" : "none"}>
              <${How} how=${how}>${how} <b class="number">${ways.get(how)?.length ?? 0}</b><//>
            </li>
          `,
        )}
      </ul>
    </section>
  `;
}

function grouped(spans) {
  const found = new Map();
  for (const one of spans) found.set(howOf(one), [...(found.get(howOf(one)) ?? []), one]);
  return found;
}
