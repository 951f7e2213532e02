// Which sessions are asked for: what the address says, and what of it the daemon chooses. Knows the words of a selection, not
// what they mean: that is the daemon's, so that a selection is the same here and in a shell.

import { computed } from "../../../vendor/preact.js";
import { VERDICTS } from "../../parts/verdict.js";
import { replace, route } from "../../route.js";
import { keep, kept } from "../../storage.js";

const SORT = "lamplighter.sort";
const VIEW = "lamplighter.view";
const WORDS = new Set([...VERDICTS, "ended", "active", "protected", "attached", "mine", "all"]);
const KEYED = /^(kind|agent|driver|state|project|owner|parent|name):/;

/** Whether it is a selection; plain words are searched for. */
export const isSelection = (text) =>
  /[+,*?[]/.test(text) || text.split(/\s+/).some((word) => WORDS.has(word) || KEYED.test(word));

/** {text, selection, words, show, all, view, sort}: selection goes to the daemon, words are looked for here, show is a chip. */
export const asked = computed(() => {
  const { selection: text = "", show = "", all, view, sort } = route.value.query;
  const chosen = isSelection(text);
  return {
    text,
    selection: chosen ? text : "",
    words: chosen ? [] : text.toLowerCase().split(/\s+/).filter(Boolean),
    show,
    all: all === "1",
    view: view ?? kept(VIEW) ?? "table",
    sort: sort ?? kept(SORT) ?? "age",
  };
});

/** Ask for something else as well: {show: "idle"}; "" takes it out of the address. */
export function ask(changes) {
  if (route.value.path[0] && (route.value.path[0] !== "sessions" || route.value.path[1])) return; // somebody is elsewhere by now
  if ("view" in changes) keep(VIEW, changes.view);
  if ("sort" in changes) keep(SORT, changes.sort);
  replace(["sessions"], { ...route.value.query, ...changes });
}

/** Whether the words that are searched for are all somewhere in what is known of it. */
export function speaksOf(row, words) {
  if (!words.length) return true;
  const text = [row.name, row.id, row.project, row.owner, row.agent, row.kind, row.cwd, ...row.command, ...row.labels]
    .join("\n")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}
