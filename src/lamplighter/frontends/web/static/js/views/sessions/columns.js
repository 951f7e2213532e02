// The columns: what each is called, and what it is sorted by. Knows rows; draws nothing.

import { wordOf } from "../../parts/verdict.js";
import { pulseOf } from "./pulse.js";

const ATTENTION = [
  "waiting",
  "stuck",
  "leftovers",
  "orphaned",
  "ending",
  "starting",
  "unknown",
  "working",
  "finished",
  "idle",
  "ended",
];

export const tokensOf = (row) => (row.tokens ? (row.tokens.input ?? 0) + (row.tokens.output ?? 0) : -1);
export const ageOf = (row) => row.started_at ?? row.created_at;

/** `by` is what is compared, `down` whether the largest comes first. */
export const COLUMNS = [
  { id: "name", title: "Session", by: (row) => row.name.toLowerCase() },
  { id: "verdict", title: "Verdict", by: (row) => ATTENTION.indexOf(wordOf(row)) },
  { id: "activity", title: "Activity", by: (row) => (row.state === "ended" ? Infinity : row.quiet_for) },
  { id: "memory", title: "Memory", figure: true, down: true, by: (row) => row.memory },
  { id: "cpu", title: "CPU", figure: true, down: true, by: (row) => pulseOf(row.id).cpuRate * 1e9 + row.cpu },
  { id: "tokens", title: "Tokens", figure: true, down: true, by: tokensOf },
  { id: "age", title: "Age", figure: true, down: true, by: ageOf },
  { id: "project", title: "Project", by: (row) => `${row.project ?? "\uffff"}\n${row.owner}`.toLowerCase() },
  { id: "agent", title: "Agent", by: (row) => `${row.agent}\n${row.kind}` },
];

/** {column, reversed} of what the address says: memory, or -memory for the other way round. */
export function sortOf(word) {
  const reversed = word.startsWith("-");
  const column = COLUMNS.find(({ id }) => id === word.replace(/^-/, ""));
  return column ? { column, reversed } : { column: COLUMNS.find(({ id }) => id === "age"), reversed: false };
}

/** The rows in order; those that are alike newest first, so that they keep their places. */
export function sorted(rows, word) {
  const { column, reversed } = sortOf(word);
  const way = Boolean(column.down) === reversed ? 1 : -1;
  const keyed = rows.map((row) => ({ row, key: column.by(row) }));
  keyed.sort((a, b) => (a.key < b.key ? -way : a.key > b.key ? way : a.row.id < b.row.id ? 1 : -1));
  return keyed.map(({ row }) => row);
}
