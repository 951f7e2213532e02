// Every session: the sums, the search, the list, what was made by hand in tmux, and the keys that move in it.

import { html, useLayoutEffect, useSignalEffect } from "../../vendor/preact.js";
import { startSession } from "../acts/start.js";
import { bytes, grouped } from "../format.js";
import { addKeys } from "../keys.js";
import { byHand, problem, sessions, sums, want } from "../live.js";
import { Empty, Waiting } from "../parts/empty.js";
import { Bar } from "./sessions/bar.js";
import { ByHand } from "./sessions/byhand.js";
import { ask, asked } from "./sessions/choice.js";
import { bindings } from "./sessions/keys.js";
import { List } from "./sessions/list.js";
import { feel } from "./sessions/pulse.js";
import { Search } from "./sessions/search.js";
import { behind, known, lines } from "./sessions/shown.js";

let scrolled = 0;

export function Sessions() {
  useSignalEffect(() => {
    const { selection, all } = asked.value;
    want({ sessions: selection, ...(all && { all: "1" }) });
  });
  useSignalEffect(() => {
    if (sessions.value) feel(sessions.value);
  });
  useLayoutEffect(() => addKeys(bindings), []); // before it is seen: whoever sees it may press one
  useLayoutEffect(() => {
    scrollTo(0, scrolled);
    return () => (scrolled = scrollY);
  }, []);
  return html`
    <div class="head">
      <h1>Sessions</h1>
      <div class="row">
        <div class="segmented" role="group" aria-label="Show as">
          <${Way} name="table" title="Table" /><${Way} name="tree" title="Tree" />
        </div>
        <button class="main" onClick=${() => startSession()}>Start a session</button>
      </div>
    </div>
    <${Sums} />
    <${Search} />
    <${Shown} />
    <${ByHand} />
    <${Bar} />
  `;
}

const Way = ({ name, title }) =>
  html`<button aria-pressed=${String(asked.value.view === name)} onClick=${() => ask({ view: name })}>${title}</button>`;

/** Of everything that is alive; the chips below count what the search finds. */
function Sums() {
  const { alive = 0, processes = 0, memory = 0, waiting = 0 } = sums.value ?? {};
  const figure = (title, value, more = "") =>
    html`<div class=${`sum ${more}`}><dt>${title}</dt><dd class="number">${value}</dd></div>`;
  return html`
    <dl class="panel sums">
      ${figure("alive", grouped(alive))} ${figure(processes === 1 ? "process" : "processes", grouped(processes))}
      ${figure("memory", bytes(memory))} ${figure("waiting for you", grouped(waiting), waiting ? "warm" : "")}
    </dl>
  `;
}

function Shown() {
  if (!known.value) return problem.value ? null : html`<${Waiting} />`;
  if (lines.value.length) return html`<${List} />`;
  if (behind.value) return problem.value ? null : html`<${Waiting} />`;
  const { text, show, all } = asked.value;
  if (text || show) {
    return html`
      <div class="panel">
        <${Empty} title=${show && !text ? `No ${show} sessions` : "No matching sessions"}>
          ${text && `No ${all ? "" : "running "}session matches “${text}”${show ? ` and is ${show}` : ""}. `}
          <button onClick=${() => ask({ selection: "", show: "" })}>Show all</button>
          ${!all && html` <button onClick=${() => ask({ all: "1" })}>Include ended sessions</button>`}
        <//>
      </div>
    `;
  }
  return html`
    <div class="panel">
      <${Empty} title="No sessions running" command="lamp start --agent claude">
        Start an agent or any command here, or from a shell.
        ${" "}${byHand.value.length > 0 && "You can adopt the tmux sessions below. "}
        Sessions started elsewhere appear automatically.
      <//>
    </div>
  `;
}
