// The keys of the list. Each act opens a dialog that says what will happen; none acts by itself.

import { endSession } from "../../acts/end.js";
import { killSession } from "../../acts/kill.js";
import { protectSession } from "../../acts/protect.js";
import { sendTo } from "../../acts/send.js";
import { startSession } from "../../acts/start.js";
import { say } from "../../parts/toast.js";
import { go } from "../../route.js";
import { endMarked } from "./bar.js";
import { ask, asked } from "./choice.js";
import { reveal } from "./list.js";
import { at, clearMarks, cursor, fold, lines, marked, marks, moveTo, toggleMark } from "./shown.js";

function move(index) {
  moveTo(index);
  if (at.value >= 0) reveal(at.value);
}

/** With the session that the cursor is at; an ended one has nothing left to be done to. */
const withCursor = (act) => () => {
  if (!cursor.value) return;
  if (cursor.value.state === "ended") say(`${cursor.value.name} has ended`, "bad", "press Enter for details");
  else act(cursor.value);
};

function toggle() {
  if (!cursor.value) return;
  toggleMark(cursor.value.id);
  move(at.value + 1);
}

function foldHere(away) {
  const line = lines.value[at.value];
  if (asked.value.view !== "tree" || !line) return false;
  if (line.children && Boolean(line.folded) !== away) fold(line.row.id, away);
  else if (away) move(lines.value.findLastIndex(({ level }, index) => index < at.value && level < line.level));
  else if (line.children) move(at.value + 1);
  return true;
}

const page = () => Math.max(1, Math.floor(innerHeight / 52) - 4);

function leave() {
  if (marks.value.size) clearMarks();
  else if (asked.value.text || asked.value.show) ask({ selection: "", show: "" });
  else return false;
  return true;
}

export const bindings = [
  { keys: ["j", "ArrowDown"], does: "next session", act: () => move(at.value + 1) },
  { keys: ["k", "ArrowUp"], does: "previous session", act: () => move(at.value - 1) },
  { keys: ["g", "Home"], does: "first session", act: () => move(0) },
  { keys: ["G", "End"], does: "last session", act: () => move(lines.value.length - 1) },
  { keys: ["PageDown"], act: () => move(at.value + page()) },
  { keys: ["PageUp"], act: () => move(at.value - page()) },
  { keys: ["Enter"], does: "open it", act: () => (cursor.value ? go(["sessions", cursor.value.id]) : false) },
  { keys: ["/"], does: "search", act: () => document.getElementById("search")?.select() },
  { keys: ["Escape"], does: "clear the search or the selection", act: leave },
  { keys: ["x", " "], does: "select it", act: toggle },
  {
    keys: ["e"],
    does: "end it, or all selected",
    act: () => (marked.value.length ? endMarked() : withCursor(endSession)()),
  },
  { keys: ["K"], does: "kill it", act: withCursor(killSession) },
  { keys: ["p"], does: "protect or unprotect it", act: withCursor(protectSession) },
  { keys: ["s"], does: "send text to it", act: withCursor(sendTo) },
  { keys: ["n"], does: "start a session", act: () => startSession() },
  {
    keys: ["t"],
    does: "switch between table and tree",
    act: () => ask({ view: asked.value.view === "tree" ? "table" : "tree" }),
  },
  { keys: ["ArrowLeft"], does: "in the tree: collapse", act: () => foldHere(true) },
  { keys: ["ArrowRight"], does: "in the tree: expand", act: () => foldHere(false) },
];
