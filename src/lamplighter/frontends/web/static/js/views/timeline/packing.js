// Sessions into lanes, a project each, and those that overlap into rows of a lane. Pure: knows no page.

import { part } from "./range.js";

/** As much of the width as a bar has at least, so that it can be seen and hit. */
const LEAST = 0.004;
const MOST_ROWS = 40;

/** [{key, name, bars: [{span, row, from, width, open}], rows, most}], by name; what has no project comes last. */
export function lanesOf(spans, range) {
  const found = new Map();
  for (const span of spans) {
    const key = span.project ? (span.project_id ?? span.project) : "";
    if (!found.has(key)) found.set(key, { key, name: span.project ?? "No project", spans: [] });
    found.get(key).spans.push(span);
  }
  const lanes = [...found.values()].sort(
    (one, other) => Number(one.key === "") - Number(other.key === "") || one.name.localeCompare(other.name),
  );
  return lanes.map((lane) => ({ ...lane, ...pack(lane.spans, range) }));
}

/** Each into the first row that is free when it starts; spans come in the order of their starts. */
function pack(spans, range) {
  const ends = [];
  const bars = spans.map((span) => {
    const open = span.ended_at === null;
    const from = Math.min(part(Date.parse(span.started_at), range), 1 - LEAST);
    const to = open ? 1 : Math.max(part(Date.parse(span.ended_at), range), from + LEAST);
    let row = ends.findIndex((end) => end <= from);
    if (row < 0) row = ends.length;
    ends[row] = to;
    return { span, row: row % MOST_ROWS, from, width: to - from, open };
  });
  return { bars, rows: Math.max(1, Math.min(MOST_ROWS, ends.length)), most: ends.length };
}

/** Milliseconds of a session within the stretch. */
export const lived = (span, { from, to }, now) =>
  Math.max(
    0,
    Math.min(span.ended_at ? Date.parse(span.ended_at) : now, to) - Math.max(Date.parse(span.started_at), from),
  );

export const tokensOf = (spans) => {
  const all = {};
  for (const { tokens } of spans)
    for (const [kind, number] of Object.entries(tokens ?? {})) all[kind] = (all[kind] ?? 0) + number;
  return all;
};
