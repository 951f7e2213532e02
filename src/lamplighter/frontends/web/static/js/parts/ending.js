// How a session ended, as a coloured word; never by colour alone.

import { html } from "../../vendor/preact.js";

export const HOWS = ["asked", "exited", "failed", "terminated", "killed", "lost"];

/** How one that ended did, else that it has not: "running" for everything that is alive. */
export const howOf = (row) => (row.state !== "ended" ? "running" : hasFailed(row) ? "failed" : (row.how ?? "lost"));

/** Whether it left by itself, and with an error. */
export const hasFailed = ({ state, how, exit }) =>
  state === "ended" && how === "exited" && Boolean(exit?.signal || exit?.code);

const MEANS = {
  running: "has not ended",
  asked: "quit when asked to",
  exited: "exited by itself",
  failed: "exited by itself, with an error",
  terminated: "ended by a signal",
  killed: "killed",
  lost: "lost, with the machine or its holder",
};

export const meaning = (how) => MEANS[how] ?? how;

export const How = ({ how, children }) =>
  html`<span class=${`how ${how}`} title=${meaning(how)}><i aria-hidden="true"></i>${children ?? how}</span>`;
