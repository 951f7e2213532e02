// The bars: a lane for each project, the hours above, a line where now is. One bar has the keyboard at a time, arrows move it on.

import { html, useRef, useState } from "../../../vendor/preact.js";
import { bytes, clock, count, day, duration, short } from "../../format.js";
import { howOf, meaning } from "../../parts/ending.js";
import { coarse } from "../../parts/tick.js";
import { href } from "../../route.js";
import { lived, tokensOf } from "./packing.js";
import { part } from "./range.js";

const TALL = 22;
const FLAT = 5;
const ROOM = 176;
const percent = (share) => `${(100 * share).toFixed(3)}%`;

export function Lanes({ lanes, span }) {
  const place = useRef(null);
  const [tip, setTip] = useState(null);
  const [first, setFirst] = useState(null);
  const reach = lanes.flatMap((lane) => lane.bars.map((bar) => bar.span.id));
  const held = reach.includes(first) ? first : reach[0];
  const point = (event) => {
    const bar = event.target.closest?.(".bar");
    if (bar) setTip({ id: bar.dataset.id, box: bar.getBoundingClientRect() });
    else setTip(null);
  };
  const focus = (event) => {
    const id = event.target.dataset?.id;
    if (id) setFirst(id);
    point(event);
  };
  return html`
    <section
      class="panel lanes"
      aria-label="Sessions over time"
      ref=${place}
      onMouseOver=${point}
      onMouseLeave=${() => setTip(null)}
      onFocusIn=${focus}
      onFocusOut=${() => setTip(null)}
      onKeyDown=${(event) => move(event, lanes, held, place.current)}
    >
      <${Axis} span=${span} />
      ${lanes.map(
        (lane) => html`
          <${Lane} key=${lane.key} lane=${lane} span=${span} held=${lane.bars.some((bar) => bar.span.id === held) ? held : ""} />
        `,
      )}
      <${Tip} tip=${tip} lanes=${lanes} />
    </section>
  `;
}

const Axis = ({ span }) => html`
  <div class="axis" aria-hidden="true">
    <div class="track">
      ${span.ticks.map(({ at, name }) => html`<span key=${at} style=${{ left: percent(part(at, span)) }}>${name}</span>`)}
    </div>
  </div>
`;

function Lane({ lane, span, held }) {
  const height = Math.max(FLAT, Math.min(TALL, Math.floor(ROOM / lane.rows)));
  return html`
    <div
      class=${`lane ${height < 14 ? "flat" : ""}`}
      role="group"
      aria-label=${`${lane.name}, ${count(lane.bars.length, "session")}`}
    >
      <div class="title">
        <strong>${lane.name}</strong>
        <small class="muted"><${LaneSums} lane=${lane} span=${span} /></small>
      </div>
      <div class="track" style=${{ minHeight: `${lane.rows * (height + 2) + 10}px` }}>
        ${span.ticks.map(({ at }) => html`<i key=${at} class="tick" style=${{ left: percent(part(at, span)) }}></i>`)}
        <${Now} span=${span} />
        ${lane.bars.map(
          (bar) => html`
            <${Bar} key=${bar.span.id} bar=${bar} span=${span} height=${height} reached=${bar.span.id === held} />
          `,
        )}
      </div>
    </div>
  `;
}

function LaneSums({ lane, span }) {
  const time = lane.spans.reduce((all, one) => all + lived(one, span, coarse.value), 0) / 1000;
  const tokens = Object.values(tokensOf(lane.spans)).reduce((all, one) => all + one, 0);
  return html`
    ${count(lane.spans.length, "session")} · ${duration(time)}${tokens ? ` · ${short(tokens)} tokens` : ""}
    ${lane.most > 1 ? ` · ${lane.most} at once` : ""}
  `;
}

/** Where now is; only this is drawn again as time passes. */
function Now({ span }) {
  const at = coarse.value;
  return at >= span.from && at < span.to && html`<i class="now" style=${{ left: percent(part(at, span)) }}></i>`;
}

function Bar({ bar, span, height, reached }) {
  const { span: one } = bar;
  const width = bar.open ? Math.max(0.004, part(coarse.value, span) - bar.from) : bar.width;
  const style = {
    left: percent(bar.from),
    width: percent(width),
    top: `${5 + bar.row * (height + 2)}px`,
    height: `${height}px`,
  };
  return html`
    <a
      class=${`bar how-${howOf(one)}`}
      data-id=${one.id}
      tabindex=${reached ? 0 : -1}
      href=${href(["sessions", one.id])}
      aria-label=${words(one)}
      style=${style}
    >
      ${height >= 14 && html`<span>${one.name}</span>`}
    </a>
  `;
}

const words = (one) => {
  const until = one.ended_at ? `until ${clock(one.ended_at)}, ${howOf(one)}` : "still running";
  return `${one.name}, from ${clock(one.started_at)} ${until}`;
};

/** Left and right within a lane, up and down between lanes to what is nearest in time. */
function move(event, lanes, held, root) {
  const lane = lanes.findIndex(({ bars }) => bars.some((bar) => bar.span.id === held));
  if (lane < 0 || !event.target.classList.contains("bar")) return;
  const { bars } = lanes[lane];
  const place = bars.findIndex((bar) => bar.span.id === held);
  const beside = { ArrowLeft: bars[place - 1], ArrowRight: bars[place + 1], Home: bars[0], End: bars.at(-1) };
  const across = { ArrowUp: lanes[lane - 1], ArrowDown: lanes[lane + 1] };
  if (!(event.key in beside) && !(event.key in across)) return;
  event.preventDefault();
  const next = beside[event.key] ?? (across[event.key] && nearest(across[event.key].bars, bars[place].from));
  if (next) root.querySelector(`[data-id="${CSS.escape(next.span.id)}"]`)?.focus();
}

const nearest = (bars, from) =>
  bars.reduce((best, bar) => (Math.abs(bar.from - from) < Math.abs(best.from - from) ? bar : best));

function Tip({ tip, lanes }) {
  const bar = tip && lanes.flatMap((lane) => lane.bars).find((one) => one.span.id === tip.id);
  if (!bar) return null;
  const one = bar.span;
  const above = tip.box.top > 220;
  const style = {
    left: `${Math.max(8, Math.min(innerWidth - 288, tip.box.left))}px`,
    ...(above ? { bottom: `${innerHeight - tip.box.top + 6}px` } : { top: `${tip.box.bottom + 6}px` }),
  };
  return html`
    <div class="tip" style=${style} aria-hidden="true">
      <strong>${one.name}</strong>
      <dl class="facts">
        <div>
          <dt>When</dt>
          <dd>${day(one.started_at)} ${clock(one.started_at)} – ${one.ended_at ? clock(one.ended_at) : "now"}</dd>
        </div>
        <div>
          <dt>For</dt>
          <dd>
            ${duration(((one.ended_at ? Date.parse(one.ended_at) : Date.now()) - Date.parse(one.started_at)) / 1000)}
          </dd>
        </div>
        <div><dt>How</dt><dd>${howOf(one)}: ${meaning(howOf(one))}</dd></div>
        <div><dt>Agent</dt><dd>${one.agent}, ${one.kind}</dd></div>
        ${one.cpu != null && html`<div><dt>CPU</dt><dd>${one.cpu < 60 ? `${one.cpu.toFixed(1)}s` : duration(one.cpu)}</dd></div>`}
        ${one.memory != null && html`<div><dt>Memory</dt><dd>${bytes(one.memory)}</dd></div>`}
        ${one.tokens && html`<div><dt>Tokens</dt><dd>${tokenWords(one.tokens)}</dd></div>`}
      </dl>
    </div>
  `;
}

export const tokenWords = (tokens) =>
  Object.entries(tokens)
    .map(([kind, number]) => `${short(number)} ${kind}`)
    .join(", ");
