// A verdict as a coloured word, never by colour alone; its evidence beside it.

import { html } from "../../vendor/preact.js";
import { hasFailed } from "./ending.js";

export const VERDICTS = ["working", "waiting", "idle", "finished", "stuck", "orphaned", "leftovers", "unknown"];

/** What a session shows: its state while that is not plain running, else its verdict. */
export const wordOf = (row) => (row.state === "running" ? row.verdict : row.state);

export const Verdict = ({ row }) => {
  const word = hasFailed(row) ? "failed" : wordOf(row);
  return html`<span class=${`verdict ${word}`} title=${row.evidence?.join(", ")}><i aria-hidden="true"></i>${word}</span>`;
};

/** Working, waiting or unknown, or people are at it: not to be killed without a second, deliberate act. */
export const isActive = (row) =>
  row.state !== "ended" && (["working", "waiting", "unknown"].includes(row.verdict) || row.attached > 0);
