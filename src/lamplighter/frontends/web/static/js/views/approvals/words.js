// A request in words. Knows what each operation would do, and nothing of how that is drawn.

import { bytes, count, grouped } from "../../format.js";
import { isActive } from "../../parts/verdict.js";

const ACTS = {
  send_input: "send to",
  end_session: "end",
  kill_session: "kill",
  cleanup_sessions: "end",
  use_tool: "use a tool in",
  read_output: "read the output of",
  read_history: "read the history of",
  read_capture: "read a transcript of",
  wait_session: "wait for the output of",
  type_in_tmux: "type into",
  read_tmux: "read the screen of",
  kill_tmux: "kill",
};
const READS = ["read_output", "read_history", "read_capture", "wait_session", "read_tmux"];
const ENDS = ["end_session", "kill_session", "kill_tmux", "cleanup_sessions"];

export const isEnd = ({ operation }) => ENDS.includes(operation);

export const actOf = ({ operation }) => ACTS[operation] ?? operation;

export const askerOf = ({ asker, caller }) => asker?.name ?? caller;

/** The session; one of tmux that was made by hand is none of ours, and is called as tmux calls it. */
export const targetOf = ({ target, plan, arguments: given }) =>
  (plan && (given ? count(given.rows.length, "session") : `the sessions of ${plan}`)) ??
  target?.name ??
  (given?.name ? `tmux session ${given.name}, made by hand` : "a session that is gone");

export const sentence = (request, granted) =>
  `${askerOf(request)} may ${granted ? "" : "not "}${actOf(request)} ${targetOf(request)}`;

/** Whether the grant alone is a deliberate enough act: not when it ends what works, or what nobody can say that of. */
export function warning(request) {
  const { operation, target } = request;
  if (!ENDS.includes(operation)) return "";
  if (operation === "cleanup_sessions") return `Grant ending ${targetOf(request)}`;
  if (!target) return operation === "kill_tmux" ? "Grant ending a tmux session you made" : "";
  if (!isActive(target)) return "";
  return target.attached > 0
    ? "Grant ending a session with people attached"
    : `Grant ending a ${ADJECTIVES[target.verdict] ?? "running"} session`;
}
const ADJECTIVES = { working: "working", waiting: "waiting", unknown: "running" };

/** What happens once it is used, and what is lost by that. */
export function consequence({ operation, target, arguments: given }) {
  if (operation === "use_tool") return "The agent continues and does what it asked for.";
  if (operation === "kill_tmux") return "Everything in its panes ends, and unsaved work is lost.";
  if (READS.includes(operation))
    return "The agent sees what is there at that time, including any secrets. Nothing changes.";
  if (!ENDS.includes(operation)) return "The text is typed into the session as if by a person.";
  if (operation === "cleanup_sessions") {
    return "Each session is checked again, skipped if it has changed, and asked to quit first; what it does not save is lost.";
  }
  if (!target || target.state === "ended") return "Nothing is left to end.";
  const held = `It ends ${count(target.processes, "process", "processes")} and frees ${bytes(target.memory)}`;
  const lost =
    operation === "end_session"
      ? "it is asked to quit first, and what it does not save is lost"
      : "unsaved work is lost";
  const tame =
    operation === "kill_session" && !given?.force && isActive(target)
      ? "; without force, it is refused while the session is active"
      : "";
  return `${held}; ${lost}${tame}.`;
}

/** The rows of a plan that are too many to stand among the other arguments: how many, and the first ones. */
export function summary(value) {
  if (!isRows(value) || value.length <= LONG) return "";
  const first = value.slice(0, FIRST).map(({ name }) => name);
  return `${count(value.length, "session")}: ${first.join(", ")} and ${grouped(value.length - FIRST)} more`;
}
const [LONG, FIRST] = [50, 5];
const isRows = (value) => Array.isArray(value) && Boolean(value[0]?.verdict);

/** An argument's value as it was given; of the rows of a plan, one in a line. */
export function shown(value) {
  if (typeof value === "string") return value;
  if (isRows(value)) return value.map(rowOf).join("\n");
  return JSON.stringify(value, null, 1);
}

const rowOf = ({ verdict, name, id }) => `${verdict}  ${name} (${id})`;
