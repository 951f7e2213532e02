// Starting a session: what, where, how. What will run is asked of the daemon and shown before it runs.

import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { call, isUnsure, newKey } from "../api.js";
import { commandLine } from "../format.js";
import { sessions, status } from "../live.js";
import { openDialog } from "../parts/dialog.js";
import { say } from "../parts/toast.js";
import { go } from "../route.js";
import { KINDS } from "./kinds.js";
import { Agent, Line } from "./what.js";
import { split } from "./words.js";

const PAUSE_MS = 250;
const WAYS = { terminal: "Terminal", headless: "Headless", tmux: "tmux", acp: "ACP" };
const ABOUT = {
  terminal: "its own terminal, to watch and type into",
  headless: "pipes, with standard output and error kept apart",
  tmux: "a session in your own tmux",
  acp: "prompts, replies and permissions over the Agent Client Protocol",
};
const TEXTS = ["name", "cwd", "prompt", "project", "from_session", "idle_limit", "max_age", "max_memory"];

/** With a session: go on from it. */
export const startSession = (row) => openDialog(Start, { from: row, wide: true, stays: true });

/** What start_session is asked; a LampError when the command line cannot be read. */
function argumentsOf(form) {
  const given = TEXTS.filter((name) => form[name].trim()).map((name) => [
    name,
    name === "prompt" ? form[name] : form[name].trim(),
  ]);
  const args = { ...Object.fromEntries(given), kind: form.kind, protect: form.protect };
  if (form.way !== "terminal") args[form.way] = true;
  if (form.what === "command") return { ...args, command: split(form.line).words };
  for (const name of ["agent", "model", "resume"]) if (form[name].trim()) args[name] = form[name].trim();
  return { ...args, command: split(form.more).words };
}

const isBlank = (form) => (form.what === "command" ? !form.line.trim() : !form.agent);

function firstForm(from) {
  const texts = Object.fromEntries([...TEXTS, "line", "more", "agent", "model", "resume"].map((name) => [name, ""]));
  const agent = from && from.agent !== "generic" ? from.agent : "";
  return {
    ...texts,
    what: agent ? "agent" : "command",
    agent,
    way: "terminal",
    kind: "task",
    protect: false,
    cwd: from?.cwd ?? status.value?.cwd ?? "",
    from_session: from?.id ?? "",
  };
}

/** What the daemon says would run: {preview} or {error}; neither while there is nothing to ask. */
function usePreview(form) {
  const [found, setFound] = useState({});
  useEffect(() => {
    if (isBlank(form)) return setFound({});
    const leaving = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setFound({ preview: await call("preview_start", argumentsOf(form), { signal: leaving.signal }) });
      } catch (error) {
        if (!leaving.signal.aborted) setFound({ error });
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [JSON.stringify(form)]);
  return found;
}

function Start({ from, close }) {
  const [form, setForm] = useState(() => firstForm(from));
  const [refused, setRefused] = useState(null);
  const [busy, setBusy] = useState(false);
  const sending = useRef(false);
  const attempt = useRef(null); // the same once more, after an answer that never came, is the same call
  const { preview, error } = usePreview(form);
  const set = (changes) => {
    setRefused(null);
    setForm((before) => ({ ...before, ...changes }));
  };
  const submit = async (event) => {
    event.preventDefault();
    if (sending.current || isBlank(form)) return;
    sending.current = true;
    setBusy(true);
    try {
      const args = argumentsOf(form);
      const asked = JSON.stringify(args);
      if (attempt.current?.asked !== asked) attempt.current = { asked, key: newKey() };
      const started = await call("start_session", args, { key: attempt.current.key });
      const here = close();
      say(`Started ${started.name}`, "good", started.note ?? "");
      if (here) go(["sessions", started.id]);
    } catch (problem) {
      if (!isUnsure(problem)) attempt.current = null;
      setRefused(problem);
      setBusy(false);
    } finally {
      sending.current = false;
    }
  };
  return html`
    <header><h2 id="dialog-title">${from ? `Continue from ${from.name}` : "Start a session"}</h2></header>
    <form class="body start" id="start" onSubmit=${submit}>
      <${Choice}
        label="What"
        names=${{ command: "Command", agent: "Agent" }}
        value=${form.what}
        onChoose=${(what) => set({ what, way: "terminal" })}
      />
      ${form.what === "command" ? html`<${Line} form=${form} set=${set} />` : html`<${Agent} form=${form} set=${set} />`}
      <${Field}
        form=${form}
        set=${set}
        name="prompt"
        title="Prompt"
        about=${form.what === "command" ? "typed into it, or sent to standard input" : "the first message"}
        area
      />
      <div class="pair">
        <${Field} form=${form} set=${set} name="name" title="Name" about="default: made from the command" />
        <${Field} form=${form} set=${set} name="cwd" title="Folder" about="default: your home" mono />
      </div>
      <${How} form=${form} set=${set} />
      <${More} form=${form} set=${set} />
      <${WillRun} preview=${preview} error=${refused ?? error} form=${form} />
    </form>
    <footer>
      <button onClick=${close}>Cancel</button>
      <button class="main" form="start" disabled=${busy || isBlank(form)}>${busy ? "Starting…" : "Start"}</button>
    </footer>
  `;
}

const Choice = ({ label, names, value, onChoose }) => html`
  <div class="segmented" role="group" aria-label=${label}>
    ${Object.entries(names).map(
      ([name, title]) =>
        html`
          <button key=${name} type="button" aria-pressed=${String(value === name)} onClick=${() => onChoose(name)}>
            ${title}
          </button>
        `,
    )}
  </div>
`;

function Field({ form, set, name, title, about, area, mono, ...more }) {
  const shared = {
    value: form[name],
    onInput: (event) => set({ [name]: event.target.value }),
    class: mono ? "mono" : "",
    ...more,
  };
  return html`
    <label>
      <span>${title} <small>${about}</small></span>
      ${
        area
          ? html`<textarea rows="2" ...${shared}></textarea>`
          : html`<input autocomplete="off" spellcheck=${false} ...${shared} />`
      }
    </label>
  `;
}

function How({ form, set }) {
  const ways = Object.fromEntries(Object.entries(WAYS).filter(([name]) => name !== "acp" || form.what === "agent"));
  return html`
    <div class="how">
      <${Choice} label="How it runs" names=${ways} value=${form.way} onChoose=${(way) => set({ way })} />
      <small class="muted">${ABOUT[form.way]}</small>
    </div>
  `;
}

function More({ form, set }) {
  const field = (name, title, about, more = {}) =>
    html`<${Field} form=${form} set=${set} name=${name} title=${title} about=${about} ...${more} />`;
  return html`
    <details open=${Boolean(form.from_session)}>
      <summary>Limits, kind and predecessor</summary>
      <div class="pair three">
        ${field("idle_limit", "Idle limit", "ended when idle this long", { placeholder: "30m" })}
        ${field("max_age", "Maximum age", "ended when this old", { placeholder: "8h" })}
        ${field("max_memory", "Memory limit", "ended above this", { placeholder: "2G" })}
      </div>
      <div class="pair three">
        <label>
          <span>Kind <small>what it is for</small></span>
          <select value=${form.kind} onChange=${(event) => set({ kind: event.target.value })}>
            ${KINDS.map((kind) => html`<option key=${kind} value=${kind}>${kind}</option>`)}
          </select>
        </label>
        ${field("project", "Project", "default: its repository")}
        ${" "}${field("from_session", "Continue from", "id, name or last", { list: "start-from" })}
      </div>
      <datalist id="start-from">
        <option value="last"></option>
        ${[...(sessions.value?.values() ?? [])]
          .slice(-200)
          .map((row) => html`<option key=${row.id} value=${row.id}>${row.name}</option>`)}
      </datalist>
      <label class="check">
        <input type="checkbox" checked=${form.protect} onChange=${(event) => set({ protect: event.target.checked })} />
        Protect it: only you can end it
      </label>
    </details>
  `;
}

/** What will happen, or why it cannot; and in whose environment. */
function WillRun({ preview, error, form }) {
  const own = status.value && !status.value.shell;
  return html`
    <div class="will" aria-live="polite">
      ${
        error
          ? html`<p class="note bad" role="alert"><strong>${error.message}</strong><br />${error.hint}</p>`
          : preview
            ? html`
              <p class="note">
                <strong>Will run</strong> in ${preview.cwd}, as ${form.kind}:
                <code>${commandLine(preview.command)}</code>
              </p>
            `
            : html`
              <p class="note plain">
                ${form.what === "command" ? "Enter a command" : "Choose an agent"} to see what will run.
              </p>
            `
      }
      ${
        own &&
        html`
          <p class="note warn">This uses the daemon's environment. To use your shell's, run lamp open again.</p>
        `
      }
    </div>
  `;
}
