// One request: who asks to do what to whom, why it may not by itself, what would be lost; and granting or refusing it.

import { html, useEffect, useRef, useState } from "../../../vendor/preact.js";
import { now } from "../../api.js";
import { bytes, commandLine, count, duration } from "../../format.js";
import { Ago, Until } from "../../parts/tick.js";
import { Verdict } from "../../parts/verdict.js";
import { href } from "../../route.js";
import { actOf, askerOf, consequence, isEnd, shown, summary, targetOf, warning } from "./words.js";

const LONG_MS = 86_400_000;

export function Request({ request, decide }) {
  const { asker, target, arguments: given } = request;
  const title = `asks-${request.id}`;
  return html`
    <article class="panel request" tabindex="-1" aria-labelledby=${title}>
      <header>
        <h2 id=${title}>
          <${Name} session=${asker} words=${askerOf(request)} /> asks to
          ${" "}<strong class=${isEnd(request) ? "ends" : ""}>${actOf(request)}</strong>
          ${" "}<${Name} session=${target} words=${targetOf(request)} />
        </h2>
        <span class="muted">
          ${request.state === "granted" && html`<span class="chip granted">granted, not yet used</span>`} asked
          ${" "}<${Ago} at=${request.asked_at} /> · <${Expires} at=${request.expires_at} />
        </span>
      </header>
      <div class="body">
        <div class="columns">
          <section aria-label="The call">
            <h3>The call</h3>
            <${Arguments} operation=${request.operation} given=${given ?? {}} />
          </section>
          ${target && html`<${Target} target=${target} />`}
        </div>
        <p><span class="muted">Why it asks:</span> ${request.why}</p>
        <p><span class="muted">If you grant it:</span> ${consequence(request)}</p>
      </div>
      <${Decision} request=${request} decide=${decide} />
    </article>
  `;
}

/** What was said first; what was left out is said too, for a default can matter. */
function Arguments({ operation, given }) {
  const all = Object.entries(given);
  const said = all.filter(([, value]) => !isBlank(value));
  const left = all.filter(([, value]) => isBlank(value)).map(([name]) => name);
  return html`
    <dl class="facts">
      <dt>operation</dt><dd><code>${operation}</code></dd>
      ${said.map(
        ([name, value]) => html`
          <div key=${name}><dt>${name}</dt><dd><${Value} value=${value} /></dd></div>
        `,
      )}
      ${left.length > 0 && html`<dt>not set</dt><dd class="muted">${left.join(", ")}</dd>`}
    </dl>
  `;
}

/** A long plan is opened to be read: else nothing else of the page could be seen. */
function Value({ value }) {
  const [open, setOpen] = useState(false);
  const short = summary(value);
  if (!short) return html`<code class="value">${shown(value)}</code>`;
  return html`
    <details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>${short}</summary>
      ${open && html`<code class="value">${shown(value)}</code>`}
    </details>
  `;
}

const isBlank = (value) => value === null || value === "" || (Array.isArray(value) && value.length === 0);

const Name = ({ session, words }) =>
  session ? html`<a href=${href(["sessions", session.id])}>${words}</a>` : html`<span>${words}</span>`;

/** What an agent waits for without an end is not said by the year. */
const Expires = ({ at }) =>
  Date.parse(at) - now() > LONG_MS
    ? "valid while the agent waits"
    : html`valid for <${Until} at=${at} over="no longer" />`;

const Target = ({ target }) => html`
  <section aria-label="The session">
    <h3>The session</h3>
    <dl class="facts">
      <dt>verdict</dt><dd><${Verdict} row=${target} /> <span class="muted">${target.evidence.join("; ")}</span></dd>
      <dt>command</dt><dd><code class="value">${commandLine(target.command)}</code></dd>
      <dt>holds</dt>
      <dd>
        ${count(target.processes, "process", "processes")}, ${bytes(target.memory)}, quiet for
        ${" "}${duration(target.quiet_for)}
        ${target.attached > 0 ? `, ${count(target.attached, "person", "people")} attached` : ""}
      </dd>
      <dt>owner</dt><dd>${target.owner}</dd>
    </dl>
  </section>
`;

function Decision({ request, decide }) {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const sure = useRef(null);
  useEffect(() => sure.current?.focus(), [asking]); // on the way back: Enter held down grants nothing
  const warned = warning(request);
  const act = async (decision) => {
    setBusy(true);
    await decide(request, decision);
    setAsking(false);
    setBusy(false);
  };
  const who = `${askerOf(request)}: ${actOf(request)} ${targetOf(request)}`;
  if (request.state === "granted") {
    return html`
      <footer>
        <button aria-label=${`Revoke, ${who}`} disabled=${busy} onClick=${() => act("refuse")}>Revoke</button>
      </footer>
    `;
  }
  return html`
    <footer>
      <button aria-label=${`Refuse, ${who}`} disabled=${busy} onClick=${() => act("refuse")}>Refuse</button>
      <button
        class="main grants"
        aria-label=${`Grant, ${who}`}
        aria-expanded=${warned ? String(asking) : null}
        disabled=${busy || (asking && warned)}
        onClick=${() => (warned ? setAsking(true) : act("grant"))}
      >
        ${warned ? "Grant…" : "Grant"}
      </button>
    </footer>
    ${
      asking &&
      warned &&
      html`
        <footer class="sure">
          <button onClick=${() => setAsking(false)} ref=${sure}>Not yet</button>
          <button class="danger" disabled=${busy} onClick=${() => act("grant")}>${warned}</button>
        </footer>
      `
    }
  `;
}
