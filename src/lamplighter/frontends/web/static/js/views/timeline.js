import { html, useEffect } from "../../vendor/preact.js";
import { want } from "../live.js";

export function Timeline() {
  useEffect(() => want({}), []);
  return html`<h1>Timeline</h1>`;
}
