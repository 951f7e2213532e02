// One leak: what a dead session left, why that is believed, and what it holds.

import { html } from "../../../vendor/preact.js";
import { bytes, count } from "../../format.js";
import { Ago } from "../../parts/tick.js";

const SHOWN = 3;

export function Leak({ leak, on, tick }) {
  const { processes, files } = leak;
  const doubts = leak.why.filter((why) => why.startsWith("but "));
  const reasons = leak.why.filter((why) => !why.startsWith("but "));
  return html`
    <li class="leak" data-id=${leak.id}>
      <label class="check">
        <input type="checkbox" checked=${on} onChange=${(event) => tick(leak.id, event.target.checked)} />
        <strong>${leak.name}</strong>
      </label>
      <div class="holding number">
        ${
          processes.length > 0
            ? html`
              <span>${count(processes.length, "process", "processes")}</span>
              <span>${bytes(leak.memory)}</span>
              <span class="muted">started <${Ago} at=${leak.since} /></span>
            `
            : html`<span>${count(files.length, "file")}</span>`
        }
        <code class="muted">${leak.id}</code>
      </div>
      <div class="because">
        ${reasons.map((why) => html`<p key=${why}>${why}</p>`)}
        ${doubts.map((why) => html`<p key=${why} class="doubt">${why}</p>`)}
      </div>
      ${processes.length > 0 && html`<${Processes} processes=${processes} />`}
      ${files.length > 0 && html`<${Files} files=${files} />`}
    </li>
  `;
}

const Processes = ({ processes }) => html`
  <${More} items=${processes} what="process" many="processes" draw=${(each) => html`
    <li key=${each.pid}>
      <code class="muted">${each.pid}</code>
      <span class="chip">${each.kind}</span>
      <code class="grow">${each.command}</code>
      <span class="muted number">${bytes(each.memory)}</span>
    </li>
  `} />
`;

const Files = ({ files }) => html`
  <${More} items=${files} what="file" many="files" draw=${(each) => html`
    <li key=${each.path}><span class="chip">${each.what}</span><code class="grow">${each.path}</code></li>
  `} />
`;

/** The first few; the rest behind a fold. */
const More = ({ items, what, many, draw }) => html`
  <ul class="pieces">${items.slice(0, SHOWN).map(draw)}</ul>
  ${
    items.length > SHOWN &&
    html`
      <details>
        <summary>${count(items.length - SHOWN, `more ${what}`, `more ${many}`)}</summary>
        <ul class="pieces">${items.slice(SHOWN).map(draw)}</ul>
      </details>
    `
  }
`;
