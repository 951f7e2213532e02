// tmux sessions that were made by hand: what is in them, and how they become sessions.

import { html } from "../../../vendor/preact.js";
import { adoptTmux } from "../../acts/adopt.js";
import { ago, bytes, count } from "../../format.js";
import { byHand } from "../../live.js";

export const ByHand = () =>
  byHand.value.length > 0 &&
  html`
    <section class="panel by-hand" aria-labelledby="by-hand">
      <header><h2 id="by-hand">Other tmux sessions</h2><span class="muted">not managed until adopted</span></header>
      <ul>
        ${byHand.value.map(
          (made) => html`
            <li key=${made.id}>
              <div class="what">
                <strong>${made.id}</strong><small class="mono">${made.commands.join(", ")} · ${made.cwd}</small>
              </div>
              <small class="muted">
                ${count(made.panes, "pane")} · ${count(made.processes, "process", "processes")} · ${bytes(made.memory)}
                ${" "}· ${ago(made.created_at)}
                ${made.attached > 0 && ` · ${made.attached} attached`}
              </small>
              <button onClick=${() => adoptTmux(made)} aria-label=${`Adopt ${made.id}`}>Adopt…</button>
            </li>
          `,
        )}
      </ul>
    </section>
  `;
