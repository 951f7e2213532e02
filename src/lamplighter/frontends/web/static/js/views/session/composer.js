// A text for a session, or a key: typed there as by a person. Enter sends, Shift and Enter begin a new line.

import { html, useRef, useState } from "../../../vendor/preact.js";
import { call, isUnsure, newKey } from "../../api.js";
import { Refused } from "../../parts/empty.js";

const KEYS = [
  ["C-c", "Ctrl C"],
  ["Escape", "Esc"],
  ["Enter", "Enter"],
  ["Tab", "Tab"],
  ["Up", "↑"],
  ["Down", "↓"],
  ["C-d", "Ctrl D"],
];
const SPOKEN = { Up: "Up", Down: "Down" };

/** {busy, refused, send(words, keys)}: send says whether it was sent. */
function useSending(session) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState(null);
  const attempt = useRef(null); // the same text once more, after an error, is the same call: nothing is typed twice
  const send = async (words, keys) => {
    if (busy || (!keys && !words)) return false;
    const asked = JSON.stringify([words, keys]);
    if (attempt.current?.asked !== asked) attempt.current = { asked, key: newKey() };
    setBusy(true);
    setRefused(null);
    try {
      await call("send_input", { session: session.id, text: words, keys }, { key: attempt.current.key });
      attempt.current = null;
      return true;
    } catch (error) {
      // Only an answer that may never have come is asked for again; a refusal is over.
      if (!isUnsure(error)) attempt.current = null;
      setRefused(error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, refused, send };
}

export function Composer({ session, focused = false, onSent = () => {} }) {
  const [text, setText] = useState("");
  const { busy, refused, send } = useSending(session);
  const field = useRef(null);
  const submit = async () => {
    if (!(await send(text, false))) return;
    setText("");
    onSent(text);
  };
  const press = (event) => {
    if (event.key === "Escape") return void field.current.blur();
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  const speaks = session.driver === "acp";
  return html`
    <form class="composer" onSubmit=${(event) => (event.preventDefault(), submit())}>
      <div class="line">
        <textarea
          ref=${field}
          id="composer"
          rows="1"
          autofocus=${focused}
          value=${text}
          aria-label=${`Text for ${session.name}`}
          placeholder=${speaks ? "Write a message" : "Send a line to the session"}
          onInput=${(event) => setText(event.target.value)}
          onKeyDown=${press}
        ></textarea>
        <button type="submit" disabled=${busy || !text}>Send</button>
      </div>
      <${Refused} error=${refused} />
      ${session.driver !== "headless" && !speaks && html`<${Keys} send=${send} busy=${busy} />`}
    </form>
  `;
}

/** While the keyboard is held, for those whose own has no such keys: which is seen where fingers are the pointer. */
export function HeldKeys({ session }) {
  const { busy, refused, send } = useSending(session);
  const stay = (event) => event.preventDefault(); // the terminal keeps the focus, and a phone its keyboard
  return html`
    <div class="composer touch" onPointerDown=${stay} onMouseDown=${stay}>
      <${Refused} error=${refused} />
      <${Keys} send=${send} busy=${busy} />
    </div>
  `;
}

const Keys = ({ send, busy }) => html`
  <div class="row keyrow" role="group" aria-label="Send a key">
    <span class="muted">Keys</span>
    ${KEYS.map(
      ([key, words]) => html`
        <button
          key=${key}
          type="button"
          class="key"
          disabled=${busy}
          aria-label=${`Send ${SPOKEN[key] ?? words}`}
          onClick=${() => send(key, true)}
        >
          ${words}
        </button>
      `,
    )}
  </div>
`;
