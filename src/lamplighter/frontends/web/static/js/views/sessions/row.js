// One session in the list: on a wide page a row, on a narrow one a card. All that it shows of a session is text.

import { Component, html } from "../../../vendor/preact.js";
import { bytes, commandLine, count, duration, short } from "../../format.js";
import { Age, Ago } from "../../parts/tick.js";
import { Verdict } from "../../parts/verdict.js";
import { href } from "../../route.js";
import { ageOf, tokensOf } from "./columns.js";
import { BARS, beat, pulseOf } from "./pulse.js";

const PLACES = Array.from({ length: BARS }, (_, place) => place);
const bar = (place, height) => `M${4 * place} 14v${-height.toFixed(1)}h3V14z`;

/** Its output of the last half minute, the highest bar the most that it wrote. */
function Bars({ id }) {
  beat.value; // drawn again with each
  const { bars, speed } = pulseOf(id);
  const most = Math.max(...bars, 1);
  const words = speed > 0 ? `${bytes(speed)} of output per second` : "no output";
  const height = (value) => (value ? 3 + (11 * Math.log1p(value)) / Math.log1p(most) : 1);
  return html`
    <svg
      class=${`bars ${speed > 0 ? "live" : ""}`}
      width=${BARS * 4}
      height="14"
      viewBox=${`0 0 ${BARS * 4} 14`}
      role="img"
      aria-label=${words}
    >
      <path d=${PLACES.map((place) => bar(place, height(bars[place - BARS + bars.length] ?? 0))).join("")} />
    </svg>
  `;
}

function Cpu({ row }) {
  beat.value; // drawn again with each
  const rate = pulseOf(row.id).cpuRate;
  return html`
    <span class="first">${row.state === "ended" ? "–" : `${Math.round(rate * 100)} %`}</span><small>${duration(row.cpu)}</small>
  `;
}

const quietWords = (row) => {
  if (row.state === "ended") return html`ended <${Ago} at=${row.ended_at} />`;
  return row.quiet_for < 5 ? "active now" : `quiet ${duration(row.quiet_for)}`;
};

// The words of a command stay the same array from one look to the next.
const spelled = new WeakMap();
function spell(words) {
  if (!spelled.has(words)) spelled.set(words, commandLine(words));
  return spelled.get(words);
}

const exitWord = (row) =>
  row.exit?.signal ? `signal ${row.exit.signal}` : row.exit ? `exit ${row.exit.code ?? "?"}` : "";

/** What the verdict rests on; of what has ended, how it did. */
const evidenceOf = (row) =>
  (row.state === "ended" ? [row.how, exitWord(row)].filter(Boolean) : (row.evidence ?? [])).join(" · ");

function Name({ row }) {
  return html`
    <span class="first">
      <a href=${href(["sessions", row.id])} tabindex="-1" title=${row.name}>${row.name}</a>
      ${row.protected && html`<span class="tag" title="Protected: only you can end it">protected</span>`}
      ${row.attached > 0 && html`<span class="tag warm" title="people attached to its terminal">${row.attached} attached</span>`}
    </span>
  `;
}

/** The arrow of a tree's line, and the room in front of it. */
function Branch({ line, onFold }) {
  const { row, level, children, folded } = line;
  const indent = { width: `${(level - 1) * 18}px` };
  if (!children) return html`<span class="indent" style=${indent}></span><span class="leaf" aria-hidden="true"></span>`;
  return html`
    <span class="indent" style=${indent}></span>
    <button
      class="quiet fold"
      tabindex="-1"
      aria-label=${`${folded ? "Show" : "Hide"} what ${row.name} started`}
      onClick=${() => onFold(row.id, !folded)}
    >
      <span aria-hidden="true" class=${folded ? "shut" : ""}>▾</span>
    </button>
  `;
}

const Cell = ({ id, figure, children }) =>
  html`<div role="gridcell" class=${`cell ${id} ${figure ? "figure" : ""}`}>${children}</div>`;

export class Row extends Component {
  shouldComponentUpdate(next) {
    const before = this.props;
    return Object.keys(next).some((name) =>
      name === "line" ? !alike(next.line, before.line) : next[name] !== before[name],
    );
  }

  render({ line, top, index, current, mark, tree, tokens, onMark, onFold, onOpen }) {
    const { row, level, children, folded } = line;
    const nested = tree ? { "aria-level": level, "aria-expanded": children ? String(!folded) : null } : {};
    return html`
      <div
        role="row"
        id=${`row-${row.id}`}
        class=${`line ${current ? "current" : ""} ${row.state === "ended" ? "gone" : ""} ${mark ? "marked" : ""}`}
        style=${{ transform: `translateY(${top}px)` }}
        aria-rowindex=${index + 2}
        aria-selected=${String(mark)}
        ...${nested}
        onClick=${(event) => onOpen(event, row)}
      >
        <div role="gridcell" class="cell mark">
          <input
            type="checkbox"
            tabindex="-1"
            aria-label=${`Select ${row.name}`}
            checked=${mark}
            onChange=${() => onMark(row.id)}
          />
        </div>
        <div role="gridcell" class="cell name">
          ${tree && html`<${Branch} line=${line} onFold=${onFold} />`}
          <div class="both">
            <${Name} row=${row} /><small class="mono" title=${spell(row.command)}>${spell(row.command)}</small>
          </div>
        </div>
        <${Cell} id="verdict"><${Verdict} row=${row} /><small title=${evidenceOf(row)}>${evidenceOf(row)}</small><//>
        <${Cell} id="activity"><${Bars} id=${row.id} /><small>${quietWords(row)}</small><//>
        <${Cell} id="memory" figure>
          <span class="first">${row.memory ? bytes(row.memory) : "–"}</span>
          <small>${count(row.processes, "process", "processes")}</small>
        <//>
        <${Cell} id="cpu" figure><${Cpu} row=${row} /><//>
        ${tokens && html`<${Cell} id="tokens" figure><${Tokens} row=${row} /><//>`}
        <${Cell} id="age" figure><span class="first"><${Age} at=${ageOf(row)} until=${row.ended_at} /></span><//>
        <${Cell} id="project">
          <span class="first" title=${row.cwd}>${row.project ?? "–"}</span>
          <small title=${`owner ${row.owner}`}>${row.owner}</small>
        <//>
        <${Cell} id="agent"><span class="first">${row.agent}</span><small>${row.kind}</small><//>
      </div>
    `;
  }
}

const alike = (one, other) =>
  one.row === other.row && one.level === other.level && one.children === other.children && one.folded === other.folded;

const Tokens = ({ row }) => {
  if (!row.tokens) return html`<span class="first">–</span>`;
  const { input = 0, output = 0, cached = 0 } = row.tokens;
  return html`
    <span class="first" title=${`${input} in, ${output} out, ${cached} cached`}>${short(tokensOf(row))}</span>
    <small>${short(output)} out</small>
  `;
};
