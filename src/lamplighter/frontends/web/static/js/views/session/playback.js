// What a session that has ended had on its screen, from its first moment to its last; the last is shown at first.

import { html, useEffect, useRef, useState } from "../../../vendor/preact.js";
import { bytes } from "../../format.js";
import { addKeys } from "../../keys.js";
import { connection } from "../../live.js";
import { Empty, Problem, Waiting } from "../../parts/empty.js";
import { loadCast } from "./cast.js";
import { Find } from "./find.js";
import { makePlayer } from "./player.js";
import { makeScreen } from "./screen.js";

const SPEEDS = [1, 2, 4, 8];
const LOG_ROWS = 28;

export function Playback({ session, isLog = false }) {
  const place = useRef(null);
  const [shown, setShown] = useState({ player: null, problem: null });
  const [finding, setFinding] = useState(false);
  const [round, setRound] = useState(0);
  useEffect(() => prepare(session, place.current, isLog, setShown), [session.id, round]);
  const { player, screen, recording, problem } = shown;
  const back = problem?.code === "DAEMON_UNREACHABLE" && connection.value === "live";
  useEffect(() => {
    if (!back) return;
    setShown({ player: null, problem: null });
    setRound((number) => number + 1);
  }, [back]);
  if (problem) return html`<section class="panel"><${Problem} error=${problem} /></section>`;
  const empty = recording && !recording.events.length;
  return html`
    <section class="panel terminal playback" aria-label=${isLog ? "Log" : "Recording"}>
      <header>
        <div class="said" role="status"><span class="phase ended"><i aria-hidden="true"></i>${howMuch(recording)}</span></div>
        <button class="quiet" aria-expanded=${finding} disabled=${!player} onClick=${() => setFinding(!finding)}>Find</button>
        ${finding && screen && html`<${Find} screen=${screen} close=${() => setFinding(false)} />`}
      </header>
      ${!player && html`<${Waiting} />`}
      ${empty && html`<${Empty} title="No output">This session printed nothing.<//>`}
      <div class="screen" hidden=${empty} data-phase=${player ? "recorded" : "loading"}>
        <div class="room" ref=${place}></div>
      </div>
      ${player && !empty && html`<${Controls} player=${player} />`}
    </section>
  `;
}

const howMuch = (recording) =>
  recording && recording.played < recording.printed
    ? `Last ${bytes(recording.played)} of ${bytes(recording.printed)} of output`
    : "Complete recording";

/** Until the function that comes back is called. */
function prepare(session, place, isLog, setShown) {
  const leaving = new AbortController();
  let made = null;
  Promise.all([makeScreen(place, { scrollback: 20_000 }), loadCast(session, leaving.signal)]).then(
    async ([screen, recording]) => {
      if (leaving.signal.aborted) return screen.dispose();
      const fit = () => (isLog ? screen.fitLog(LOG_ROWS) : screen.fitWidth());
      if (!isLog) await screen.resize(recording.rows, recording.cols);
      const player = makePlayer(screen, recording, { onSize: fit, keepSize: isLog });
      const watcher = new ResizeObserver(fit);
      watcher.observe(place);
      made = { screen, player, watcher };
      await player.seek(player.length.value);
      if (!leaving.signal.aborted) setShown({ player, screen, recording, problem: null });
    },
    (problem) => leaving.signal.aborted || setShown({ player: null, problem }),
  );
  return () => {
    leaving.abort();
    made?.watcher.disconnect();
    made?.player.close();
    made?.screen.dispose();
  };
}

const clockWords = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

function Controls({ player }) {
  const toggle = () => (player.playing.value ? player.pause() : player.play());
  useEffect(() => addKeys([{ keys: [" "], does: "play, pause", act: toggle }]), [player]);
  const [position, length] = [player.position.value, player.length.value];
  const seek = (event) => (player.pause(), player.seek(Number(event.target.value)));
  return html`
    <div class="controls" role="group" aria-label="Playback">
      <button class="main play" onClick=${toggle}>${player.playing.value ? "Pause" : "Play"}</button>
      <input
        type="range"
        min="0"
        max=${length}
        step=${Math.max(0.01, length / 500)}
        value=${position}
        aria-label="Position in the recording"
        aria-valuetext=${`${clockWords(position)} of ${clockWords(length)}`}
        onInput=${seek}
      />
      <span class="number muted">${clockWords(position)} / ${clockWords(length)}</span>
      <div class="segmented" role="group" aria-label="Speed">
        ${SPEEDS.map(
          (speed) =>
            html`
              <button key=${speed} aria-pressed=${player.speed.value === speed} onClick=${() => player.setSpeed(speed)}>
                ${speed}×
              </button>
            `,
        )}
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked=${player.skip.value}
          onChange=${(event) => player.setSkip(event.target.checked)}
        />
        Skip idle time
      </label>
    </div>
  `;
}
