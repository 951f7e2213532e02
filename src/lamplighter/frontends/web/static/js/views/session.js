import { html, useEffect } from "../../vendor/preact.js";
import { want } from "../live.js";

export function Session() {
  useEffect(() => want({}), []);
  return html`<h1>Session</h1>`;
}
