// The processes of a session as a tree, with what each uses; of one that has ended, its death certificate.

import { html } from "../../../vendor/preact.js";
import { bytes, count } from "../../format.js";
import { Alive, Certificate, Survived } from "../../parts/certificate.js";
import { Empty } from "../../parts/empty.js";

const STATES = {
  R: "running",
  S: "sleeping",
  D: "in the kernel",
  T: "stopped",
  t: "traced",
  Z: "dead, not reaped",
  I: "idle",
};

/** In the order of a tree: [{process, depth, last: [is the last of its parent, on each level]}]. */
export function branches(tree) {
  const known = new Set(tree.map((process) => process.pid));
  const below = Map.groupBy(tree, (process) =>
    known.has(process.parent) && process.parent !== process.pid ? process.parent : null,
  );
  const rows = [];
  const seen = new Set();
  const walk = (parent, lasts) => {
    const children = below.get(parent) ?? [];
    children.forEach((process, place) => {
      if (seen.has(process.pid)) return;
      seen.add(process.pid);
      const line = [...lasts, place === children.length - 1];
      rows.push({ process, line });
      walk(process.pid, line);
    });
  };
  walk(null, []);
  return rows;
}

const drawn = (line) =>
  line
    .slice(1)
    .map((last, place, all) => (place === all.length - 1 ? (last ? "└ " : "├ ") : last ? "  " : "│ "))
    .join("");

export function Processes({ session }) {
  if (session.ending) {
    return html`
      <section class="panel" aria-labelledby="certificate-title">
        <header><h2 id="certificate-title">Death certificate</h2></header>
        <div class="body"><${Certificate} certificate=${session.ending.certificate} summary=${session.ending.summary} /></div>
      </section>
    `;
  }
  if (!session.tree.length) {
    const why =
      session.driver === "logical"
        ? "An agent reports this session itself and renews its lease."
        : "No process of this session is visible right now.";
    return html`<section class="panel"><${Empty} title="No processes">${why}<//></section>`;
  }
  return html`
    ${session.survivors.length > 0 && html`<${Survivors} survivors=${session.survivors} />`}
    <${Tree} session=${session} />
  `;
}

const Survivors = ({ survivors }) => html`
  <section class="panel" aria-label="Survivors">
    <div class="body certificate stack"><${Survived} survivors=${survivors} /><${Alive} survivors=${survivors} /></div>
  </section>
`;

function Tree({ session }) {
  const most = Math.max(1, ...session.tree.map((process) => process.memory));
  return html`
    <section class="panel" aria-labelledby="processes-title">
      <header>
        <h2 id="processes-title">${count(session.tree.length, "process", "processes")}</h2>
        <span class="muted number">${bytes(session.memory)}</span>
      </header>
      <div class="scroll" tabindex="0" role="region" aria-label="Processes">
        <table class="processes">
          <thead>
            <tr>
              <th>Command</th>
              <th class="figure">PID</th>
              <th class="state">State</th>
              <th class="figure cpu">CPU</th>
              <th class="figure">Memory</th>
            </tr>
          </thead>
          <tbody>
            ${branches(session.tree).map(
              ({ process, line }) => html`<${Row} key=${process.pid} process=${process} line=${line} most=${most} />`,
            )}
          </tbody>
        </table>
      </div>
    </section>
  `;
}

const Row = ({ process, line, most }) => html`
  <tr>
    <td class="mono">
      <span class="twig" aria-hidden="true">${drawn(line)}</span><span class="command">${process.command}</span>
    </td>
    <td class="figure mono">${process.pid}</td>
    <td class="state">${STATES[process.state] ?? process.state}</td>
    <td class="figure cpu">${process.cpu.toFixed(1)} s</td>
    <td class="figure">
      <meter class="share" min="0" max=${most} value=${process.memory} aria-label="share of the memory"></meter>
      ${bytes(process.memory)}
    </td>
  </tr>
`;
