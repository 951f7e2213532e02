import { html, useEffect } from "../../vendor/preact.js";
import { want } from "../live.js";

export function Memory() {
  useEffect(() => want({}), []);
  return html`<h1>Memory</h1>`;
}
