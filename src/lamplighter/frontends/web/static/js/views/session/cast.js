// A recording: its events with their times, as asciicast v2 or v3 has them, and the time they take when nothing happens for long.
// Knows no screen.

import { callInParts } from "../../api.js";

const MOST = 20 << 20;
const IDLE_SECONDS = 1.5;

/** {rows, cols, events: [{at, kind, data}], cut}: kind is o (output), r (a size) or m (a mark). */
export async function loadCast(session, signal) {
  const enough = new AbortController();
  const parts = [];
  let size = 0;
  const take = ({ text }) => {
    parts.push(text);
    size += text.length;
    if (size > MOST) enough.abort();
  };
  const stop = AbortSignal.any([signal, enough.signal]);
  await callInParts("read_output", { session, mode: "cast", follow: true }, take, { signal: stop }).catch((error) => {
    if (!enough.signal.aborted || signal.aborted) throw error;
  });
  return { ...parseCast(parts.join("")), cut: size > MOST };
}

export function parseCast(text) {
  const lines = text.split("\n").filter(Boolean);
  const header = parsed(lines.shift()) ?? {};
  const relative = header.version === 3;
  const events = [];
  let now = 0;
  for (const line of lines) {
    const event = parsed(line);
    if (!Array.isArray(event) || event.length < 3) continue; // a line that was cut off, a comment
    now = relative ? now + event[0] : Math.max(now, event[0]);
    if (event[1] === "o" || event[1] === "r" || event[1] === "m") events.push({ at: now, kind: event[1], data: String(event[2]) });
  }
  return { rows: header.height ?? header.term?.rows ?? 24, cols: header.width ?? header.term?.cols ?? 80, events };
}

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/** When each event comes, in seconds; with `skipIdle` no pause is longer than a moment. */
export function timetable(events, skipIdle) {
  let before = 0;
  let now = 0;
  return events.map(({ at }) => {
    const pause = at - before;
    before = at;
    now += skipIdle ? Math.min(pause, IDLE_SECONDS) : pause;
    return now;
  });
}

/** A size as a recording says it: 120x40. */
export function sizeOf(data) {
  const [cols, rows] = data.split("x").map(Number);
  return cols > 0 && rows > 0 && cols <= 1000 && rows <= 1000 ? { cols, rows } : null;
}
