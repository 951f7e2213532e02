// Agents that are alive and in no session, each with the way to take it under management.

import { html } from "../../../vendor/preact.js";
import { adoptAgent } from "../../acts/adopt.js";
import { bytes, count } from "../../format.js";
import { Ago } from "../../parts/tick.js";

export const Unmanaged = ({ agents, adopted }) => html`
  <section class="panel" aria-label="Unmanaged agents">
    <header>
      <div>
        <h2>${count(agents.length, "agent")} running unmanaged</h2>
        <small class="muted">
          Started without Lamplighter. Adopt them to list, judge and end them like other sessions.
        </small>
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
    <td class="act">
      <button aria-label=${`Adopt ${agent.agent} ${agent.pid}`} onClick=${() => adoptAgent(agent, adopted)}>
        Adopt…
      </button>
    </td>
  </tr>
`;

const place = ({ tmux, terminal }) => (tmux ? `in ${tmux}` : terminal ? "at a terminal" : "without a terminal");
