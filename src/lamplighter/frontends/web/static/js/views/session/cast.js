// A recording: its events with their times, as asciicast v2 or v3 has them, and the time they take when nothing happens for long.
// Knows no screen.

import { callInParts } from "../../api.js";

const MOST = 12_000_000; // bytes of output
const IDLE_SECONDS = 1.5;

/** {rows, cols, events: [{at, kind, data}], played, printed}: kind is o (output), r (a size) or m (a mark); played and printed
    are bytes. */
export async function loadCast({ id, output }, signal) {
  const since = Math.max(0, output - MOST);
  const parts = [];
  let lost = 0;
  const take = (part) => {
    parts.push(part.text);
    lost += part.lost;
  };
  await callInParts("read_output", { session: id, mode: "cast", since, follow: true }, take, { signal });
  return { ...parseCast(parts.join("")), played: Math.max(0, output - since - lost), printed: output };
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
    if (event[1] === "o" || event[1] === "r" || event[1] === "m")
      events.push({ at: now, kind: event[1], data: String(event[2]) });
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
