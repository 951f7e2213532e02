// Who started whom, as lines with a depth. Knows rows and their parents alone.

/** Lines of a tree: below each row those that it started, in the order of `rows`. One whose parent is not among the rows hangs
 *  below the nearest of its ancestors that is; without one, or when its parent has ended and it has not, it is a root. */
export function grown(rows, all, folded) {
  const shown = new Set(rows.map((row) => row.id));
  const below = new Map();
  for (const row of rows) {
    const parent = ancestor(row, all, shown);
    if (!below.has(parent)) below.set(parent, []);
    below.get(parent).push(row);
  }
  const lines = [];
  const put = (parent, level) => {
    for (const row of below.get(parent) ?? []) {
      const children = below.get(row.id)?.length ?? 0;
      lines.push({ row, level, children, folded: folded.has(row.id) });
      if (children && !folded.has(row.id)) put(row.id, level + 1);
    }
  };
  put(null, 1);
  return lines;
}

function ancestor(row, all, shown) {
  const passed = new Set([row.id]);
  let parent = row.parent;
  while (parent && !passed.has(parent)) {
    const found = all.get(parent);
    if (!found || (found.state === "ended" && row.state !== "ended")) return null;
    if (shown.has(parent)) return parent;
    passed.add(parent);
    parent = found.parent;
  }
  return null;
}
