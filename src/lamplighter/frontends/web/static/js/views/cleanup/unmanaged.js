// Agents that are alive and in no session, and taking one under management: what that means, then doing it.

import { html, useState } from "../../../vendor/preact.js";
import { call, LampError } from "../../api.js";
import { bytes, count } from "../../format.js";
import { openDialog } from "../../parts/dialog.js";
import { Ago } from "../../parts/tick.js";
import { say } from "../../parts/toast.js";
import { go } from "../../route.js";

const KINDS = ["task", "main", "cron", "system"];

export const Unmanaged = ({ agents, adopted }) => html`
  <section class="panel" aria-label="Agents that nobody manages">
    <header>
      <div>
        <h2>${count(agents.length, "agent")} alive, and nobody manages ${agents.length === 1 ? "it" : "them"}</h2>
        <small class="muted">Started without Lamplighter. Nothing is wrong with that; adopted, they are listed, judged and ended as others are.</small>
      </div>
    </header>
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">Agent</th><th scope="col">Where</th><th scope="col" class="figure">Processes</th>
          <th scope="col" class="figure">Memory</th><th scope="col">Started</th><th scope="col"><span class="sr">Adopt</span></th>
        </tr>
      </thead>
      <tbody>
        ${agents.map((agent) => html`<${Agent} key=${`${agent.pid} ${agent.start}`} agent=${agent} adopted=${adopted} />`)}
      </tbody>
    </table>
  </section>
`;

const Agent = ({ agent, adopted }) => html`
  <tr>
    <td class="who"><strong>${agent.agent}</strong> <code class="muted">${agent.pid}</code></td>
    <td class="reasons"><span>${place(agent)}</span> <code class="muted">${agent.cwd}</code></td>
    <td class="figure" data-unit=${agent.processes === 1 ? "process" : "processes"}>${agent.processes}</td>
    <td class="figure">${bytes(agent.memory)}</td>
    <td class="muted"><${Ago} at=${agent.since} /></td>
    <td class="act"><button aria-label=${`Adopt ${agent.agent} ${agent.pid}`} onClick=${() => openDialog(Adopt, { agent, adopted })}>Adopt…</button></td>
  </tr>
`;

const place = ({ tmux, terminal }) => (tmux ? `in ${tmux}` : terminal ? "at a terminal" : "without a terminal");

function Adopt({ agent, adopted, close }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState("");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const made = await adopt(agent, name.trim(), kind);
      close();
      say(`${made.name} is a session now`, "good", `a kill of it proves ${made.guarantee}`);
      adopted();
      go(["sessions", made.id]);
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return html`
    <header><h2 id="dialog-title">Adopt ${agent.tmux ?? `${agent.agent} ${agent.pid}`}?</h2></header>
    <form id="adopt" class="body" onSubmit=${submit}>
      <p>
        It is not touched. From now on it is listed, judged and ended as others are, with all that it starts:
        ${` ${count(agent.processes, "process", "processes")}`} and ${bytes(agent.memory)} now. There is no log of it, and an end of it is
        best_effort: everything that can be traced dies. It cannot be given back; it goes on as it is.
      </p>
      <pre class="spelled"><code>${agent.command}</code></pre>
      <label>Name <input value=${name} placeholder="as its program is called" autofocus autocomplete="off" onInput=${(event) => setName(event.target.value)} /></label>
      <label>
        Kind
        <select value=${kind} onChange=${(event) => setKind(event.target.value)}>
          <option value="">as it would be by itself</option>
          ${KINDS.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
        </select>
      </label>
      ${error && html`<p class="note bad" role="alert">${error.message}. ${error.hint}</p>`}
    </form>
    <footer>
      <button onClick=${close}>Cancel</button>
      <button class="main" type="submit" form="adopt" disabled=${busy}>Adopt</button>
    </footer>
  `;
}

/** A pid may be another process's by now: only the one that was shown is adopted. */
async function adopt(agent, name, kind) {
  const { agents } = await call("scan_host");
  if (!agents.some(({ pid, start }) => pid === agent.pid && start === agent.start)) {
    throw new LampError({ code: "NOT_FOUND", message: `${agent.agent} ${agent.pid} is not there any more`, hint: "scan again to see what is" });
  }
  return call("adopt_session", { target: agent.tmux ?? String(agent.pid), ...(name ? { name } : {}), ...(kind ? { kind } : {}) });
}
