// Times that pass: one clock for all of them, and only their own text is drawn again. It stands while nobody sees the page.

import { computed, html, signal } from "../../vendor/preact.js";
import { now as byTheDaemon } from "../api.js";
import { ago, duration, full, since } from "../format.js";

const BEAT_MS = 1000;
const COARSE_MS = 10_000;

/** The time now, in milliseconds; it moves once a second. */
export const now = signal(byTheDaemon());
const beat = () => document.hidden || (now.value = byTheDaemon());
setInterval(beat, BEAT_MS);
document.addEventListener("visibilitychange", beat);

/** The same, for what is much to draw: it moves once in ten seconds. */
export const coarse = computed(() => now.value - (now.value % COARSE_MS));

/** "5m ago", with the moment itself on hover. */
export const Ago = ({ at }) =>
  html`<time datetime=${at} title=${full(at)}>${ago(at, Math.max(now.value, Date.parse(at)))}</time>`;

/** How long since then: "5m"; with `until`, how long it was. */
export const Age = ({ at, until }) =>
  html`<time datetime=${at} title=${full(at)}>${duration(since(at, until ? Date.parse(until) : now.value))}</time>`;

/** How long it is until then: "9m", and by the second in the last two minutes; "over" once it has come. */
export function Until({ at, over = "now" }) {
  const left = (Date.parse(at) - now.value) / 1000;
  const words = left <= 0 ? over : left < 120 ? `${Math.ceil(left)}s` : duration(left);
  return html`<time datetime=${at} title=${full(at)}>${words}</time>`;
}

/** Whether that moment has come. Read in a component, it draws it again each second: only where that is little. */
export const isPast = (at) => Boolean(at) && Date.parse(at) <= now.value;
