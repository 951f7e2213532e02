// The screen of a session whose terminal is tmux's: looked at again and again, and how to be at it.

import { html, useEffect, useRef, useState } from "../../../vendor/preact.js";
import { call } from "../../api.js";
import { Problem } from "../../parts/empty.js";
import { Composer } from "./composer.js";
import { makeScreen } from "./screen.js";

const LOOK_MS = 1500;

export function Picture({ session, why }) {
  const place = useRef(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => look(session.id, place.current, setProblem), [session.id]);
  return html`
    <section class="panel terminal" aria-label="Terminal">
      <header>
        <div class="said" role="status">
          <span class="phase live"><i aria-hidden="true"></i>tmux session, refreshed every two seconds</span>
        </div>
      </header>
      ${why && html`<p class="attach">To attach, run <code>${why.hint.replace(/ to be at it$/, "")}</code></p>`}
      ${problem && html`<${Problem} error=${problem} />`}
      <div class="screen" data-phase="live" hidden=${Boolean(problem)}><div class="room" ref=${place}></div></div>
      ${session.state === "running" && html`<${Composer} session=${session} />`}
    </section>
  `;
}

/** Until the function that comes back is called. */
function look(session, place, setProblem) {
  let screen = null;
  let over = false;
  let timer = 0;
  let last = "";
  const watcher = new ResizeObserver(() => screen?.fitWidth());
  const again = async () => {
    try {
      const found = document.hidden ? null : await picture(session);
      if (over) return;
      if (found && found.mark !== last) {
        last = found.mark;
        await screen.draw(found.data, found.rows, found.cols);
        screen.fitWidth();
      }
      setProblem(null);
    } catch (error) {
      if (!over) setProblem(error);
    }
    if (!over) timer = setTimeout(again, LOOK_MS);
  };
  makeScreen(place, { scrollback: 0 }).then((made) => {
    if (over) return made.dispose();
    screen = made;
    watcher.observe(place);
    again();
  });
  return () => ((over = true), clearTimeout(timer), watcher.disconnect(), screen?.dispose());
}

/** Bytes that draw it, with its colours where they are known. */
async function picture(session) {
  const drawn = await call("read_output", { session, mode: "vt" }).catch((error) => {
    if (error.code === "DAEMON_UNREACHABLE") throw error;
    return null;
  });
  const found = drawn ?? (await call("read_output", { session, mode: "screen" }));
  const { rows = 24, cols = 80 } = found;
  const mark = `${rows} ${cols} ${found.base64 ?? found.text}`;
  const data = found.base64
    ? Uint8Array.from(atob(found.base64), (letter) => letter.charCodeAt(0))
    : new TextEncoder().encode(found.text.replace(/\n$/, "").replaceAll("\n", "\r\n"));
  return { data, mark, rows: rows ?? 24, cols: cols ?? 80 };
}
