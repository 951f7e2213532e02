// Times that pass: each ticks for itself, and nothing around it is drawn again.

import { html, signal, useEffect } from "../../../vendor/preact.js";
import { now as byTheDaemon } from "../../api.js";
import { duration, full, since } from "../../format.js";

const now = signal(byTheDaemon());
let watchers = 0;
let timer = 0;

function useNow() {
  useEffect(() => {
    if (!watchers++) timer = setInterval(() => (now.value = byTheDaemon()), 1000);
    return () => --watchers || clearInterval(timer);
  }, []);
  return now.value;
}

/** How long since a moment; with `until`, how long it was. */
export function Age({ moment, until, after = "" }) {
  const at = useNow();
  return html`<time dateTime=${moment} title=${full(moment)}>${duration(since(moment, until ? Date.parse(until) : at))}${after}</time>`;
}
