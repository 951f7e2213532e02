// The line to a session's terminal: what it prints is drawn, and the keyboard is passed on while it is held. It comes back by
// itself when it breaks. What is said on it is in frontends/web/terminals.py. Knows nothing of how it looks.

import { signal } from "../../../vendor/preact.js";
import { LampError, terminalSocket } from "../../api.js";
import { sayError } from "../../parts/toast.js";

const PAUSES_MS = [100, 250, 500, 1000, 2000, 4000];
const ACKNOWLEDGED = 32 << 10;
/** What a terminal answers by itself: its kind, its state, where the cursor is, a mode, a colour, a setting. */
const ANSWER = /^\x1b(?:\[[?>=]?[\d;]*(?:\$y|[cnRtxy])|\]|P)/;

/** {phase, held, wanted, skipped, error, take, release, resize, close}; phase: connecting, live, lost, ended, refused with an
    error. `wanted` is the size with which the keyboard is wanted, also while it is not held: a line that was lost comes back
    with it. */
export function follow(session, screen, { onSize }) {
  const phase = signal("connecting");
  const held = signal(false);
  const wanted = signal(null);
  const skipped = signal(0);
  const error = signal(null);
  let socket = null;
  let timer = 0;
  let tries = 0;
  let closed = false;
  let fresh = null; // the size of the screen that the next bytes draw
  let drawn = 0;

  const say = (message) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));

  async function show(data) {
    const at = socket;
    const size = fresh;
    fresh = null;
    await (size ? screen.draw(data, size.rows, size.cols, size.whole) : screen.write(data));
    if (size) onSize();
    if (at !== socket) return;
    drawn += data.length;
    if (drawn >= ACKNOWLEDGED) {
      say({ type: "drawn", bytes: drawn });
      drawn = 0;
    }
  }

  const hear = {
    screen: (said) => (
      (fresh = said),
      (phase.value = "live"),
      (tries = 0),
      wanted.value && !held.value && say({ type: "take", ...wanted.value })
    ),
    size: (said) => screen.resize(said.rows, said.cols).then(onSize),
    skipped: (said) => (skipped.value += said.bytes),
    keyboard: (said) => (held.value = said.held && Boolean(wanted.value)),
    ended: () => ((phase.value = "ended"), (wanted.value = null)),
    lost: () => {},
    error: (said) => refuse(new LampError(said.error)),
  };

  function refuse(found) {
    if (phase.value === "live") {
      wanted.value = null; // the keyboard is refused, the screen goes on
      sayError(found);
    } else if (found.code === "HOLDER_UNREACHABLE") {
      phase.value = "lost";
    } else {
      wanted.value = null;
      error.value = found;
      phase.value = "refused";
    }
  }

  function connect() {
    socket = terminalSocket(session);
    drawn = 0;
    fresh = null;
    socket.onmessage = ({ data }) => {
      if (typeof data !== "string") return void show(new Uint8Array(data));
      const said = JSON.parse(data);
      hear[said.type]?.(said);
    };
    socket.onclose = () => {
      held.value = false;
      if (closed || phase.value === "ended" || phase.value === "refused") return;
      phase.value = "lost";
      timer = setTimeout(connect, PAUSES_MS[Math.min(tries++, PAUSES_MS.length - 1)]);
    };
  }

  const send = (bytes) => held.value && socket.readyState === WebSocket.OPEN && socket.send(bytes);
  const typing = [
    screen.terminal.onData((text) => {
      if (!(screen.isRedrawing() && ANSWER.test(text))) send(new TextEncoder().encode(text));
    }),
    screen.terminal.onBinary((text) => send(Uint8Array.from(text, (letter) => letter.charCodeAt(0)))),
  ];
  connect();

  return {
    phase,
    held,
    wanted,
    skipped,
    error,
    take: (size) => ((wanted.value = size), say({ type: "take", ...size })),
    release: () => ((wanted.value = null), (held.value = false), say({ type: "release" })),
    resize: (size) => wanted.value && ((wanted.value = size), say({ type: "resize", ...size })),
    close() {
      closed = true;
      clearTimeout(timer);
      for (const listener of typing) listener.dispose();
      socket.close();
    },
  };
}
