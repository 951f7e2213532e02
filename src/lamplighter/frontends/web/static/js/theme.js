// Light or dark: as the system has it, until somebody chooses.

import { signal } from "../vendor/preact.js";
import { keep, kept } from "./storage.js";

const KEPT = "lamplighter.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** "light" or "dark", as it is shown. */
export const theme = signal(kept(KEPT) ?? (system.matches ? "dark" : "light"));

/** The style first: who hears of the theme may ask for its colours. */
function use(name) {
  document.documentElement.dataset.theme = name;
  theme.value = name;
}

export function toggleTheme() {
  use(theme.value === "dark" ? "light" : "dark");
  keep(KEPT, theme.value);
}

system.addEventListener("change", () => kept(KEPT) || use(system.matches ? "dark" : "light"));
use(theme.value);
