// Taking under management what was started without us, in tmux or as a process: what that means, then doing it.

import { html, useState } from "../../vendor/preact.js";
import { call } from "../api.js";
import { bytes, count } from "../format.js";
import { openDialog } from "../parts/dialog.js";
import { say } from "../parts/toast.js";
import { go } from "../route.js";
import { ADOPTED_KINDS } from "./kinds.js";

/** A tmux session that was made by hand. */
export const adoptTmux = (made) =>
  openDialog(Adopt, { what: made, title: made.id, named: { target: made.id }, inTmux: true });

/** An agent that the scan found; `adopted` is called once it is a session. */
export function adoptAgent(agent, adopted) {
  const { tmux, pid, start } = agent;
  // A pid may be another process's by now: with its start only the one that was shown is adopted.
  const named = tmux ? { target: tmux } : { target: String(pid), start };
  openDialog(Adopt, { what: agent, title: tmux ?? `${agent.agent} ${pid}`, named, inTmux: Boolean(tmux), adopted });
}

function Adopt({ what, title, named, inTmux, adopted, close }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState("");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const asked = { ...named, ...(name.trim() && { name: name.trim() }), ...(kind && { kind }) };
      const made = await call("adopt_session", asked);
      const here = close();
      say(`Adopted ${made.name}`, "good", `guarantee: ${made.guarantee}`);
      adopted?.();
      if (here) go(["sessions", made.id]);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  const panes = what.panes ? `${count(what.panes, "pane")} with ` : "";
  return html`
    <header><h2 id="dialog-title">Adopt ${title}?</h2></header>
    <form class="body" id="adopt" onSubmit=${submit}>
      <p>
        This does not affect what is running: ${panes}${count(what.processes, "process", "processes")}, ${bytes(what.memory)}.
        ${" "}From now on it is listed, judged and ended like any other session, with everything it starts. You cannot undo this.
      </p>
      ${what.command && html`<pre class="spelled"><code>${what.command}</code></pre>`}
      <p class="muted">
        Ending it is best effort: every process that can be traced to it ends, and nothing
        else${inTmux ? " on its tmux server" : ""}. It has no log${inTmux ? "; attach with tmux attach" : ""}. The same
        from a shell: <code>lamp adopt ${named.target}</code>
      </p>
      <label>
        Name <small>default: ${inTmux ? "the name in tmux" : "the name of its program"}</small>
        <input autofocus autocomplete="off" value=${name} onInput=${(event) => setName(event.target.value)} />
      </label>
      <label>
        Kind
        <select value=${kind} onChange=${(event) => setKind(event.target.value)}>
          <option value="">default</option>
          ${ADOPTED_KINDS.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
        </select>
      </label>
      ${error && html`<p class="note bad" role="alert"><strong>${error.message}</strong><br />${error.hint}</p>`}
    </form>
    <footer><button onClick=${close}>Cancel</button><button class="main" form="adopt" disabled=${busy}>Adopt</button></footer>
  `;
}
