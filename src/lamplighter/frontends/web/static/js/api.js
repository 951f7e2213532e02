// The daemon over HTTP: calls, calls that answer in parts, live events, terminals. Knows no view.

import { keep, kept } from "./storage.js";

export const PROOF = "lamplighter.proof";
const RETRY_MS = 400;
const PATIENCE_MS = 12_000;

/** An error that says what to do next, as every front end of Lamplighter has it. */
export class LampError extends Error {
  constructor({ code, message, hint, details }) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.details = details ?? {};
  }
}

export const unreachable = () =>
  new LampError({
    code: "DAEMON_UNREACHABLE",
    message: "The daemon does not respond",
    hint: "any command starts it: lamp up",
  });

/** Whether nobody knows what came of the call: asked again with the same key it is the same call, and nothing is done twice. */
export const isUnsure = (error) =>
  ["DAEMON_UNREACHABLE", "OUTCOME_UNKNOWN", "STORE_BUSY", "STORE_LOST"].includes(error.code);

let ahead = 0;
/** The time by the daemon's clock: through a tunnel it may be another machine's, and what holds until a moment means its own. */
export const now = () => Date.now() + ahead;

/** What it says of its clock came a while ago: less than two seconds mean nothing. */
function compare(told) {
  const found = told - Date.now();
  ahead = Math.abs(found) > 2000 ? found : 0;
}

const denials = new Set();
/** Called when the login does not hold any more. */
export const onDenied = (act) => denials.add(act);

const headers = () => ({ "content-type": "application/json", "x-lamplighter-proof": kept(PROOF) ?? "" });

export const hasLogin = () => Boolean(kept(PROOF));

/** Trade the link that `lamp open` made for a login of this browser. */
export async function login(link) {
  const answer = await fetch("/api/login", { method: "POST", headers: headers(), body: JSON.stringify({ link }) });
  const body = await answer.json();
  if (!answer.ok) throw new LampError(body.error);
  keep(PROOF, body.proof);
}

export const newKey = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
};

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function post(name, args, key, signal, parts) {
  const body = JSON.stringify({ args, key });
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await fetch(`/api/call/${name}${parts ? "?parts" : ""}`, {
        method: "POST",
        headers: headers(),
        body,
        signal,
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      // The same key again is the same call: nothing is done twice.
      if (performance.now() > until) throw unreachable();
      await pause(RETRY_MS);
    }
  }
}

function refuse(status, error) {
  if (status === 401) for (const act of denials) act();
  throw new LampError(error);
}

/** One operation: its result, or a LampError. */
export async function call(name, args = {}, { key = newKey(), signal } = {}) {
  const answer = await post(name, args, key, signal, false);
  const body = await answer.json().catch(() => {
    throw unreachable();
  });
  if (body.error) refuse(answer.status, body.error);
  return body.result;
}

/** One operation that tells how far it is: `onItem` for each part; its result at the end. */
export async function callInParts(name, args, onItem, { key = newKey(), signal } = {}) {
  const answer = await post(name, args, key, signal, true);
  for await (const line of lines(answer.body, signal)) {
    if (!line.trim()) continue;
    const said = JSON.parse(line);
    if (said.error) refuse(answer.status, said.error);
    if ("result" in said) return said.result;
    onItem(said.item);
  }
  throw unreachable();
}

async function* lines(stream, signal) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const found = (rest + value).split("\n");
      rest = found.pop();
      yield* found;
    }
    if (rest) yield rest;
  } catch (error) {
    throw signal?.aborted ? error : unreachable();
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** A browser has six connections to an address for all its windows, and many more WebSockets; what stays open is one of these. */
const openSocket = (path) =>
  new WebSocket(`ws://${location.host}/api/${path}`, ["lamplighter", `proof.${kept(PROOF) ?? ""}`]);

/** Live events: yields [event, data] until the connection or the signal ends. What is said is in frontends/web/live.py. */
export async function* events(query, signal) {
  const socket = openSocket(`live?${new URLSearchParams(query)}`);
  const heard = [];
  let wake = () => {};
  const closed = () => socket.readyState === WebSocket.CLOSED;
  const leave = () => socket.close();
  socket.onmessage = ({ data }) => (heard.push(data), wake());
  socket.onclose = () => wake();
  signal.addEventListener("abort", leave);
  try {
    while (heard.length || !closed()) {
      if (!heard.length) await new Promise((done) => (wake = done));
      for (const text of heard.splice(0)) {
        const [event, data] = JSON.parse(text);
        if (event === "clock") compare(data);
        else yield [event, data];
      }
    }
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
  if (!signal.aborted) await ask(signal);
}

/** Whether the login holds: a WebSocket that was refused does not say why. */
async function ask(signal) {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const answer = await fetch("/api/call/get_status", {
    method: "POST",
    headers: headers(),
    body: "{}",
    signal: patience,
  });
  if (answer.status === 401) refuse(401, (await answer.json()).error);
}

/** To a session's terminal; what is said on it is in frontends/web/terminals.py. */
export function terminalSocket(session) {
  const socket = openSocket(`terminal/${encodeURIComponent(session)}`);
  socket.binaryType = "arraybuffer";
  return socket;
}
