// What an operation says, kept up to date: asked again when what is asked changes, when something has happened, when the daemon
// is back. What was there stays until the new is there, so that nothing flickers. Knows no operation.

import { effect, signal, useCallback, useEffect, useState } from "../../vendor/preact.js";
import { call } from "../api.js";
import { connection, status } from "../live.js";

const GATHER_MS = 1500;

/** Changes when something has happened in the daemon, at most every moment or so. */
export const happened = signal(0);
let timer = 0;
let seen = null;

effect(() => {
  const now = connection.value === "live" ? (status.value?.event ?? null) : "away";
  if (now === null || now === seen) return;
  const first = seen === null;
  seen = now;
  if (first || now === "away") return;
  clearTimeout(timer);
  timer = setTimeout(() => (happened.value += 1), GATHER_MS);
});

/** {result, error, busy, again}; with `args` null nothing is asked. `pause` waits for typing to end. */
export function useAnswer(name, args, { pause = 0, live = true } = {}) {
  const [state, set] = useState({ result: null, error: null, busy: args !== null });
  const [round, repeat] = useState(0);
  const wanted = JSON.stringify(args);
  const news = live ? happened.value : 0;
  useEffect(() => {
    if (args === null) {
      set({ result: null, error: null, busy: false });
      return undefined;
    }
    const stop = new AbortController();
    set((before) => (before.busy ? before : { ...before, busy: true }));
    const ask = async () => {
      try {
        const result = await call(name, args, { signal: stop.signal });
        if (!stop.signal.aborted) set({ result, error: null, busy: false });
      } catch (error) {
        if (!stop.signal.aborted) set((before) => ({ ...before, error, busy: false }));
      }
    };
    const waiting = setTimeout(ask, pause);
    return () => {
      clearTimeout(waiting);
      stop.abort();
    };
  }, [name, wanted, news, round]);
  return { ...state, again: useCallback(() => repeat((number) => number + 1), []) };
}
