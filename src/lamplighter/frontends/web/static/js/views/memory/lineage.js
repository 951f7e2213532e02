// Who went on from whom: the line of one session, drawn. Which one is in the address: #/memory/lineage/ID.

import { html, useState } from "../../../vendor/preact.js";
import { count } from "../../format.js";
import { useAnswer } from "../../parts/answer.js";
import { Empty, Problem, Waiting } from "../../parts/empty.js";
import { go, href } from "../../route.js";
import { Graph } from "./graph.js";
import { EVERYWHERE } from "./projects.js";

const MOST = 100;

export function Lineage({ chosen, rest, query }) {
  const of = chosen && chosen !== EVERYWHERE ? { project: chosen } : {};
  const { result: left } = useAnswer("list_handoffs", { ...of, limit: MOST });
  const sessions = [
    ...new Map((left?.handoffs ?? []).filter((one) => one.session).map((one) => [one.session, one])).values(),
  ];
  // Without a name the one that was gone on from last: there is a line to see.
  const session = rest[0] ?? (sessions.find((one) => one.successor) ?? sessions[0])?.session;
  const { result, error } = useAnswer("get_lineage", session ? { session } : null);
  return html`
    <section class="panel">
      <header>
        <h2>${result ? heading(result.generations) : "Lineage"}</h2>
        <${Which} session=${rest[0] ?? ""} sessions=${sessions} query=${query} />
      </header>
      ${error && html`<${Problem} error=${error} />`}
      ${!error && !result && (session || !left) && html`<${Waiting} />`}
      ${left && !session && html`<${NoLine} />`}
      ${!error && result && html`<div class="body"><${Graph} generations=${result.generations} /></div>`}
      ${
        !error &&
        result?.cut &&
        html`<p class="note cut">The lineage continues. Enter its first or last session to see more.</p>`
      }
      ${!error && result?.generations.length === 1 && html`<${Alone} session=${session} />`}
    </section>
  `;
}

const heading = (generations) =>
  `${count(generations.length, "session")}, ${count(new Set(generations.map((one) => one.depth)).size, "generation")}`;

function Which({ session, sessions, query }) {
  const [typed, setTyped] = useState(session);
  const submit = (event) => {
    event.preventDefault();
    go(typed.trim() ? ["memory", "lineage", typed.trim()] : ["memory", "lineage"], query);
  };
  return html`
    <form class="row which" onSubmit=${submit}>
      <input
        aria-label="Session, by name or id"
        list="of-hand-offs"
        placeholder="a session's name or id"
        maxlength="200"
        value=${typed}
        onInput=${(event) => setTyped(event.target.value)}
      />
      <datalist id="of-hand-offs">
        ${sessions.map((one) => html`<option key=${one.session} value=${one.session}>${one.name}</option>`)}
      </datalist>
      <button>Show</button>
    </form>
  `;
}

const Alone = ({ session }) => html`
  <p class="muted alone">
    Nobody has gone on from it yet.
    ${" "}<a href=${href(["memory", "packet"], { session })}>What a successor would receive</a>, or from a terminal:
    <code>lamp start --from ${session} -- claude</code>
  </p>
`;

const NoLine = () => html`
  <${Empty} title="No lineage yet" command="lamp start --from NAME -- claude">
    A line begins when a session goes on from one that ended, with its packet:
  <//>
`;
