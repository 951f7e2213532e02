// Times that pass: each ticks by itself, and nothing around it is drawn again.

import { html, signal } from "../../vendor/preact.js";
import { now as byTheDaemon } from "../api.js";
import { ago, full } from "../format.js";

const TICK_MS = 10_000;

/** The time now, as coarse as ages are. */
export const now = signal(byTheDaemon());
setInterval(() => document.hidden || (now.value = byTheDaemon()), TICK_MS);
document.addEventListener("visibilitychange", () => document.hidden || (now.value = byTheDaemon()));

export const Age = ({ at }) => html`<time datetime=${at} title=${full(at)}>${ago(at, Math.max(now.value, Date.parse(at)))}</time>`;
