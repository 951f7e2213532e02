// The keys that work here.

import { html } from "../../vendor/preact.js";
import { everyKey } from "../keys.js";

const NAMES = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", " ": "Space", Escape: "Esc" };

export const Help = ({ close }) => html`
  <header><h2 id="dialog-title">Keys</h2></header>
  <dl class="keys">
    ${everyKey().map(
      ({ keys, does }) => html`
        <div key=${does}><dt>${keys.map((key) => html`<kbd>${NAMES[key] ?? key}</kbd>`)}</dt><dd>${does}</dd></div>
      `,
    )}
  </dl>
  <footer><button autofocus onClick=${close}>Close</button></footer>
`;
