// A session's terminal, live: watched by all who look, typed into by the operator who takes the keyboard.

import { effect, html, useEffect, useRef, useState } from "../../../vendor/preact.js";
import { bytes, count } from "../../format.js";
import { addKeys, swallowKeys } from "../../keys.js";
import { Problem, Waiting } from "../../parts/empty.js";
import { say } from "../../parts/toast.js";
import { Composer, HeldKeys } from "./composer.js";
import { Find } from "./find.js";
import { follow } from "./link.js";
import { Picture } from "./picture.js";
import { makeScreen } from "./screen.js";

const LOG_ROWS = 28;

/** `isLog`: of a headless session, which has no size and no keyboard. */
export function Terminal({ session, isLog = false }) {
  const place = useRef(null);
  const [shown, setShown] = useState(null); // {screen, link}
  useEffect(() => {
    const room = place.current;
    let made = null;
    let gone = false;
    makeScreen(room, { convertEol: isLog }).then((screen) => {
      if (gone) return screen.dispose();
      made = begin(screen, session.id, room, isLog);
      setShown(made);
    });
    return () => ((gone = true), made?.end());
  }, [session.id]);
  const refused = shown?.link.error.value;
  if (refused?.code === "NOT_ATTACHABLE") return html`<${Picture} session=${session} why=${refused} />`;
  if (refused && refused.code !== "ENDED") return html`<${Problem} error=${refused} />`;
  const wanted = Boolean(shown?.link.wanted.value);
  return html`
    <section class=${`panel terminal ${wanted ? "held" : ""}`} aria-label=${isLog ? "Log" : "Terminal"}>
      <${Bar} shown=${shown} session=${session} isLog=${isLog} />
      ${!shown && html`<${Waiting} />`}
      <div class="screen" data-phase=${shown?.link.phase.value ?? "loading"}><div class="room" ref=${place}></div></div>
      ${session.state === "running" && html`<${wanted ? HeldKeys : Composer} session=${session} />`}
    </section>
  `;
}

/** A screen and its line, in a place whose size may change. */
function begin(screen, id, place, isLog) {
  const fit = () =>
    isLog ? screen.fitLog(LOG_ROWS) : link.wanted.value ? link.resize(screen.room()) : screen.fitWidth();
  const link = follow(id, screen, { onSize: () => !link.wanted.value && fit() });
  const watcher = new ResizeObserver(fit);
  watcher.observe(place);
  const stopSwallowing = swallowWhileLost(screen, link);
  const stop = link.held.subscribe((held) => {
    screen.terminal.options.disableStdin = !held;
    screen.terminal.options.cursorBlink = held;
    if (held) screen.terminal.focus();
    else if (!isLog && !link.wanted.peek()) screen.fitWidth();
  });
  screen.terminal.attachCustomKeyEventHandler((event) => press(event, screen, link));
  return { screen, link, end: () => (stop(), stopSwallowing(), watcher.disconnect(), link.close(), screen.dispose()) };
}

/** What is typed for a session that cannot be reached is lost: nothing on the page may take it for its own keys. At once, not
    once it is drawn: keys come fast. */
function swallowWhileLost(screen, link) {
  let stop = null;
  const stopLooking = effect(() => {
    stop?.();
    const lost = link.wanted.value && !link.held.value;
    stop = lost ? swallowKeys((event) => isDetach(event) && event.type === "keydown" && giveBack(screen, link)) : null;
  });
  return () => (stopLooking(), stop?.());
}

const isDetach = (event) =>
  event.ctrlKey && !event.shiftKey && !event.altKey && (event.key === "\\" || event.code === "Backslash");

/** Whether xterm.js may have the key. */
function press(event, screen, link) {
  const copies = event.ctrlKey && event.shiftKey && event.code === "KeyC";
  if (copies && screen.terminal.hasSelection()) {
    if (event.type === "keydown") copy(screen.terminal.getSelection());
    event.preventDefault();
    return false;
  }
  if (event.ctrlKey && event.shiftKey && event.code === "KeyV") return false; // the browser pastes
  if (!link.held.value) return false;
  if (isDetach(event)) {
    if (event.type === "keydown") giveBack(screen, link);
    event.preventDefault();
    return false;
  }
  return true;
}

const copy = (text) =>
  navigator.clipboard?.writeText(text).then(
    () => say("Copied"),
    () => say("The browser blocked copying", "bad", "use the browser's menu"),
  );

function giveBack(screen, link) {
  link.release();
  screen.terminal.blur();
  document.querySelector(".terminal .take")?.focus();
}

function Bar({ shown, session, isLog }) {
  const [finding, setFinding] = useState(false);
  const held = Boolean(shown?.link.wanted.value);
  const take = () => {
    if (isLog || !shown || held || shown.link.phase.value !== "live") return;
    const panel = document.querySelector(".terminal");
    panel.classList.add("held"); // measured in the room that it will have
    const size = shown.screen.room();
    panel.classList.remove("held");
    shown.link.take(size);
  };
  useEffect(
    () =>
      addKeys([
        { keys: ["t"], does: isLog ? "" : "take the keyboard", act: take },
        { keys: ["/"], does: "find in the terminal", act: () => setFinding(true) },
      ]),
    [shown],
  );
  return html`
    <header>
      <${Said} shown=${shown} session=${session} isLog=${isLog} />
      <div class="row">
        <button class="quiet" aria-expanded=${finding} disabled=${!shown} onClick=${() => setFinding(!finding)}>Find</button>
        ${
          !isLog &&
          !held &&
          html`
            <button class="take" disabled=${shown?.link.phase.value !== "live"} onClick=${take}>
              Take the keyboard <kbd>t</kbd>
            </button>
          `
        }
        ${
          held &&
          html`
            <button class="main" onClick=${() => giveBack(shown.screen, shown.link)}>Release <kbd>Ctrl \\</kbd></button>
          `
        }
      </div>
      ${finding && shown && html`<${Find} screen=${shown.screen} close=${() => setFinding(false)} />`}
    </header>
  `;
}

/** How it is with the terminal, in a line. */
function Said({ shown, session, isLog }) {
  const phase = shown?.link.phase.value ?? "connecting";
  const held = shown?.link.held.value ?? false;
  const wanted = Boolean(shown?.link.wanted.value);
  const skipped = shown?.link.skipped.value ?? 0;
  const words = {
    connecting: "connecting…",
    live: held ? "You have the keyboard" : isLog ? "live" : "watching, read-only",
    lost: wanted ? "Connection lost, reconnecting… What you type is not sent." : "Connection lost, reconnecting…",
    ended: "session ended",
    refused: "session ended",
  };
  return html`
    <div class="row said" role="status">
      <span class=${`phase ${phase} ${held ? "typing" : ""}`}><i aria-hidden="true"></i>${words[phase]}</span>
      ${session.attached > 0 && !held && html`<span class="chip">${count(session.attached, "person", "people")} attached</span>`}
      ${skipped > 0 && html`<span class="muted">skipped ${bytes(skipped)} of fast output</span>`}
    </div>
  `;
}
