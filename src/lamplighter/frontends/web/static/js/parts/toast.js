// Short messages at the edge of the page: what was done, or what went wrong and what to do about it.

import { html, signal } from "../../vendor/preact.js";

const SHOWN_MS = 6000;
const shown = signal([]);
let number = 0;

const drop = (id) => (shown.value = shown.value.filter((toast) => toast.id !== id));

export function say(text, kind = "good", hint = "") {
  const id = (number += 1);
  shown.value = [...shown.value.slice(-3), { id, text, kind, hint }];
  if (kind !== "bad") setTimeout(() => drop(id), SHOWN_MS);
}

/** For a LampError; anything else is a fault of ours, and is said so. */
export function sayError(error) {
  if (error.name === "AbortError") return;
  if (!error.code) console.error(error);
  say(error.message, "bad", error.hint ?? "please report this");
}

export const Toasts = () => html`
  <div class="toasts" role="status" aria-live="polite">
    ${shown.value.map(
      (toast) => html`
        <div key=${toast.id} class=${`toast ${toast.kind}`}>
          <div><strong>${toast.text}</strong>${toast.hint && html`<span>${toast.hint}</span>`}</div>
          <button class="quiet icon" aria-label="Dismiss" onClick=${() => drop(toast.id)}>×</button>
        </div>
      `,
    )}
  </div>
`;
