// What is to be cleaned up: a choice of sessions in a few words, or in the words of a selection. Knows no plan.

import { html, useEffect, useState } from "../../../vendor/preact.js";
import { call } from "../../api.js";

export const DEFAULT = "orphaned+leftovers+finished";
const PRESETS = [
  ["default", "Left over"],
  ["idle", "Idle"],
  ["project", "A project"],
  ["custom", "Filter"],
];
const TOLD = {
  default: "Orphaned, finished, or with leftover processes.",
  idle: "Idle for at least the time you give.",
  project: "Every session of a project that is not working.",
  custom: "As in lamp ls: verdicts, kind:cron, owner:X, names, ids, cron:*. A comma means and, a plus means or.",
};

export const first = { preset: "default", older_than: "", project: "", selection: "", force: false };

/** The choice that an address asks for. Force is never in it: that is for a person to tick. */
export function fromQuery({ selection = "", older_than = "" }) {
  const known = !selection || selection === DEFAULT ? "default" : selection === "idle" ? "idle" : "custom";
  const project = /^project:([^,+]+)$/.exec(selection)?.[1];
  if (project) return { ...first, preset: "project", project, older_than };
  return { ...first, preset: known, selection: known === "custom" ? selection : "", older_than };
}

const selectionOf = ({ preset, project, selection }) =>
  preset === "default"
    ? DEFAULT
    : preset === "idle"
      ? "idle"
      : preset === "project"
        ? `project:${project}`
        : selection.trim();

/** As the address has it. */
export const toQuery = (choice) => ({
  selection: choice.preset === "default" ? "" : selectionOf(choice),
  older_than: choice.older_than.trim(),
});

/** What cleanup_sessions is asked with; null while something is missing. */
export function argumentsOf(choice) {
  const selection = selectionOf(choice);
  if (!selection || selection === "project:") return null;
  const older = choice.older_than.trim();
  return { selection, ...(older ? { older_than: older } : {}), ...(choice.force ? { force: true } : {}) };
}

export function Choice({ choice, change, submit, busy, changed }) {
  const set = (more, at_once) => {
    const next = { ...choice, ...more };
    change(next);
    if (at_once && argumentsOf(next)) submit(next);
  };
  const preset = (name) =>
    set({ preset: name, older_than: name === "idle" ? choice.older_than || "1h" : "" }, name !== "custom");
  const onSubmit = (event) => {
    event.preventDefault();
    submit(choice);
  };
  return html`
    <form class="panel choice" onSubmit=${onSubmit} aria-label="What to clean up">
      <div class="presets">
        <div class="segmented" role="group" aria-label="Which sessions">
          ${PRESETS.map(
            ([name, title]) => html`
              <button key=${name} type="button" aria-pressed=${choice.preset === name} onClick=${() => preset(name)}>
                ${title}
              </button>
            `,
          )}
        </div>
        <small class="muted">${TOLD[choice.preset]}</small>
      </div>
      <div class="asking">
        ${choice.preset === "project" && html`<${Project} value=${choice.project} pick=${(project) => set({ project }, true)} />`}
        ${
          choice.preset === "custom" &&
          html`
            <label class="grow">
              Filter
              <input
                class="mono"
                value=${choice.selection}
                placeholder="idle,kind:cron+orphaned"
                spellcheck="false"
                autocapitalize="off"
                autocomplete="off"
                onInput=${(event) => set({ selection: event.target.value })}
              />
            </label>
          `
        }
        <label class="short">
          Quiet for at least
          <input
            value=${choice.older_than}
            placeholder="any time"
            list="quiet-times"
            autocomplete="off"
            onInput=${(event) => set({ older_than: event.target.value })}
          />
        </label>
        <datalist id="quiet-times">${["10m", "1h", "8h", "1d", "7d"].map((time) => html`<option value=${time} />`)}</datalist>
        <label class="check">
          <input type="checkbox" checked=${choice.force} onChange=${(event) => set({ force: event.target.checked }, true)} />
          Include active sessions
        </label>
        <button type="submit" class=${changed ? "main" : ""} disabled=${busy || !argumentsOf(choice)}>
          ${changed ? "Plan" : "Plan again"}
        </button>
      </div>
      ${
        choice.force &&
        html`
          <p class="note warn">
            The plan includes sessions that are working, waiting or unknown. Applying it ends them whatever they are
            doing by then.
          </p>
        `
      }
    </form>
  `;
}

function Project({ value, pick }) {
  const [projects, setProjects] = useState(value ? [value] : []);
  useEffect(() => {
    call("list_sessions", { limit: 5000 })
      .then(({ sessions }) =>
        setProjects(
          [...new Set([...(value ? [value] : []), ...sessions.map((row) => row.project).filter(isSayable)])].sort(),
        ),
      )
      .catch(() => {});
  }, []);
  return html`
    <label class="grow">
      Project
      <select value=${value} onChange=${(event) => pick(event.target.value)}>
        <option value="">${projects.length ? "choose a project" : "no session has a project"}</option>
        ${projects.map((project) => html`<option key=${project} value=${project}>${project}</option>`)}
      </select>
    </label>
  `;
}

/** What a selection can name: its own signs cannot be in it. */
const isSayable = (project) => project && !/[,+]/.test(project);
