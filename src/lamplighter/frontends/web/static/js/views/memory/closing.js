// Closing a record: resolved, superseded, forgotten, or deleted for good. Each dialog says first what it means.

import { html, useState } from "../../../vendor/preact.js";
import { call, newKey } from "../../api.js";
import { openDialog } from "../../parts/dialog.js";
import { say } from "../../parts/toast.js";
import { Choice, Failure, GRADES, TYPES, typeName } from "./fields.js";
import { folderOf } from "./projects.js";

export const resolveRecord = (record, done) => openDialog(Resolve, { record, done });
export const supersedeRecord = (record, done) => openDialog(Supersede, { record, done });
export const forgetRecord = (record, done) =>
  openDialog(record.state === "forgotten" ? Erase : Forget, { record, done });

/** One act at a time, under one key however often it is tried. */
export function useAct(name, close, done) {
  const [state, set] = useState({ busy: false, error: null, key: "", said: "" });
  const act = async (args, words) => {
    const said = JSON.stringify(args);
    // Nobody knows what came of a call without an answer: the same again is the same call.
    const key = state.said === said && state.error?.code === "DAEMON_UNREACHABLE" ? state.key : newKey();
    set({ busy: true, error: null, key, said });
    try {
      const result = await call(name, args, { key });
      close();
      say(words(result));
      done?.();
    } catch (error) {
      set({ busy: false, error, key, said });
    }
  };
  return { ...state, act };
}

const Quoted = ({ record }) => html`
  <blockquote class="quoted">
    <small class="muted">${typeName(record.type)} <span class="mono">${record.id}</span></small><p>${record.content}</p>
  </blockquote>
`;

function Resolve({ record, done, close }) {
  const { busy, error, act } = useAct("update_record", close, done);
  const [why, setWhy] = useState("");
  const submit = (event) => {
    event.preventDefault();
    act(
      { action: "resolve", records: [record.id], ...(why.trim() && { why: why.trim() }) },
      () => `${record.id} is resolved`,
    );
  };
  return html`
    <header><h2 id="dialog-title">Resolve this ${typeName(record.type)}</h2></header>
    <form class="body" id="closing" onSubmit=${submit}>
      <${Quoted} record=${record} />
      <p>Later sessions no longer receive it. It stays in the memory as resolved and can be found by that state.</p>
      <label>How was it resolved? <small>Optional, stored with the record.</small>
        <textarea autofocus maxlength="2000" value=${why} onInput=${(event) => setWhy(event.target.value)}></textarea>
      </label>
      <${Failure} error=${error} />
    </form>
    <footer><button onClick=${close}>Cancel</button><button class="main" form="closing" disabled=${busy}>Resolve</button></footer>
  `;
}

function Supersede({ record, done, close }) {
  const { busy, error, act } = useAct("update_record", close, done);
  const [given, set] = useState({ content: record.content, type: record.type, importance: String(record.importance) });
  const put = (name) => (event) => set({ ...given, [name]: event.target.value });
  const same =
    given.content.trim() === record.content &&
    given.type === record.type &&
    given.importance === String(record.importance);
  const submit = (event) => {
    event.preventDefault();
    const args = {
      action: "supersede",
      records: [record.id],
      content: given.content.trim(),
      importance: Number(given.importance),
    };
    const more = { ...(given.type !== record.type && { type: given.type }), folder: folderOf(record.project) };
    act({ ...args, ...more }, (result) => `${result.records[0].id} replaces ${record.id}${taken(result)}`);
  };
  return html`
    <header><h2 id="dialog-title">Supersede this ${typeName(record.type)}</h2></header>
    <form class="body" id="closing" onSubmit=${submit}>
      <p>
        A new record replaces it, in the same project and in your name. The old one stays as superseded and refers to
        the new one.
        ${record.source === "inferred" && " This confirms what was inferred."}
      </p>
      <label>Replacement
        <textarea autofocus required rows="6" maxlength="20000" value=${given.content} onInput=${put("content")}></textarea>
      </label>
      <div class="fields">
        <${Choice} label="Type" value=${given.type} options=${TYPES} name=${typeName} onChange=${put("type")} />
        <${Choice} label="Importance (1–10)" value=${given.importance} options=${GRADES} onChange=${put("importance")} />
      </div>
      <${Failure} error=${error} />
    </form>
    <footer>
      <button onClick=${close}>Cancel</button>
      <button class="main" form="closing" disabled=${busy || same || !given.content.trim()}>Supersede</button>
    </footer>
  `;
}

function Forget({ record, done, close }) {
  const { busy, error, act } = useAct("update_record", close, done);
  const [why, setWhy] = useState("");
  const submit = (event) => {
    event.preventDefault();
    act(
      { action: "forget", records: [record.id], ...(why.trim() && { why: why.trim() }) },
      () => `${record.id} is forgotten`,
    );
  };
  return html`
    <header><h2 id="dialog-title">Forget this ${typeName(record.type)}</h2></header>
    <form class="body" id="closing" onSubmit=${submit}>
      <${Quoted} record=${record} />
      <p>Sessions no longer receive it and searches no longer find it. Its text stays in the store as forgotten.</p>
      <label>Why? <small>Optional.</small>
        <textarea autofocus maxlength="2000" value=${why} onInput=${(event) => setWhy(event.target.value)}></textarea>
      </label>
      <${Failure} error=${error} />
    </form>
    <footer>
      <button class="quiet apart" onClick=${() => openDialog(Erase, { record, done })}>Delete permanently…</button>
      <button onClick=${close}>Cancel</button>
      <button class="main" form="closing" disabled=${busy}>Forget</button>
    </footer>
  `;
}

function Erase({ record, done, close }) {
  const { busy, error, act } = useAct("update_record", close, done);
  const [typed, setTyped] = useState("");
  const submit = (event) => {
    event.preventDefault();
    if (typed.trim() === record.id) act({ action: "forget", records: [record.id], hard: true }, erased);
  };
  return html`
    <header><h2 id="dialog-title">Delete this ${typeName(record.type)} permanently</h2></header>
    <form class="body" id="closing" onSubmit=${submit}>
      <${Quoted} record=${record} />
      <p class="note bad">
        Its text is removed from the store, its index and free pages, and from the packets that sessions started
        from. You cannot undo this. Transcripts kept by agents, exports and backups are not affected.
      </p>
      <label>Type <code>${record.id}</code> to delete it
        <input
          autofocus
          autocomplete="off"
          spellcheck="false"
          value=${typed}
          onInput=${(event) => setTyped(event.target.value)}
        />
      </label>
      <${Failure} error=${error} />
    </form>
    <footer>
      <button onClick=${close}>Cancel</button>
      <button class="danger" form="closing" disabled=${busy || typed.trim() !== record.id}>Delete permanently</button>
    </footer>
  `;
}

const erased = (result) =>
  result.pending ? "Deleted. Free pages are rewritten when the daemon next starts" : "Deleted permanently";

/** What was taken out of a text before it was stored. */
export function taken({ redacted = 0, withheld = 0 }) {
  const parts = [
    redacted && `${redacted} secret${redacted > 1 ? "s" : ""} redacted`,
    withheld && `${withheld} private part${withheld > 1 ? "s" : ""} withheld`,
  ];
  const said = parts.filter(Boolean).join(", ");
  return said ? ` (${said})` : "";
}
