// Light or dark: as the system has it, until somebody chooses.

import { signal } from "../vendor/preact.js";

const KEPT = "lamplighter.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** "light" or "dark", as it is shown. */
export const theme = signal(localStorage.getItem(KEPT) ?? (system.matches ? "dark" : "light"));

const show = () => (document.documentElement.dataset.theme = theme.value);

export function toggleTheme() {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEPT, theme.value);
  show();
}

system.addEventListener("change", () => {
  if (localStorage.getItem(KEPT)) return;
  theme.value = system.matches ? "dark" : "light";
  show();
});
show();
