// The session that something is about to be done to, in full, as it is now: a dialog may be opened from a row of a list.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { call } from "../api.js";
import { bytes, count, duration } from "../format.js";
import { isActive } from "../parts/verdict.js";

const LOOK_MS = 1000;
const SHOWN = 6;

/** [session, problem]: looked at again every second while `watching`. */
export function useSubject(row, watching = true) {
  const [found, setFound] = useState([row.tree ? row : null, null]);
  useEffect(() => {
    let over = false;
    let timer = 0;
    const look = async () => {
      try {
        const session = await call("get_session", { session: row.id });
        if (!over) setFound([session, null]);
      } catch (problem) {
        if (!over) setFound(([session]) => [session, problem]);
      }
      if (!over && watching) timer = setTimeout(look, LOOK_MS);
    };
    look();
    return () => ((over = true), clearTimeout(timer));
  }, [row.id, watching]);
  return found;
}

/** What an end means for this session: which processes, whose, who is at it, what stays, what is lost, what is proven. */
export function Consequences({ session, how }) {
  const largest = session.tree.toSorted((one, other) => other.memory - one.memory);
  return html`
    <div class="consequences">
      <${Processes} session=${session} largest=${largest} how=${how} />
      <ul class="points">${points(session).map(([kind, words]) => html`<li key=${words} class=${kind}>${words}</li>`)}</ul>
    </div>
  `;
}

const Processes = ({ session, largest, how }) =>
  session.driver === "logical"
    ? html`<p>It has no process. It is marked as ended.</p>`
    : html`
      <p>
        ${how} <strong>${count(session.tree.length, "process", "processes")}</strong>
        ${session.memory ? `, ${bytes(session.memory)} of memory` : ""}:
      </p>
      <ul class="victims">
        ${largest.slice(0, SHOWN).map(
          (process) => html`
            <li key=${process.pid}>
              <code class="pid">${process.pid}</code>
              <code class="command">${process.command}</code>
              <span class="muted number">${bytes(process.memory)}</span>
            </li>
          `,
        )}
        ${largest.length > SHOWN && html`<li class="muted">and ${largest.length - SHOWN} more</li>`}
      </ul>
    `;

const PROOF = {
  kernel: "The kernel will verify that nothing is left.",
  tree: "Lamplighter will verify that no child process is left.",
  best_effort: "Best effort: every process that can be found is ended.",
};

/** [kind, words] */
function points(session) {
  const found = [["", `Owner: ${whose(session.owner)}${session.parent ? `, started by ${session.parent}` : ""}.`]];
  if (session.attached)
    found.push(["warn", `${count(session.attached, "person is", "people are")} attached to its terminal.`]);
  if (session.protected) found.push(["warn", "It is protected. Only you can end it, and this does."]);
  if (isActive(session))
    found.push(["warn", `It is ${session.verdict}: ${session.evidence.join(", ") || "no details"}.`]);
  if (session.children.length) {
    const stay = session.children.length === 1 ? "keeps" : "keep";
    found.push([
      "",
      `${count(session.children.length, "session")} that it started ${stay} running: ${session.children.join(", ")}.`,
    ]);
  }
  found.push(handed(session));
  if (session.last_output_at)
    found.push(["", `Quiet for ${duration(session.quiet_for)}. Its log and recording are kept.`]);
  if (session.driver !== "logical")
    found.push([session.guarantee === "best_effort" ? "warn" : "", PROOF[session.guarantee] ?? session.guarantee]);
  return found;
}

const whose = (owner) => (owner === "operator" ? "you" : owner);

const handed = ({ handoff }) =>
  handoff && handoff.source !== "inferred"
    ? ["", "It has left a hand-off, which does not cover what it did since."]
    : ["warn", "It has left no hand-off. Lamplighter infers one from what it can observe; the rest is lost."];
