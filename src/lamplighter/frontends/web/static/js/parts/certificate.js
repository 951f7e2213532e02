// A death certificate: every process with its signal and how long it took, what is proven, and who is still there.

import { html } from "../../vendor/preact.js";
import { count, duration } from "../format.js";

const PROVEN = {
  kernel: "Verified by the kernel: its cgroup is empty and no child process is left.",
  tree: "Verified by the kernel: no child process is left.",
  best_effort: "Best effort: nothing that could be found is left.",
};
const SHOWN = 200;

export const seconds = (value) =>
  value == null
    ? ""
    : value < 1
      ? `${Math.round(value * 1000)} ms`
      : value < 60
        ? `${value.toFixed(1)} s`
        : duration(value);

/** `summary`, if there is one, is what the session came to in the end. */
export function Certificate({ certificate, summary }) {
  const { processes, survivors, spared = [], guarantee } = certificate;
  return html`
    <div class="certificate stack">
      <${Judgement} certificate=${certificate} />
      ${survivors.length > 0 && html`<${Alive} survivors=${survivors} />`}
      ${
        processes.length > 0 &&
        html`<${Group} title=${`${count(processes.length, "process", "processes")} ended`} rows=${processes} />`
      }
      ${spared.length > 0 && html`<${Group} title="Spared: also used by others" rows=${spared} />`}
      ${summary && html`<${Summary} summary=${summary} />`}
      <p class="muted"><small>Guarantee: ${guarantee}</small></p>
    </div>
  `;
}

function Judgement({ certificate }) {
  const { survivors, processes, guarantee } = certificate;
  if (survivors.length) return html`<${Survived} survivors=${survivors} />`;
  const gone = processes.length
    ? `${count(processes.length, "process", "processes")} ended in ${seconds(certificate.seconds)}.`
    : "It had no processes.";
  return html`
    <p class=${`note ${guarantee === "best_effort" ? "warn" : "good"}`}>
      <strong>Nothing is left. ${gone}</strong> ${PROVEN[guarantee] ?? guarantee}
    </p>
  `;
}

/** That some do not die, while it is tried again. */
export const Survived = ({ survivors }) => html`
  <p class="note bad" role="status">
    <strong>${count(survivors.length, "process is", "processes are")} still alive.</strong> The session stays in
    the state ending. Lamplighter keeps trying every few seconds.
  </p>
`;

export const Alive = ({ survivors }) =>
  html`<${Group} title=${`Still alive: ${survivors.length}`} kind="bad" rows=${survivors} />`;

const Group = ({ title, rows, kind = "" }) => html`
  <div class=${`deaths ${kind}`}>
    <h3>${title}</h3>
    <table>
      <thead><tr><th class="figure">PID</th><th>Command</th><th>Signal</th><th class="figure">Took</th></tr></thead>
      <tbody>
        ${rows.slice(0, SHOWN).map(
          (one) => html`
            <tr key=${`${one.pid}-${one.start_ticks}`}>
              <td class="figure mono">${one.pid}</td>
              <td class="mono command">${one.command}${one.why && html`<small class="why">${one.why}</small>`}</td>
              <td>${one.signal ?? (kind ? "" : "exited")}</td>
              <td class="figure">${seconds(one.seconds)}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
    ${rows.length > SHOWN && html`<p class="muted">and ${(rows.length - SHOWN).toLocaleString("en")} more</p>`}
  </div>
`;

function Summary({ summary }) {
  const git = summary.git;
  const facts = [
    ["Why", summary.why],
    ["Ran for", summary.seconds != null && duration(summary.seconds)],
    [
      "Messages",
      summary.messages &&
        Object.entries(summary.messages)
          .map(([role, number]) => `${number} ${role}`)
          .join(", "),
    ],
    [
      "Tokens",
      summary.tokens &&
        Object.entries(summary.tokens)
          .map(([kind, number]) => `${number.toLocaleString("en")} ${kind}`)
          .join(", "),
    ],
    ["Git", git && gitWords(git)],
    ["Stored", stored(summary)],
  ].filter(([, value]) => value);
  return html`
    <div class="stack">
      <dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
      ${
        summary.last_lines?.length > 0 &&
        html`<pre class="last" tabindex="0" aria-label="Last output">${summary.last_lines.join("\n")}</pre>`
      }
    </div>
  `;
}

function gitWords({ branch, head, commit_count, file_count, insertions, deletions }) {
  const sums = `${count(commit_count, "commit")}, ${count(file_count, "file")}, +${insertions} −${deletions}`;
  return `${branch ?? head?.slice(0, 12)}: ${sums}`;
}

function stored({ stored: kinds, inferred }) {
  const words = Object.entries(kinds ?? {}).map(([kind, number]) => count(number, kind.replaceAll("_", " ")));
  return words.length > 0 && `${words.join(", ")}${inferred ? " (inferred)" : ""}`;
}
