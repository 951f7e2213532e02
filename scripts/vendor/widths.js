// How many columns xterm.js gives to what is printed: those of the daemon's terminal, whose table this reads. Emoji of several
// code points are one cell, unless the program switched that off (mode 2027). Knows the interface of xterm.js's width
// providers, and `before`, which build.mjs adds to it.
import { APART, RUNS, TOGETHER } from "./widths.table.js";

const MODE = 2027;
const [JOINED, SINGLE] = ["together", "apart"];
const [STARTS, IGNORED] = ["-", "."];
const NEVER_JOINED = 0x100; // what is below goes to a cell of its own
const POINTS = 0x110000;

const bare = (text) => text.replaceAll("\n", "");
const numbered = (name) => (name >= "A" ? name.charCodeAt(0) - 65 : 26 + Number(name));
const stated = (names) => Int8Array.from(bare(names), (name) => ({ [STARTS]: -1, [IGNORED]: -2 })[name] ?? numbered(name));

/** What xterm.js keeps of a code point: our state of its cell (from 1 on), the width, whether it joined the cell before. */
const kept = (state, width, joined) => ((state + 1) << 3) | (width << 1) | joined;
const widthOf = (properties) => (properties >> 1) & 3;

let made = null;
const kinds = () => (made ??= read());

/** Of each code point, its kind. */
function read() {
  const found = new Uint8Array(POINTS);
  let at = 0;
  for (const [, name, more] of bare(RUNS).matchAll(/([A-Z\d])([a-z]*)/g)) {
    const begin = at;
    at += 1 + [...more].reduce((sum, digit) => sum * 26 + digit.charCodeAt(0) - 97, 0);
    found.fill(numbered(name), begin, at);
  }
  return found;
}

/** What a code point makes of the cell before it. With a width of 0 xterm.js leaves it out (build.mjs). */
function counting(table) {
  const [begins, moves, widths] = [stated(table.begins), stated(table.moves), Uint8Array.from(bare(table.widths), Number)];
  const of = kinds();
  return (code, preceding) => {
    const joins = preceding && code >= NEVER_JOINED;
    const next = joins ? moves[((preceding >> 3) - 1) * begins.length + of[code]] : -1;
    if (next >= 0) return kept(next, widths[next], 1);
    const state = next === -1 ? begins[of[code]] : next;
    return state < 0 ? 0 : kept(state, widths[state], 0);
  };
}

const provider = (version, charProperties) => ({
  version,
  charProperties,
  wcwidth: (code) => widthOf(charProperties(code, 0)),
  /** Of the cell that the first code point of what is printed may join: xterm.js forgets it with each sequence. 0 for none. */
  before({ x, y, ybase, lines }, code) {
    if (code < NEVER_JOINED || !x) return 0;
    const line = lines.get(ybase + y);
    let found = 0;
    for (const letter of line.getString(x - (line.getWidth(x - 1) ? 1 : 2)))
      found = charProperties(letter.codePointAt(0), found) || found;
    return found;
  },
});

/** An addon of xterm.js. `reset`: as it was at first, for who resets the terminal from outside. */
export class WidthsAddon {
  activate(terminal) {
    const { parser, unicode } = terminal;
    unicode.register(provider(JOINED, counting(TOGETHER)));
    unicode.register(provider(SINGLE, counting(APART)));
    const switching = (version) => (modes) => (modes.includes(MODE) && (unicode.activeVersion = version), false);
    const answer = ([mode]) =>
      mode === MODE && (terminal.input(`\x1b[?${MODE};${unicode.activeVersion === JOINED ? 1 : 2}$y`, false), true);
    this.reset = () => void (unicode.activeVersion = JOINED);
    this.reset();
    this.listening = [
      parser.registerCsiHandler({ prefix: "?", final: "h" }, switching(JOINED)),
      parser.registerCsiHandler({ prefix: "?", final: "l" }, switching(SINGLE)),
      parser.registerCsiHandler({ prefix: "?", intermediates: "$", final: "p" }, answer),
      parser.registerEscHandler({ final: "c" }, () => (this.reset(), false)),
    ];
  }

  dispose() {
    for (const each of this.listening) each.dispose();
  }
}
