// The packet that the next session would start from, at a chosen budget: its text, and what is cut. A look delivers nothing.

import { html, useState } from "../../../vendor/preact.js";
import { ago, count } from "../../format.js";
import { useAnswer } from "../../parts/answer.js";
import { Problem, Waiting } from "../../parts/empty.js";
import { say } from "../../parts/toast.js";
import { href, replace } from "../../route.js";
import { EVERYWHERE, folderOf, projects } from "./projects.js";

const USUAL = 8000;
const LEAST = 500;
const MOST = 40_000;
const LARGEST = 1_000_000;
const DRAG_MS = 250;

/** Whose packet: that of a session that is named, else of the chosen project, else of the one that changed last. */
function whose(query, chosen) {
  if (query.session?.trim()) return { session: query.session.trim() };
  const project = chosen && chosen !== EVERYWHERE ? chosen : projects.value?.find((one) => one.id)?.id;
  return project ? { project, folder: folderOf(project) } : null;
}

export function Packet({ chosen, query }) {
  const put = (more) => replace(["memory", "packet"], { ...query, ...more });
  const budget = Math.min(LARGEST, Math.max(1, Number(query.budget) || USUAL));
  const about = whose(query, chosen);
  const prompt = query.prompt?.trim();
  const args = about && { ...about, budget, preview: true, ...(prompt && { prompt }) };
  const { result, error, busy } = useAnswer("load_handoff", args, { pause: DRAG_MS });
  if (!about) return html`<p class="note">There is no project yet, so there is no packet.</p>`;
  return html`
    <section class="panel">
      <header><h2>What the next session would receive</h2><span class="chip">preview, not delivered</span></header>
      <div class="body stack">
        <${Asked} query=${query} budget=${budget} put=${put} about=${about} />
        ${error && error.code === "BUDGET_TOO_SMALL" && html`<${TooSmall} error=${error} put=${put} />`}
        ${error && error.code !== "BUDGET_TOO_SMALL" && html`<${Problem} error=${error} />`}
        ${!error && result && html`<${Measure} packet=${result} />`}
      </div>
    </section>
    ${!result && !error && html`<${Waiting} />`}
    ${
      !error &&
      result &&
      html`
        <div class="packet" aria-busy=${busy}>
          <${Text} packet=${result} />
          <${Parts} packet=${result} />
        </div>
      `
    }
  `;
}

function Asked({ query, budget, put, about }) {
  const change = (event) => put({ budget: event.target.value });
  return html`
    <div class="packet-wish">
      <label>Budget, characters
        <input
          type="range"
          aria-label="Budget slider"
          min=${LEAST}
          max=${MOST}
          step="100"
          value=${Math.min(MOST, budget)}
          onInput=${change}
        />
      </label>
      <label><span class="sr">Budget, characters</span>
        <input class="number" type="number" min="1" max=${LARGEST} step="100" value=${budget} onChange=${change} />
      </label>
      <label>After session
        <input
          value=${query.session ?? ""}
          placeholder="the project's last session"
          maxlength="200"
          onChange=${(event) => put({ session: event.target.value })}
        />
      </label>
      <label>First prompt
        <input value=${query.prompt ?? ""} placeholder="none: only what every session receives" maxlength="2000"
          onChange=${(event) => put({ prompt: event.target.value })} />
      </label>
    </div>
    ${
      about.project &&
      html`
        <p class="muted">
          For <strong>${projects.value?.find((one) => one.id === about.project)?.name ?? about.project}</strong>; choose another
          in the list of projects.
        </p>
      `
    }
  `;
}

const TooSmall = ({ error, put }) => html`
  <div class="note warn row spread" role="alert">
    <span>${error.message}. ${error.hint}.</span>
    ${
      error.details.needed &&
      html`<button onClick=${() => put({ budget: String(error.details.needed) })}>Use ${error.details.needed}</button>`
    }
  </div>
`;

function Measure({ packet }) {
  const part = Math.min(1, packet.bytes / packet.budget);
  const cut = sum(packet.cuts);
  const shortened = sum(packet.shortened);
  return html`
    <div class="measure">
      <div
        class="fill"
        role="meter"
        aria-label="How full the budget is"
        aria-valuemin="0"
        aria-valuemax="100"
        aria-valuenow=${Math.round(part * 100)}
      >
        <i style=${{ width: `${100 * part}%` }}></i>
      </div>
      <ul class="row figures">
        <li>
          <strong class="number">${packet.bytes.toLocaleString("en")}</strong> of ${packet.budget.toLocaleString("en")}
          ${" "}bytes (${Math.round(part * 100)}%)
        </li>
        <li><strong class="number">${packet.included.length + packet.fitting.length}</strong> records included</li>
        <li class=${cut ? "cut" : ""}><strong class="number">${cut}</strong> left out</li>
        <li class=${shortened ? "cut" : ""}><strong class="number">${shortened}</strong> shortened</li>
        <li>minimum: <strong class="number">${packet.needed.toLocaleString("en")}</strong></li>
      </ul>
    </div>
  `;
}

const sum = (counts) => Object.values(counts).reduce((all, one) => all + one, 0);

function Text({ packet }) {
  const copy = () =>
    navigator.clipboard.writeText(packet.text).then(
      () => say("Packet copied"),
      () => say("The browser blocked copying", "bad"),
    );
  return html`
    <section class="panel text">
      <header><h2>Packet</h2><button class="quiet" onClick=${copy}>Copy</button></header>
      <pre tabindex="0" aria-label="Text of the packet">${packet.text}</pre>
    </section>
  `;
}

function Parts({ packet }) {
  const { before } = packet;
  const names = [...new Set([...Object.keys(packet.cuts), ...Object.keys(packet.shortened)])].filter(
    (name) => packet.cuts[name] || packet.shortened[name],
  );
  return html`
    <section class="panel parts">
      <header><h2>Contents</h2></header>
      <div class="body stack">
        <dl class="facts">
          <div>
            <dt>Predecessor</dt>
            <dd>
              ${
                before
                  ? html`
                    <a href=${href(["sessions", before.id])}>${before.name}</a>, ${before.close}, ${ago(before.at)}
                    ${before.inferred ? " (inferred)" : ""}
                  `
                  : "no hand-off"
              }
            </dd>
          </div>
          <div><dt>Succession</dt><dd>${before?.succession_policy?.replaceAll("_", " ") ?? "not set"}</dd></div>
          <div>
            <dt>Records</dt>
            <dd>
              ${count(packet.included.length, "record")}
              ${packet.fitting.length ? `, ${packet.fitting.length} more for the prompt` : ""}
            </dd>
          </div>
        </dl>
        <h3>Left out</h3>
        ${names.length === 0 && html`<p class="note good">Nothing. Everything fits.</p>`}
        ${
          names.length > 0 &&
          html`
            <table>
              <thead><tr><th>Section</th><th class="figure">Left out</th><th class="figure">Shortened</th></tr></thead>
              <tbody>
                ${names.map(
                  (name) => html`
                    <tr key=${name}>
                      <td>${name.replaceAll("_", " ")}</td>
                      <td class="figure">${packet.cuts[name] ?? 0}</td>
                      <td class="figure">${packet.shortened[name] ?? 0}</td>
                    </tr>
                  `,
                )}
              </tbody>
            </table>
          `
        }
        ${packet.left_out.length > 0 && html`<${LeftOut} packet=${packet} />`}
      </div>
    </section>
  `;
}

function LeftOut({ packet }) {
  const [open, show] = useState(false);
  const { result } = useAnswer(
    "list_records",
    open && packet.project ? { project: packet.project, limit: 1000 } : null,
  );
  const texts = new Map((result?.records ?? []).map((record) => [record.id, record]));
  return html`
    <details onToggle=${(event) => show(event.target.open)}>
      <summary>${count(packet.left_out.length, "record")} left out</summary>
      <ul class="left-out">
        ${packet.left_out.map((id) => html`<li key=${id}><code>${id}</code> ${texts.get(id)?.content.slice(0, 160)}</li>`)}
      </ul>
    </details>
  `;
}
