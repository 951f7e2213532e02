// A screen drawn by xterm.js: its colours, its size in the room there is, and none of the tricks that output can play. Knows no
// session and no connection.

import { effect } from "../../../vendor/preact.js";
import { theme } from "../../theme.js";

const LARGEST_PX = 14;
const SMALLEST_PX = 9;
const KEYBOARD_PX = 13;
const LINE_HEIGHT = 1.2;
const READ_MS = 250;
/** Titles, links, the clipboard, colours, notifications, folders, marks: whatever output says of these, the page does nothing. */
const SWALLOWED = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 22, 46, 50, 51, 52, 99, 104, 105, 110, 111,
];
const MORE_SWALLOWED = [
  112, 113, 114, 115, 116, 117, 118, 119, 133, 176, 440, 555, 633, 697, 701, 704, 777, 1337, 5113, 5522, 9001,
];
const RESET = [0x1b, 0x63];
const COLOURS = {
  light: {
    black: "#1f1d1a",
    red: "#b1241c",
    green: "#1b7340",
    yellow: "#8a5300",
    blue: "#1d5aa6",
    magenta: "#6d3fb0",
    cyan: "#0b6a75",
    white: "#c9c2b8",
    brightBlack: "#645e56",
    brightRed: "#c8372e",
    brightGreen: "#23864d",
    brightYellow: "#9a6400",
    brightBlue: "#2a6cc0",
    brightMagenta: "#8153c6",
    brightCyan: "#127d8a",
    brightWhite: "#f3efe9",
  },
  dark: {
    black: "#2b2823",
    red: "#ff7b70",
    green: "#6fd195",
    yellow: "#f0bd62",
    blue: "#86b9f7",
    magenta: "#c2a2f5",
    cyan: "#6fd3de",
    white: "#d8d2c9",
    brightBlack: "#8a8175",
    brightRed: "#ff938a",
    brightGreen: "#8ce0ab",
    brightYellow: "#ffd587",
    brightBlue: "#a5ccff",
    brightMagenta: "#d6c0ff",
    brightCyan: "#93e4ed",
    brightWhite: "#ffffff",
  },
};

let loading = null;
/** xterm.js is as large as all the rest of the page: it comes when the first screen is looked at. */
export const loadTerminal = () => (loading ??= import("../../../vendor/xterm.js"));

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function colours() {
  const [ink, ground, soft] = [token("--ink"), token("--sunken"), token("--accent")];
  return {
    ...COLOURS[theme.value],
    foreground: ink,
    background: ground,
    cursor: soft,
    cursorAccent: ground,
    selectionBackground: `${soft}55`,
    // Selected text keeps its own colour, on what shines through.
    selectionInactiveBackground: `${soft}33`,
  };
}

/** How wide a character is for each pixel of the font's size. */
function widthRatio(family) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `100px ${family}`;
  return context.measureText("W").width / 100;
}

/** A terminal in `place`: {terminal, search, write, resize, draw, isRedrawing, reset, fitWidth, fitLog, room, dispose}. */
export async function makeScreen(place, { scrollback = 5000, convertEol = false } = {}) {
  const { FitAddon, SearchAddon, Terminal, WidthsAddon } = await loadTerminal();
  const fontFamily = token("--mono");
  const terminal = new Terminal({
    allowProposedApi: true,
    convertEol,
    cursorBlink: false,
    cursorInactiveStyle: "outline",
    disableStdin: true,
    fontFamily,
    fontSize: KEYBOARD_PX,
    lineHeight: LINE_HEIGHT,
    linkHandler: { activate: () => {} },
    logLevel: "off",
    minimumContrastRatio: 4.5,
    scrollback,
    theme: colours(),
  });
  const [fit, search, widths] = [new FitAddon(), new SearchAddon(), new WidthsAddon()];
  for (const addon of [fit, search, widths]) terminal.loadAddon(addon);
  for (const number of [...SWALLOWED, ...MORE_SWALLOWED]) terminal.parser.registerOscHandler(number, () => true);
  terminal.open(place);
  const stopReading = readable(terminal, place);
  const stopColours = effect(() => void (terminal.options.theme = theme.value && colours()));
  return {
    terminal,
    search,
    ...drawing(terminal),
    reset: () => (terminal.reset(), widths.reset()),
    ...sizing(terminal, fit, place, widthRatio(fontFamily)),
    dispose() {
      stopColours();
      stopReading();
      terminal.dispose();
    },
  };
}

/** What is seen, as text for those who hear it: xterm.js hides its own rows from them, and its mode for screen readers takes
    other ways with keys. Rows that did not change stay the same. */
function readable(terminal, place) {
  const list = document.createElement("div");
  Object.assign(list, { className: "sr", role: "list", ariaLabel: "Rows of the terminal" });
  place.append(list);
  let timer = 0;
  const tell = () => {
    timer = 0;
    const { active } = terminal.buffer;
    while (list.children.length > terminal.rows) list.lastChild.remove();
    for (let row = 0; row < terminal.rows; row++) {
      const line =
        list.children[row] ?? list.appendChild(Object.assign(document.createElement("div"), { role: "listitem" }));
      const text = active.getLine(active.viewportY + row)?.translateToString(true) ?? "";
      if (line.textContent !== text) line.textContent = text;
    }
  };
  const rendered = terminal.onRender(() => (timer ||= setTimeout(tell, READ_MS)));
  return () => (rendered.dispose(), clearTimeout(timer), list.remove());
}

function drawing(terminal) {
  let redrawing = 0;
  // In the order in which things were said: what was printed before a new size is drawn in the old one.
  const resize = (rows, cols) =>
    rows && cols && (terminal.rows !== rows || terminal.cols !== cols) && terminal.resize(cols, rows);
  return {
    write: (data) => new Promise((done) => terminal.write(data, done)),
    resize: (rows, cols) => new Promise((done) => terminal.write("", () => (resize(rows, cols), done()))),
    /** The whole screen anew, in one go: nothing is seen of the moment in between. */
    /** Anew: after a reset, or with what has scrolled away kept. */
    draw(data, rows, cols, whole = true) {
      terminal.write("", () => ((redrawing += 1), resize(rows, cols)));
      if (whole) terminal.write(RESET);
      return new Promise((done) => terminal.write(data, () => ((redrawing -= 1), done())));
    },
    /** What comes from the terminal now may be an answer to something that was asked, and answered, long ago. */
    isRedrawing: () => redrawing > 0,
  };
}

function sizing(terminal, fit, place, ratio) {
  const setFont = (size) => terminal.options.fontSize !== size && (terminal.options.fontSize = size);
  const width = () => place.clientWidth;
  return {
    /** The largest font in which all columns are seen; below what can be read it scrolls inside. */
    fitWidth() {
      const wanted = Math.floor(((width() - 2) / terminal.cols / ratio) * 4) / 4;
      setFont(Math.max(SMALLEST_PX, Math.min(LARGEST_PX, wanted)));
    },
    /** As many rows and columns as there is room for, in a font to work with. */
    room() {
      setFont(width() < 500 ? 11 : KEYBOARD_PX);
      const found = fit.proposeDimensions();
      return {
        rows: Math.max(4, Math.min(300, found?.rows || 24)),
        cols: Math.max(20, Math.min(500, found?.cols || 80)),
      };
    },
    /** Columns as there is room for: for a log, which has no size of its own. */
    fitLog(rows) {
      setFont(KEYBOARD_PX);
      const cols = Math.max(20, fit.proposeDimensions()?.cols || 80);
      if (cols !== terminal.cols || rows !== terminal.rows) terminal.resize(cols, rows);
    },
  };
}
