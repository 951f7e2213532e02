// What the daemon tells by itself, as signals that views read: the connection, its state, the sessions, one session.

import { batch, signal } from "../vendor/preact.js";
import { call, events, hasLogin, LampError, onDenied, PROOF } from "./api.js";

const HIDDEN_MS = 5000;
const LOOK_MS = 15_000;
const PAUSES_MS = [250, 500, 1000, 2000, 4000];
const SILENCE_MS = 15_000;

/** "connecting", "live", "lost" (it is tried again) or "denied" (a login is needed). */
export const connection = signal(hasLogin() ? "connecting" : "denied");
/** The daemon's state: version, alive, ended, guarantee, approvals, cwd, … */
export const status = signal(null);
/** Sessions by id, as asked for; null until they have come. A new Map with each change, its unchanged rows the same objects. */
export const sessions = signal(null);
/** tmux sessions that were made by hand, and how many sessions are not listed. */
export const byHand = signal([]);
export const leftOut = signal(0);
/** Of all that is alive, whatever is asked for: {alive, processes, memory, waiting}; null until they have come. */
export const sums = signal(null);
/** The session that is looked at, in full; null until it has come. */
export const detail = signal(null);
/** The LampError of what was asked for, when it cannot be shown. */
export const problem = signal(null);

let wanted = {};
let running = null;
let hiddenTimer = 0;

/** Which live events this view needs: {sessions: "idle", all: "1"} or {session: ID}; {} for the state alone. Every view does. */
export function want(query) {
  if (running && JSON.stringify(query) === JSON.stringify(wanted)) return;
  batch(() => {
    if (query.sessions !== wanted.sessions || query.all !== wanted.all) sessions.value = null;
    if (query.session !== wanted.session) detail.value = null;
    problem.value = null;
  });
  wanted = query;
  restart();
}

export function restart() {
  running?.abort();
  running = null;
  if (!hasLogin() || document.hidden) return;
  running = new AbortController();
  follow(running.signal);
}

async function follow(signal) {
  for (let tries = 0; !signal.aborted; tries++) {
    const quiet = new AbortController();
    let silence = 0;
    const listen = () => {
      clearTimeout(silence);
      silence = setTimeout(() => quiet.abort(), SILENCE_MS);
    };
    try {
      listen();
      for await (const [event, data] of events(wanted, AbortSignal.any([signal, quiet.signal]))) {
        if (signal.aborted) return;
        tries = 0;
        listen();
        if (event === "error") throw new LampError(data);
        take(event, data);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof LampError && error.code !== "DAEMON_UNREACHABLE") {
        if (connection.value !== "denied") batch(() => ((problem.value = error), (connection.value = "live")));
        return;
      }
    } finally {
      clearTimeout(silence);
    }
    if (signal.aborted) return;
    connection.value = "lost";
    await new Promise((done) => setTimeout(done, PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]));
  }
}

function take(event, data) {
  batch(() => {
    connection.value = "live";
    if (event === "state") status.value = data;
    else if (event === "session") detail.value = data;
    else if (event === "sums") sums.value = data;
    else if (event === "sessions") {
      sessions.value = new Map(data.sessions.map((row) => [row.id, row]));
      byHand.value = data.by_hand;
      leftOut.value = data.left_out;
    } else if (event === "changes") change(data);
  });
}

function change({ changed, gone, by_hand }) {
  const rows = new Map(sessions.value ?? []);
  for (const [id, fields] of Object.entries(changed)) rows.set(id, { ...rows.get(id), ...fields });
  for (const id of gone) rows.delete(id);
  sessions.value = rows;
  if (by_hand) byHand.value = by_hand;
}

onDenied(() => {
  running?.abort();
  running = null;
  connection.value = "denied";
});

// Somebody has logged in, here or in another tab: this one goes on with it.
export function admit() {
  connection.value = "connecting";
  restart();
}
addEventListener(
  "storage",
  ({ key, newValue }) => key === PROOF && newValue && connection.value === "denied" && admit(),
);

// A tab that nobody sees costs the daemon nothing: it only looks now and then whether something waits for the operator.
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (!document.hidden) restart();
  else hiddenTimer = setTimeout(() => running?.abort(), HIDDEN_MS);
});
setInterval(async () => {
  if (!document.hidden || !hasLogin()) return;
  const found = await call("get_status").catch(() => null);
  if (found && status.value) status.value = { ...status.value, ...found };
}, LOOK_MS);
