// Plays a recording on a screen: where it is, how fast, and jumping. Knows a screen and events; knows nothing of buttons.

import { signal } from "../../../vendor/preact.js";
import { sizeOf, timetable } from "./cast.js";

const PART = 256 << 10;

/** {position, length, playing, play, pause, seek, setSpeed, setSkip, close}; times in seconds. */
export function makePlayer(screen, recording, { onSize, keepSize = false }) {
  const { events } = recording;
  const position = signal(0);
  const playing = signal(false);
  const length = signal(0);
  const speed = signal(1);
  const skip = signal(true);
  let times = [];
  let next = 0; // the event that comes next
  let wanted = null; // where to jump, when a jump is under way
  let frame = 0;
  let closed = false;

  const resize = (size) => !keepSize && size && screen.resize(size.rows, size.cols).then(onSize);

  /** All events before `end`, as few writes as can be. */
  async function showTo(end) {
    let text = "";
    for (; next < end; next++) {
      const { kind, data } = events[next];
      if (kind === "r" && text) {
        await screen.write(text);
        text = "";
      }
      if (kind === "r") await resize(sizeOf(data));
      else text += kind === "o" ? data : `\r\n\x1b[7m ${data.replace(/[\x00-\x1f\x7f-\x9f]/g, " ")} \x1b[0m\r\n`;
      if (text.length > PART) {
        await screen.write(text);
        text = "";
        if (wanted !== null && wanted < times[next]) return; // somebody wants to be elsewhere
        if (closed) return;
      }
    }
    if (text) await screen.write(text);
  }

  const upTo = (second) => {
    let [low, high] = [0, times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= second) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  let jumping = null;
  function seek(second) {
    wanted = Math.max(0, Math.min(length.value, second));
    position.value = wanted;
    jumping ??= jump().finally(() => (jumping = null));
    return jumping;
  }

  async function jump() {
    while (wanted !== null && !closed) {
      const target = wanted;
      const end = upTo(target);
      if (end < next) {
        screen.reset();
        next = 0;
        await resize(recording);
      }
      await showTo(end);
      if (wanted === target) wanted = null;
    }
  }

  function plan() {
    const at = next > 0 ? next - 1 : 0;
    times = timetable(events, skip.value);
    length.value = times.at(-1) ?? 0;
    position.value = next >= times.length ? length.value : (times[at] ?? 0);
  }

  let last = 0;
  async function tick(now) {
    if (!playing.value || closed) return;
    const passed = Math.min(0.25, (now - last) / 1000) * speed.value;
    last = now;
    if (jumping) await jumping;
    else {
      position.value = Math.min(length.value, position.value + passed);
      await showTo(upTo(position.value));
    }
    if (position.value >= length.value) playing.value = false;
    else frame = requestAnimationFrame(tick);
  }

  plan();
  return {
    position,
    length,
    playing,
    speed,
    skip,
    seek,
    async play() {
      if (playing.value) return;
      playing.value = true;
      if (position.value >= length.value) await seek(0);
      last = performance.now();
      frame = requestAnimationFrame(tick);
    },
    pause: () => ((playing.value = false), cancelAnimationFrame(frame)),
    setSkip: (on) => ((skip.value = on), plan()),
    setSpeed: (times) => (speed.value = times),
    close: () => ((closed = true), (playing.value = false), cancelAnimationFrame(frame)),
  };
}
