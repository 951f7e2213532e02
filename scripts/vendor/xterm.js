// The terminal of a session. No addon that makes links of what a session prints, or writes to the clipboard for it.
export { FitAddon } from "@xterm/addon-fit";
export { SearchAddon } from "@xterm/addon-search";
export { Terminal } from "@xterm/xterm";
export { WidthsAddon } from "./widths.js";
