// What is kept: records, open loops, the packet for the next session, hand-offs, who went on from whom. Knows its tabs by name.

import { html, useEffect } from "../../vendor/preact.js";
import { addKeys } from "../keys.js";
import { status, want } from "../live.js";
import { Empty, Problem, Waiting } from "../parts/empty.js";
import { go, href } from "../route.js";
import { addRecord } from "./memory/adding.js";
import { Handoffs } from "./memory/handoffs.js";
import { Lineage } from "./memory/lineage.js";
import { Loops } from "./memory/loops.js";
import { Packet } from "./memory/packet.js";
import { ProjectList, ProjectSelect, projects, useProjects } from "./memory/projects.js";
import { Records } from "./memory/records.js";

const TABS = {
  records: { title: "Records", View: Records },
  loops: { title: "Open loops", View: Loops },
  packet: { title: "Next packet", View: Packet },
  handoffs: { title: "Hand-offs", View: Handoffs },
  lineage: { title: "Lineage", View: Lineage },
};
const ORDER = Object.keys(TABS);

export function Memory({ id, rest, query }) {
  useEffect(() => want({}), []);
  const { error, again } = useProjects();
  const tab = Object.hasOwn(TABS, id ?? "") ? id : "records";
  const chosen = query.project ?? "";
  useEffect(() => {
    const step = (by) =>
      go(["memory", ORDER[(ORDER.indexOf(tab) + by + ORDER.length) % ORDER.length]], { project: chosen });
    return addKeys([
      { keys: ["["], does: "tab to the left", act: () => step(-1) },
      { keys: ["]"], does: "tab to the right", act: () => step(1) },
      { keys: ["a"], does: "add a record", act: () => addRecord({ project: chosen, done: again }) },
    ]);
  }, [tab, chosen]);
  const { View } = TABS[tab];
  const nothing = projects.value?.length === 0 && tab !== "lineage";
  return html`
    <div class="head">
      <h1>Memory</h1>
      <button class="main" onClick=${() => addRecord({ project: chosen, done: again })}>Add a record</button>
    </div>
    ${error && html`<${Problem} error=${error} />`}
    ${!projects.value && !error && html`<${Waiting} />`}
    ${nothing && html`<${Nothing} />`}
    ${
      projects.value &&
      !nothing &&
      html`
        <div class="memory">
          <${ProjectList} chosen=${chosen} path=${["memory", tab]} query=${query} />
          <div class="stack">
            <div class="row spread tabs-row">
              <nav class="tabs" aria-label="Parts of the memory">
                ${ORDER.map(
                  (name) => html`
                    <a
                      key=${name}
                      href=${href(["memory", name], { project: chosen })}
                      aria-current=${name === tab ? "page" : null}
                    >
                      ${TABS[name].title}
                    </a>
                  `,
                )}
              </nav>
              <${ProjectSelect} chosen=${chosen} choose=${(project) => go(["memory", tab], { ...query, project, page: "" })} />
            </div>
            <${View} chosen=${chosen} rest=${rest} query=${query} changed=${again} />
          </div>
        </div>
      `
    }
  `;
}

const Nothing = () => html`
  <section class="panel">
    <${Empty} title="No records yet" command="lamp remember 'never push to main' --type constraint">
      Records are created when a session hands over what it knows, when an agent stores something, or when you
      add one here or in a project's folder${status.value?.cwd ? `, such as ${status.value.cwd},` : ""} with
    <//>
  </section>
`;
