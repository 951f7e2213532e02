// How a session ended, as a coloured word; never by colour alone.

import { html } from "../../vendor/preact.js";

export const HOWS = ["asked", "exited", "terminated", "killed", "lost"];

/** How one that ended did, else that it has not: "running" for everything that is alive. */
export const howOf = ({ state, how }) => (state === "ended" ? (how ?? "lost") : "running");

const MEANS = {
  running: "has not ended",
  asked: "ended as it was asked to",
  exited: "left by itself",
  terminated: "had to be told with a signal",
  killed: "had to be killed",
  lost: "was lost, with the machine or its holder",
};

export const meaning = (how) => MEANS[how] ?? how;

export const How = ({ how, children }) =>
  html`<span class=${`how ${how}`} title=${meaning(how)}><i aria-hidden="true"></i>${children ?? how}</span>`;
