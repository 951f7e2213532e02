import { html, useEffect } from "../../vendor/preact.js";
import { want } from "../live.js";

export function Approvals() {
  useEffect(() => want({}), []);
  return html`<h1>Approvals</h1>`;
}
