// Light or dark: as the system has it, until somebody chooses.

import { signal } from "../vendor/preact.js";
import { keep, kept } from "./storage.js";

const KEPT = "lamplighter.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** "light" or "dark", as it is shown. */
export const theme = signal(kept(KEPT) ?? (system.matches ? "dark" : "light"));

const show = () => (document.documentElement.dataset.theme = theme.value);

export function toggleTheme() {
  theme.value = theme.value === "dark" ? "light" : "dark";
  keep(KEPT, theme.value);
  show();
}

system.addEventListener("change", () => {
  if (kept(KEPT)) return;
  theme.value = system.matches ? "dark" : "light";
  show();
});
show();
