// Taking a tmux session that was made by hand under management. It is not touched.

import { html, useState } from "../../vendor/preact.js";
import { call } from "../api.js";
import { bytes, count } from "../format.js";
import { openDialog } from "../parts/dialog.js";
import { say } from "../parts/toast.js";
import { go } from "../route.js";

export const adopt = (made) => openDialog(Adopt, { made });

function Adopt({ made, close }) {
  const [name, setName] = useState("");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const adopted = await call("adopt_session", { target: made.id, ...(name.trim() && { name: name.trim() }) });
      close();
      say(`${adopted.name} is a session now`);
      go(["sessions", adopted.id]);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`
    <header><h2 id="dialog-title">Adopt ${made.id}</h2></header>
    <form class="body" id="adopt" onSubmit=${submit}>
      <p>
        Nothing of it is touched: ${count(made.panes, "pane")} with ${count(made.processes, "process", "processes")}, ${bytes(made.memory)}.
        From now on it is listed, judged and ended as others are.
      </p>
      <p class="muted">
        An end of it is best_effort: everything of it that can be traced dies, nothing else on its tmux server does. There is no log of it; people
        are at it with tmux attach. The same in a shell: <code>lamp adopt ${made.id}</code>
      </p>
      <label>Name <small>by default what tmux calls it</small><input autofocus value=${name} onInput=${(event) => setName(event.target.value)} /></label>
      ${error && html`<p class="note bad" role="alert"><strong>${error.message}</strong><br />${error.hint}</p>`}
    </form>
    <footer><button onClick=${close}>Cancel</button><button class="main" form="adopt" disabled=${busy}>Adopt</button></footer>
  `;
}
