// What is to be seen: of the sessions that came those that are asked for, in order, flat or as a tree; the cursor and the marks.
// Outlives the view, so that whoever comes back finds the list as it was.

import { batch, computed, signal } from "../../../vendor/preact.js";
import { sessions } from "../../live.js";
import { wordOf } from "../../parts/verdict.js";
import { asked, speaksOf } from "./choice.js";
import { sorted } from "./columns.js";
import { grown } from "./tree.js";

let last = null;

/** Sessions by id; while others are on their way, those that were there. Null before the first have come. */
export const known = computed(() => {
  if (sessions.value) last = sessions.value;
  return sessions.value ?? last;
});
/** Whether what is shown is not yet what is asked for. */
export const behind = computed(() => sessions.value === null);

/** Those that the search finds, whatever chip is pressed: what is counted. */
export const found = computed(() => {
  const { words } = asked.value;
  return [...(known.value?.values() ?? [])].filter((row) => speaksOf(row, words));
});

export const counts = computed(() => {
  const sums = {};
  for (const row of found.value) sums[wordOf(row)] = (sums[wordOf(row)] ?? 0) + 1;
  return sums;
});

/** Whether of any of them it is known how many tokens it used. */
export const hasTokens = computed(() => found.value.some((row) => row.tokens));

/** Ids of those whose children are not shown. */
export const folded = signal(new Set());

/** [{row, level, children}] from the top to the bottom. */
export const lines = computed(() => {
  const { show, sort, view } = asked.value;
  const rows = sorted(show ? found.value.filter((row) => wordOf(row) === show) : found.value, sort);
  return view === "tree" ? grown(rows, known.value, folded.value) : rows.map((row) => ({ row, level: 1, children: 0 }));
});

// -- the cursor, and the marks

const chosen = signal(null);
let place = 0;

/** The index of the cursor's line: of the same session wherever it moves; when it is gone, where it was. -1 without lines. */
export const at = computed(() => {
  const index = lines.value.findIndex(({ row }) => row.id === chosen.value);
  if (index >= 0) place = index;
  return index >= 0 ? index : Math.min(place, lines.value.length - 1);
});

export const cursor = computed(() => lines.value[at.value]?.row ?? null);

export function moveTo(index) {
  const line = lines.value[Math.max(0, Math.min(index, lines.value.length - 1))];
  if (line) chosen.value = line.row.id;
}

export const marks = signal(new Set());

export function toggleMark(id) {
  const next = new Set(marks.value);
  if (!next.delete(id)) next.add(id);
  marks.value = next;
}

export const clearMarks = () => (marks.value = new Set());

/** Those that are marked and still there. */
export const marked = computed(() => [...marks.value].map((id) => known.value?.get(id)).filter(Boolean));

export function fold(id, away) {
  const next = new Set(folded.value);
  if (away) next.add(id);
  else next.delete(id);
  batch(() => {
    chosen.value = id;
    folded.value = next;
  });
}
