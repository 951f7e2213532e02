// What agents that are gone left on the machine, by dead session, with why that is believed; and agents that nobody manages.

import { batch, html, signal, useEffect } from "../../../vendor/preact.js";
import { call } from "../../api.js";
import { bytes, count } from "../../format.js";
import { addKeys } from "../../keys.js";
import { Empty, Problem, Waiting } from "../../parts/empty.js";
import { Ago } from "../../parts/tick.js";
import { Leak } from "./leak.js";
import { NothingToDo, Plan } from "./plan.js";
import { Planning } from "./planning.js";
import { Unmanaged } from "./unmanaged.js";

const planning = new Planning();
const scan = signal(null);
const at = signal(null);
const error = signal(null);
const looking = signal(false);
/** Ids that are ticked. */
const chosen = signal(new Set());

async function look() {
  if (looking.value) return;
  const before = scan.value;
  looking.value = true;
  try {
    const found = await call("scan_host");
    batch(() => {
      chosen.value = stillChosen(found.leaks, before?.leaks);
      scan.value = found;
      at.value = new Date().toISOString();
      error.value = null;
    });
  } catch (failed) {
    error.value = failed;
  } finally {
    looking.value = false;
  }
}

/** What is certain is ticked when it is first seen; after that, what the operator ticked. */
function stillChosen(leaks, before) {
  const seen = new Set(before?.map((leak) => leak.id));
  return new Set(
    leaks
      .filter(({ id, certainty }) => (seen.has(id) ? chosen.value.has(id) : certainty === "certain"))
      .map(({ id }) => id),
  );
}

function tick(id, on) {
  const next = new Set(chosen.value);
  on ? next.add(id) : next.delete(id);
  chosen.value = next;
}

const plan = () => planning.make({ leaks: true, selection: [...chosen.value].join(",") });

const back = () => {
  planning.forget();
  look();
};

export function Leaks() {
  const planned = planning.phase.value !== "none";
  useEffect(() => void (scan.value || look()), []);
  useEffect(
    () =>
      addKeys([
        { keys: ["r"], does: "scan again", act: () => (planning.phase.value === "none" ? look() : planning.again()) },
      ]),
    [],
  );
  if (planned) return html`<${Planned} />`;
  if (error.value)
    return html`<section class="panel"><${Problem} error=${error.value} /></section><button onClick=${look}>Scan again</button>`;
  if (!scan.value) return html`<${Waiting} />`;
  return html`<${Found} found=${scan.value} />`;
}

function Planned() {
  const phase = planning.phase.value;
  return html`
    ${phase === "planning" && html`<${Waiting} />`}
    ${
      phase !== "applying" &&
      phase !== "applied" &&
      html`<div><button class="quiet" onClick=${back}>← Back to the scan</button></div>`
    }
    <${Plan}
      planning=${planning}
      again=${planning.again}
      nothing=${html`<${NothingToDo}>What was found is already gone.<//>`}
      after=${html`<button class="main" onClick=${back}>Scan again</button>`}
    />
  `;
}

function Found({ found }) {
  const left = found.leaks.filter((leak) => leak.processes.length);
  const groups = [
    [
      "Certain",
      "Its agent is dead, whatever started it is gone, and nothing can communicate with it.",
      left.filter(isCertain),
    ],
    ["Likely", "It may be running on purpose. Check before you end it.", left.filter((leak) => !isCertain(leak))],
    ["Stale files", "Files and sockets left by dead processes.", found.leaks.filter((leak) => !leak.processes.length)],
  ];
  return html`
    <section class="panel" aria-label="The scan" aria-busy=${looking.value}>
      <header>
        <div>
          <h2>${sentence(found)}</h2>
          <small class="muted">
            ${found.sums.processes > 0 && `${found.sums.certain} certain, ${found.sums.likely} likely · `}looked at
            ${` ${count(found.seen, "process", "processes")}`} in ${found.seconds.toFixed(2)} s, <${Ago} at=${at.value} />
          </small>
        </div>
        <div class="row">
          <button disabled=${looking.value} onClick=${look}>${looking.value ? "Scanning…" : "Scan again"}</button>
          ${
            found.leaks.length > 0 &&
            html`
              <button class="main" disabled=${!chosen.value.size} onClick=${plan}>
                Plan to end ${count(chosen.value.size, "leak")}
              </button>
            `
          }
        </div>
      </header>
      ${found.leaks.length === 0 && html`<${Empty} title="No leaks found">${NOTHING}<//>`}
      ${
        planning.error.value &&
        html`<p class="note bad" role="alert">${planning.error.value.message}. ${planning.error.value.hint}</p>`
      }
      ${groups
        .filter(([, , leaks]) => leaks.length)
        .map(([title, means, leaks]) => html`<${Group} key=${title} title=${title} means=${means} leaks=${leaks} />`)}
    </section>
    ${found.agents.length > 0 && html`<${Unmanaged} agents=${found.agents} adopted=${look} />`}
  `;
}

const NOTHING =
  "Every MCP server, tool shell, background job and agent daemon on this machine still has the agent that started it.";
const isCertain = (leak) => leak.certainty === "certain";

function sentence({ sums }) {
  if (sums.processes) {
    const some = count(sums.processes, "process", "processes");
    const hold = sums.processes === 1 ? "holds" : "hold";
    return `${some} of ${count(sums.sessions, "dead session")} ${hold} ${bytes(sums.memory)}`;
  }
  return sums.files ? `No process was left behind, but ${count(sums.files, "file")}` : "No process was left behind";
}

const Group = ({ title, means, leaks }) => html`
  <div class="group">
    <div class="caption"><h3>${title}</h3><small class="muted">${means}</small></div>
    <ul>
      ${leaks.map((leak) => html`<${Leak} key=${leak.id} leak=${leak} on=${chosen.value.has(leak.id)} tick=${tick} />`)}
    </ul>
  </div>
`;
