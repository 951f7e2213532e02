// One record as people read it: what it says, whose word it is, what it rests on, how it stands. Knows nothing of lists.

import { html, useState } from "../../../vendor/preact.js";
import { day } from "../../format.js";
import { Ago } from "../../parts/tick.js";
import { href } from "../../route.js";
import { forgetRecord, resolveRecord, supersedeRecord } from "./closing.js";
import { typeName } from "./fields.js";
import { pieces } from "./hits.js";

const LONG = 420;
const SOURCES = {
  end_session: "from a hand-off",
  agent: "by an agent",
  inferred: "inferred",
  operator: "by the operator",
  import: "imported",
};
export const sourceName = (source) => SOURCES[source] ?? source;

export const TypeChip = ({ type }) => html`<span class=${`chip type type-${type}`}>${typeName(type)}</span>`;

export function RecordCard({ record, query = "", withProject, done, children }) {
  return html`
    <article class=${`record ${record.state}`} aria-label=${`${typeName(record.type)} ${record.id}`}>
      <div class="row about">
        <${TypeChip} type=${record.type} />
        ${record.state !== "active" && html`<span class="chip state">${record.state}</span>`}
        ${record.source === "inferred" && html`<span class="chip state">inferred, unconfirmed</span>`}
        ${children}
        <span class="id mono muted">${record.id}</span>
      </div>
      <${Content} text=${record.content} query=${query} />
      <${Rests} record=${record} />
      ${record.state !== "active" && html`<${Closed} record=${record} />`}
      <div class="row spread under">
        <${From} record=${record} withProject=${withProject} />
        <${Acts} record=${record} done=${done} />
      </div>
    </article>
  `;
}

function Content({ text, query }) {
  const [whole, show] = useState(false);
  const long = text.length > LONG;
  const shown = long && !whole ? `${text.slice(0, LONG)}…` : text;
  return html`
    <p class="words">${pieces(shown, query).map((piece, place) => (place % 2 ? html`<mark>${piece}</mark>` : piece))}</p>
    ${
      long &&
      html`
        <div>
          <button class="link" aria-expanded=${whole} onClick=${() => show(!whole)}>
            ${whole ? "Show less" : "Show more"}
          </button>
        </div>
      `
    }
  `;
}

function Rests({ record }) {
  const cited = [...record.files, ...record.commits];
  if (!cited.length && !record.stale.length) return null;
  const changed = (name) => record.stale.some((words) => words.includes(name));
  const others = record.stale.filter((words) => !cited.some((name) => words.includes(name)));
  return html`
    <ul class="row rests" aria-label="Sources">
      ${cited.map(
        (name) => html`
          <li
            key=${name}
            class=${`chip mono ${changed(name) ? "stale" : ""}`}
            title=${record.stale.find((words) => words.includes(name))}
          >
            ${name}${changed(name) && html`<span class="what">changed since</span>`}
          </li>
        `,
      )}
      ${others.map((words) => html`<li key=${words} class="chip stale">${words}</li>`)}
    </ul>
  `;
}

const Closed = ({ record }) => html`
  <p class="muted closed">
    ${record.state} by ${record.closed_by ?? "unknown"}${record.closed_at && html`, <${Ago} at=${record.closed_at} />`}
    ${record.superseded_by && html`; <span class="mono">${record.superseded_by}</span> replaces it`}
    ${record.closed_why && html`: ${record.closed_why}`}
  </p>
`;

const From = ({ record, withProject }) => html`
  <ul class="row from muted">
    ${withProject && html`<li>${record.project_name ?? "all projects"}</li>`}
    <li title=${`stored by ${record.by}`}>${sourceName(record.source)}</li>
    ${record.session && html`<li><a href=${href(["sessions", record.session])}>session ${record.session}</a></li>`}
    <li>${record.category}</li>
    <li title="importance, 1 to 10">importance ${record.importance}</li>
    <li>${record.type === "open_loop" ? `since ${day(record.created_at)}, ` : ""}<${Ago} at=${record.created_at} /></li>
  </ul>
`;

const Acts = ({ record, done }) => html`
  <div class="row acts">
    ${
      record.state === "active" &&
      html`
        <button class="quiet" aria-label=${`Resolve ${record.id}`} onClick=${() => resolveRecord(record, done)}>Resolve</button>
        <button class="quiet" aria-label=${`Supersede ${record.id}`} onClick=${() => supersedeRecord(record, done)}>
          Supersede
        </button>
      `
    }
    <button class="quiet" aria-label=${`Forget ${record.id}`} onClick=${() => forgetRecord(record, done)}>Forget</button>
  </div>
`;
