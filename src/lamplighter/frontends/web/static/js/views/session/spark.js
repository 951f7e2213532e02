// Memory and CPU since the page was opened, as two small lines. Knows figures and when they were true.

import { html, useEffect, useState } from "../../../vendor/preact.js";
import { bytes } from "../../format.js";
import { detail } from "../../live.js";

const EVERY_MS = 2000;
const KEPT = 90;
const WIDTH = 120;
const HEIGHT = 28;

/** [{memory, load}], the newest last. */
export function useSamples(id) {
  const [samples, setSamples] = useState([]);
  useEffect(() => {
    let before = null;
    const look = () => {
      const found = detail.peek();
      if (found?.id !== id || found.state === "ended") return;
      const now = { at: performance.now(), cpu: found.cpu, memory: found.memory };
      const load = before ? Math.max(0, (now.cpu - before.cpu) / ((now.at - before.at) / 1000)) : 0;
      before = now;
      setSamples((known) => [...known.slice(1 - KEPT), { memory: now.memory, load }]);
    };
    look();
    const timer = setInterval(look, EVERY_MS);
    return () => clearInterval(timer);
  }, [id]);
  return samples;
}

function points(values, least) {
  const top = Math.max(least, ...values) * 1.1;
  const step = WIDTH / Math.max(1, KEPT - 1);
  const start = WIDTH - (values.length - 1) * step;
  return values
    .map(
      (value, place) =>
        `${(start + place * step).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 2)).toFixed(1)}`,
    )
    .join(" ");
}

const Line = ({ values, least, label, figure, kind }) => html`
  <figure class="spark">
    <figcaption><span class="muted">${label}</span><strong class="number">${figure}</strong></figcaption>
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" class=${kind}>
      <line x1="0" x2=${WIDTH} y1=${HEIGHT - 0.5} y2=${HEIGHT - 0.5} />
      ${values.length > 1 && html`<polyline points=${points(values, least)} />`}
    </svg>
  </figure>
`;

export function Sparks({ session }) {
  const samples = useSamples(session.id);
  const load = samples.at(-1)?.load ?? 0;
  return html`
    <div class="sparks">
      <${Line}
        label="Memory"
        kind="memory"
        least=${1e6}
        figure=${bytes(session.memory)}
        values=${samples.map((one) => one.memory)}
      />
      <${Line}
        label="CPU"
        kind="cpu"
        least=${0.1}
        figure=${`${Math.round(load * 100)}%`}
        values=${samples.map((one) => one.load)}
      />
    </div>
  `;
}
