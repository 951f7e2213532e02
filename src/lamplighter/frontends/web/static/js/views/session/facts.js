// What is known of one session, in words and figures.

import { html } from "../../../vendor/preact.js";
import { bytes, commandLine, count, duration, exitWords, full, short } from "../../format.js";
import { Age, Ago } from "../../parts/tick.js";
import { Verdict } from "../../parts/verdict.js";
import { href } from "../../route.js";
import { Sparks } from "./spark.js";

export const PROOF = {
  kernel: "kernel: an end is verified by its empty cgroup",
  tree: "tree: an end is verified by its process tree",
  best_effort: "best effort: every process that can be found",
};

const Fact = ({ name, children }) =>
  children != null && children !== false && children !== "" && html`<div><dt>${name}</dt><dd>${children}</dd></div>`;

const SessionLink = ({ id }) => html`<a class="mono" href=${href(["sessions", id])}>${id}</a>`;

export function Facts({ session }) {
  const alive = session.state !== "ended";
  return html`
    <aside class="panel facts-panel" aria-labelledby="facts-title">
      <header><h2 id="facts-title">Facts</h2><code class="muted">${session.id}</code></header>
      <div class="body stack">
        ${alive && html`<${Sparks} session=${session} />`}
        <${Notes} session=${session} />
        <dl class="facts">
          <${Fact} name="Verdict">
            <${Verdict} row=${session} /><span class="evidence muted">${session.evidence.join(" · ")}</span>
          <//>
          <${Life} session=${session} alive=${alive} />
          <${Place} session=${session} />
          <${Use} session=${session} alive=${alive} />
          <${Family} session=${session} />
        </dl>
      </div>
    </aside>
  `;
}

/** What is out of the ordinary. */
const Notes = ({ session }) => html`
  ${session.warnings.map((reason) => html`<p class="note bad" key=${reason}>${reason}: about to be ended</p>`)}
  ${session.protected && html`<p class="note">Protected: only you can end it, by name.</p>`}
  ${session.holder_lost && html`<p class="note warn">Its original holder process was lost, so ending it is only best effort.</p>`}
  ${
    session.intent &&
    !session.ending &&
    html`
      <p class="note warn">Being ended by ${session.intent.by}${session.intent.reason && `: ${session.intent.reason}`}</p>
    `
  }
`;

const Life = ({ session, alive }) => html`
  <${Fact} name="Started"><span title=${session.started_at}>${full(session.started_at ?? session.created_at)}</span><//>
  ${alive && html`<${Fact} name="Age"><${Age} at=${session.started_at ?? session.created_at} /><//>`}
  ${alive && html`<${Fact} name="Quiet">${session.last_output_at ? html`<${Quiet} session=${session} />` : "no output yet"}<//>`}
  ${
    !alive &&
    html`
      <${Fact} name="Ended">
        ${full(session.ended_at)}, after <${Age} at=${session.started_at ?? session.created_at} until=${session.ended_at} />
      <//>
    `
  }
  ${
    session.ending &&
    html`
      <${Fact} name="How">
        ${session.ending.how}${session.ending.exit && ` · ${exitWords(session.ending.exit)}`}, by ${session.ending.by}
      <//>
    `
  }
  ${session.ending?.reason && html`<${Fact} name="Reason">${session.ending.reason}<//>`}
  ${session.attached > 0 && html`<${Fact} name="Attached">${count(session.attached, "person", "people")}<//>`}
`;

const Quiet = ({ session }) =>
  html`${duration(session.quiet_for)}, last output <${Ago} at=${session.last_output_at} />`;

const Place = ({ session }) => html`
  <${Fact} name="Owner">${session.owner}<//>
  <${Fact} name="Project">${session.project}<//>
  <${Fact} name="Folder"><code>${session.cwd}</code><//>
  <${Fact} name="Command"><code class="command">${commandLine(session.command)}</code><//>
  <${Fact} name="Agent">${session.agent} · ${session.driver} · ${session.kind}<//>
  ${
    session.tmux?.name &&
    html`<${Fact} name="tmux"><code>${session.tmux.name}</code>${session.tmux.pane && ` pane ${session.tmux.pane}`}<//>`
  }
  ${
    session.labels.length > 0 &&
    html`
      <${Fact} name="Labels">
        <span class="row">${session.labels.map((label) => html`<span class="chip" key=${label}>${label}</span>`)}</span>
      <//>
    `
  }
`;

const Use = ({ session, alive }) => html`
  ${alive && html`<${Fact} name="Processes">${session.processes}<//>`}
  <${Fact} name="CPU used">${duration(session.cpu || session.ending?.summary?.cpu)}<//>
  ${!alive && session.ending?.summary?.memory && html`<${Fact} name="Memory">${bytes(session.ending.summary.memory)} peak<//>`}
  <${Fact} name="Output">${bytes(session.output)}<//>
  ${
    session.tokens &&
    html`<${Fact} name="Tokens">${Object.entries(session.tokens)
      .map(([kind, number]) => `${short(number)} ${kind}`)
      .join(" · ")}<//>`
  }
  ${alive && html`<${Fact} name="Limits">${limits(session.limits)}<//>`}
  ${alive && html`<${Fact} name="Guarantee">${PROOF[session.guarantee] ?? session.guarantee}<//>`}
`;

const Family = ({ session }) => html`
  ${session.parent && html`<${Fact} name="Parent"><${SessionLink} id=${session.parent} /><//>`}
  ${
    session.children.length > 0 &&
    html`
      <${Fact} name="Children">
        <span class="row">${session.children.map((id) => html`<${SessionLink} key=${id} id=${id} />`)}</span>
      <//>
    `
  }
  ${session.predecessor && html`<${Fact} name="Continues"><${SessionLink} id=${session.predecessor} /><//>`}
  ${session.successor && html`<${Fact} name="Continued by"><${SessionLink} id=${session.successor} /><//>`}
  <${Fact} name="Log"><code class="muted">${session.folder}</code><//>
`;

function limits({ idle, age, memory }) {
  const words = [idle && `idle ${duration(idle)}`, age && `age ${duration(age)}`, memory && `memory ${bytes(memory)}`];
  return words.filter(Boolean).join(" · ") || "none";
}
