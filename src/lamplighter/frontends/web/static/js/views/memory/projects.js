// The projects of which something is kept, and which of them is looked at. Knows records only by their number.

import { html, signal, useEffect } from "../../../vendor/preact.js";
import { count } from "../../format.js";
import { useAnswer } from "../../parts/answer.js";
import { href } from "../../route.js";

/** As list_projects has them; kept between tabs, so that nothing flickers. */
export const projects = signal(null);
/** In the address, what holds in every project. */
export const EVERYWHERE = "*";

export function useProjects() {
  const { result, error, again } = useAnswer("list_projects", {});
  useEffect(() => {
    if (result) projects.value = result.projects;
  }, [result]);
  return { error: projects.value ? null : error, again };
}

/** What an operation is asked with for the project of the address. */
export function place(chosen) {
  if (!chosen) return { all: true };
  return chosen === EVERYWHERE ? { everywhere: true } : { project: chosen };
}

export const nameOf = (chosen) => {
  if (!chosen) return "all projects";
  if (chosen === EVERYWHERE) return "all projects";
  return projects.value?.find((one) => one.id === chosen)?.name ?? chosen;
};

/** The folder that a project's files are in; none for one that only has a name. */
export const folderOf = (identity) => (identity?.startsWith("/") ? identity.replace(/\/\.git$/, "") || "/" : null);

const rows = () => {
  const found = projects.value ?? [];
  const sum = (name) => found.reduce((all, one) => all + one[name], 0);
  const loops = (one) => one.types.open_loop ?? 0;
  return [
    { id: "", name: "All projects", records: sum("records"), loops: found.reduce((all, one) => all + loops(one), 0) },
    ...found.map((one) => ({
      id: one.id ?? EVERYWHERE,
      name: one.id ? one.name : "Applies everywhere",
      where: one.id && one.id !== one.name ? folderOf(one.id) : "",
      records: one.records,
      loops: loops(one),
    })),
  ];
};

export function ProjectList({ chosen, path, query }) {
  return html`
    <nav class="projects panel" aria-label="Projects">
      <header><h2>Projects</h2></header>
      <ul>
        ${rows().map(
          (row) => html`
            <li key=${row.id}>
              <a
                href=${href(path, { ...query, project: row.id, page: "" })}
                aria-current=${row.id === chosen ? "true" : null}
                title=${row.where}
              >
                <span class="name">${row.name}${row.where && html`<small><bdi>${row.where}</bdi></small>`}</span>
                ${
                  row.loops > 0 &&
                  html`
                    <span class="chip loops" title=${count(row.loops, "open loop")}>
                      ${row.loops}<span class="sr"> open</span>
                    </span>
                  `
                }
                <span class="number muted" title=${count(row.records, "record")}>
                  ${row.records.toLocaleString("en")}<span class="sr"> records</span>
                </span>
              </a>
            </li>
          `,
        )}
      </ul>
    </nav>
  `;
}

/** The same where there is no room beside. */
export const ProjectSelect = ({ chosen, choose }) => html`
  <label class="project-select">
    <span class="sr">Project</span>
    <select value=${chosen} onChange=${(event) => choose(event.target.value)}>
      ${rows().map((row) => html`<option key=${row.id} value=${row.id}>${row.name} (${row.records})</option>`)}
    </select>
  </label>
`;
