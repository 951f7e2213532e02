// A line of sessions drawn: generations from left to right, a row for each fork. Knows generations as get_lineage has them.

import { html, useMemo } from "../../../vendor/preact.js";
import { clock, day } from "../../format.js";
import { How, howOf } from "../../parts/ending.js";
import { href } from "../../route.js";

const WIDTH = 196;
const HEIGHT = 84;
const ACROSS = 44;
const DOWN = 16;

/** Each with its column and row: the first that goes on stays in the row, every other fork begins one. */
export function layOut(generations) {
  const placed = new Map();
  const continued = new Set();
  let rows = 0;
  for (const one of generations) {
    const before = placed.get(one.predecessor);
    const straight = before && !continued.has(before.id);
    if (straight) continued.add(before.id);
    const row = straight ? before.row : rows++;
    placed.set(one.id, { ...one, column: one.depth, row, before });
  }
  return { nodes: [...placed.values()], rows, columns: 1 + Math.max(0, ...generations.map((one) => one.depth)) };
}

const left = (node) => node.column * (WIDTH + ACROSS);
const top = (node) => node.row * (HEIGHT + DOWN);

function path(node) {
  const [x1, y1] = [left(node.before) + WIDTH, top(node.before) + HEIGHT / 2];
  const [x2, y2] = [left(node), top(node) + HEIGHT / 2];
  const middle = x2 - ACROSS / 2;
  return y1 === y2
    ? `M${x1} ${y1}H${x2}`
    : `M${x1} ${y1}C${x1 + ACROSS / 2} ${y1} ${middle - ACROSS / 2} ${y2} ${middle} ${y2}H${x2}`;
}

export function Graph({ generations }) {
  const { nodes, rows, columns } = useMemo(() => layOut(generations), [generations]);
  const width = columns * (WIDTH + ACROSS) - ACROSS;
  const height = rows * (HEIGHT + DOWN) - DOWN;
  return html`
    <div class="graph" tabindex="0" role="region" aria-label="Lineage, by generation">
      <div class="plane" style=${{ width: `${width}px`, height: `${height}px` }}>
        <svg width=${width} height=${height} aria-hidden="true">
          ${nodes.filter((node) => node.before).map((node) => html`<path key=${node.id} d=${path(node)} />`)}
        </svg>
        <ol>${nodes.map((node) => html`<li key=${node.id}><${Node} node=${node} /></li>`)}</ol>
      </div>
    </div>
  `;
}

const Node = ({ node }) => html`
  <a
    class=${`node ${node.asked ? "asked-for" : ""}`}
    href=${href(["sessions", node.id])}
    aria-current=${node.asked ? "true" : null}
    title=${node.handoff ?? ""}
    style=${{ left: `${left(node)}px`, top: `${top(node)}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}
  >
    <span class="row spread"><strong>${node.name}</strong><${How} how=${howOf(node)} /></span>
    <small class="muted">
      ${node.agent} · ${node.started_at ? `${day(node.started_at)} ${clock(node.started_at)}` : "not started"}
    </small>
    <small class="said">${node.inferred ? "inferred: " : ""}${node.handoff ?? "no hand-off"}</small>
  </a>
`;
