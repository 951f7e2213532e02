// The list: a grid of which only what can be seen is drawn. It scrolls with the page; all rows have one height.

import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "../../../vendor/preact.js";
import { go } from "../../route.js";
import { ask, asked } from "./choice.js";
import { COLUMNS, sortOf } from "./columns.js";
import { Row } from "./row.js";
import { at, behind, fold, hasTokens, lines, marks, moveTo, toggleMark } from "./shown.js";

const narrow = matchMedia("(max-width: 760px)");
const HEIGHT = { row: 52, card: 108 };
const AROUND = 8;

const heightNow = () => (narrow.matches ? HEIGHT.card : HEIGHT.row);

/** The rows to draw, [first, end), by where the list is in the window. */
function useVisible(place, total, height) {
  const [range, setRange] = useState([0, 40]);
  useLayoutEffect(() => {
    const look = () => {
      const above = -place.current.getBoundingClientRect().top;
      // In steps, so that not every pixel that is scrolled draws the list again.
      const first = Math.max(0, Math.floor((above / height - AROUND) / 4) * 4);
      const end = Math.ceil((above + innerHeight) / height / 4) * 4 + AROUND;
      setRange((before) => (before[0] === first && before[1] === end ? before : [first, end]));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [total, height]);
  return range;
}

function useHeight() {
  const [height, setHeight] = useState(heightNow());
  useEffect(() => {
    const look = () => setHeight(heightNow());
    narrow.addEventListener("change", look);
    return () => narrow.removeEventListener("change", look);
  }, []);
  return height;
}

/** Scroll as little as needed for the line to be seen, below what sticks to the top. */
export function reveal(index) {
  const list = document.querySelector(".lines");
  if (!list) return;
  const height = heightNow();
  const top = list.getBoundingClientRect().top + index * height;
  const covered = document.querySelector(narrow.matches ? ".side" : ".grid .titles").offsetHeight + 4;
  const bar = document.querySelector(".marked-bar")?.offsetHeight ?? 0;
  if (top < covered) scrollBy(0, index === 0 ? -scrollY : top - covered);
  else if (top + height > innerHeight - bar - 12) scrollBy(0, top + height - (innerHeight - bar - 12));
}

function Title({ column, sort }) {
  const current = sort.column === column;
  const down = Boolean(column.down) !== sort.reversed;
  const next = current && !sort.reversed ? `-${column.id}` : column.id;
  return html`
    <div
      role="columnheader"
      class=${`cell ${column.id} ${column.figure ? "figure" : ""}`}
      aria-sort=${current ? (down ? "descending" : "ascending") : "none"}
    >
      <button class="quiet" onClick=${() => ask({ sort: next })}>
        ${column.title}<span class="arrow" aria-hidden="true">${current ? (down ? "↓" : "↑") : ""}</span>
      </button>
    </div>
  `;
}

const Titles = ({ tokens }) => {
  const sort = sortOf(asked.value.sort);
  return html`
    <div role="row" class="titles" aria-rowindex="1">
      <div role="columnheader" class="cell mark"><span class="sr">Marked</span></div>
      ${COLUMNS.filter(({ id }) => tokens || id !== "tokens").map(
        (column) => html`<${Title} key=${column.id} column=${column} sort=${sort} />`,
      )}
    </div>
  `;
};

/** Opens it, unless the click was for something else: a mark, the link itself, or to copy a text. */
function open(event, row) {
  if (event.target.closest("a, button, input, label") || !getSelection().isCollapsed) return;
  moveTo(lines.value.findIndex((line) => line.row.id === row.id));
  go(["sessions", row.id]);
}

/** The keyboard goes back to the list: a box that was ticked would take its keys. */
function mark(id) {
  toggleMark(id);
  document.querySelector(".grid").focus({ preventScroll: true });
}

export function List() {
  const place = useRef(null);
  const all = lines.value;
  const height = useHeight();
  const [first, end] = useVisible(place, all.length, height);
  const openRow = useCallback(open, []);
  const tree = asked.value.view === "tree";
  const tokens = hasTokens.value;
  const current = at.value;
  const drawn = all.slice(first, end).map((line, offset) => ({ line, index: first + offset }));
  // The cursor's row is always there: whoever reads the page by ear is at it.
  if (all[current] && (current < first || current >= end)) drawn.push({ line: all[current], index: current });
  return html`
    <div
      class=${`panel grid ${tokens ? "tokens" : ""} ${behind.value ? "behind" : ""}`}
      role=${tree ? "treegrid" : "grid"}
      aria-label="Sessions"
      aria-rowcount=${all.length + 1}
      aria-multiselectable="true"
      aria-activedescendant=${all[current] ? `row-${all[current].row.id}` : null}
      tabindex="0"
    >
      <div role="rowgroup" class="top"><${Titles} tokens=${tokens} /></div>
      <div role="rowgroup" class="lines" ref=${place} style=${{ height: `${all.length * height}px` }}>
        ${drawn.map(
          ({ line, index }) => html`
            <${Row}
              key=${line.row.id}
              line=${line}
              index=${index}
              top=${index * height}
              current=${index === current}
              mark=${marks.value.has(line.row.id)}
              tree=${tree}
              tokens=${tokens}
              onMark=${mark}
              onFold=${fold}
              onOpen=${openRow}
            />
          `,
        )}
      </div>
    </div>
  `;
}
