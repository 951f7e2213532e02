import { html, useEffect } from "../../vendor/preact.js";
import { want } from "../live.js";

export function Sessions() {
  useEffect(() => want({}), []);
  return html`<h1>Sessions</h1>`;
}
