// How lively each session is: the rate of its CPU and output, from what it had used a moment ago. Knows rows as they come.

import { signal } from "../../../vendor/preact.js";

const SAMPLE_MS = 2000;
export const BARS = 16;
const NOTHING = { cpuRate: 0, speed: 0, bars: [] };

const pulses = new Map();
let sampledAt = 0;

/** Changes with every sample: who draws a pulse reads it. */
export const beat = signal(0);

/** {cpuRate, speed, bars}: cores in use, bytes of output a second, and those of the last half minute. */
export const pulseOf = (id) => pulses.get(id) ?? NOTHING;

/** Take a sample when it is time for one. */
export function feel(rows, now = performance.now()) {
  const seconds = (now - sampledAt) / 1000;
  if (seconds * 1000 < SAMPLE_MS) return;
  // After a pause, as of a hidden tab, the rate would be the average of the pause.
  const fresh = seconds < 15;
  sampledAt = now;
  for (const row of rows.values()) {
    const known = pulses.get(row.id);
    const speed = known && fresh ? Math.max(0, row.output - known.output) / seconds : 0;
    pulses.set(row.id, {
      cpu: row.cpu,
      output: row.output,
      cpuRate: known && fresh ? Math.max(0, row.cpu - known.cpu) / seconds : 0,
      speed,
      bars: [...(known?.bars ?? []).slice(1 - BARS), speed],
    });
  }
  if (pulses.size > 2 * rows.size + 1000) for (const id of pulses.keys()) if (!rows.has(id)) pulses.delete(id);
  beat.value += 1;
}
