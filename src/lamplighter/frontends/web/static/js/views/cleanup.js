import { html, useEffect } from "../../vendor/preact.js";
import { want } from "../live.js";

export function Cleanup() {
  useEffect(() => want({}), []);
  return html`<h1>Cleanup</h1>`;
}
