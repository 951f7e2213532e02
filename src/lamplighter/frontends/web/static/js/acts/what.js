// What is to be started: a command line, or an agent with its model and conversation.

import { html, signal, useEffect } from "../../vendor/preact.js";
import { call } from "../api.js";
import { sayError } from "../parts/toast.js";
import { split } from "./words.js";

/** The agents that can be started, installed ones first; null until they have come. */
const agents = signal(null);

async function learn() {
  try {
    const { agents: found } = await call("list_agents");
    agents.value = found.sort((a, b) => Number(!a.path) - Number(!b.path));
  } catch (error) {
    sayError(error);
  }
}

const wantsShell = (line) => {
  try {
    return split(line).shell;
  } catch {
    return false;
  }
};

export const Line = ({ form, set }) => html`
  <label>
    <span>Command <small>a program and its arguments, run without a shell</small></span>
    <input
      class="mono"
      autofocus
      autocomplete="off"
      autocapitalize="off"
      spellcheck=${false}
      placeholder="npm run build"
      value=${form.line}
      onInput=${(event) => set({ line: event.target.value })}
    />
  </label>
  ${
    wantsShell(form.line) &&
    html`
      <p class="note warn row spread">
        <span>This runs without a shell: pipes, variables and patterns are passed on literally.</span>
        <button type="button" onClick=${() => set({ line: `bash -c '${form.line.replaceAll("'", "'\\''")}'` })}>
          Run it in a shell
        </button>
      </p>
    `
  }
`;

/** What is known of the agent that was chosen. */
function standing(chosen) {
  if (!chosen) return "choose one";
  return chosen.untested ? "untested" : (chosen.path ?? "not installed here");
}

export function Agent({ form, set }) {
  useEffect(() => {
    learn();
  }, []);
  const found = agents.value ?? [];
  const chosen = found.find(({ name }) => name === form.agent);
  useEffect(() => {
    if (!form.agent && found[0]?.path) set({ agent: found[0].name });
  }, [agents.value]);
  const text = (name, title, about, placeholder) => html`
    <label>
      <span>${title} <small>${about}</small></span>
      <input
        autocomplete="off"
        spellcheck=${false}
        placeholder=${placeholder}
        value=${form[name]}
        onInput=${(event) => set({ [name]: event.target.value })}
      />
    </label>
  `;
  return html`
    <div class="pair">
      <label>
        <span>Agent <small>${standing(chosen)}</small></span>
        <select value=${form.agent} onChange=${(event) => set({ agent: event.target.value })}>
          <option value="">choose…</option>
          ${found.map(
            ({ name, path }) => html`
              <option key=${name} value=${name}>${name}${path ? "" : " (not installed)"}</option>
            `,
          )}
        </select>
      </label>
      ${text("more", "Its own options", "added to its command line", "--verbose")}
    </div>
    <div class="pair">
      ${(!chosen || chosen.model) && text("model", "Model", "optional", "")}
      ${(!chosen || chosen.resume) && text("resume", "Resume", "conversation id, session, or last", "last")}
    </div>
  `;
}
