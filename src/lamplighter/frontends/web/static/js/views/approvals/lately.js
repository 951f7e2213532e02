// What was decided lately, from the audit log.

import { html } from "../../../vendor/preact.js";
import { Ago } from "../../parts/tick.js";
import { href } from "../../route.js";
import { actOf } from "./words.js";

const SHOWN = 12;
const session = (caller) => /^session:([0-9a-z]+)$/.exec(caller ?? "")?.[1];

export const Lately = ({ events }) =>
  events.length > 0 &&
  html`
    <section class="panel" aria-label="Recent decisions">
      <header><h2>Recent decisions</h2></header>
      <ul class="lately">
        ${events.slice(0, SHOWN).map((event) => html`<${Line} key=${event.n} event=${event} />`)}
      </ul>
    </section>
  `;

function Line({ event }) {
  const word = event.action.replace("approval ", "");
  const asker = session(event.detail.caller);
  return html`
    <li>
      <span class=${`outcome ${word}`}>${word}</span>
      <span class="grow">
        ${asker ? html`<a href=${href(["sessions", asker])}>${event.detail.caller}</a>` : event.detail.caller} to
        ${" "}${actOf(event.detail)}
        ${event.session ? html` <a href=${href(["sessions", event.session])}>${event.name ?? event.session}</a>` : ""}
      </span>
      <span class="muted">${word === "used" ? "" : `by ${event.by}, `}<${Ago} at=${event.at} /></span>
    </li>
  `;
}
