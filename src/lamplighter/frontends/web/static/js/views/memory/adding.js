// A new record, by hand.

import { html, useState } from "../../../vendor/preact.js";
import { openDialog } from "../../parts/dialog.js";
import { taken, useAct } from "./closing.js";
import { CATEGORIES, Choice, Failure, GRADES, TYPES } from "./fields.js";
import { EVERYWHERE, folderOf, projects } from "./projects.js";

const OTHER = "?";
const MEANS = {
  note: "Found by search; not sent to sessions.",
  decision: "What was decided and why. Sent to the next session.",
  constraint: "A boundary that must not be crossed. Every session is told, none is ever left out.",
  warning: "What the next session should watch out for.",
  preference: "How you like things done.",
  open_loop: "A question or task that is not done. Told to every session until it is resolved.",
  checkpoint: "Current state of the work.",
  next_session_focus: "Where to continue.",
  relational_delta: "What changed in the collaboration.",
};

export const addRecord = (props) => openDialog(Add, props);

const lines = (text) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

function wish(given) {
  const { content, type, category, importance, files, commits, project, named } = given;
  const record = { content: content.trim(), type, files: lines(files), commits: lines(commits) };
  if (category) record.category = category;
  if (importance) record.importance = Number(importance);
  const where = project === OTHER ? named.trim() : project;
  const placed = where === EVERYWHERE ? { everywhere: true } : { project: where, folder: folderOf(where) };
  return { records: [record], ...placed };
}

function Add({ project, done, close }) {
  const known = (projects.value ?? []).filter((one) => one.id);
  const first = project || (known[0]?.id ?? OTHER);
  const [given, set] = useState({
    content: "",
    type: "note",
    category: "",
    importance: "",
    files: "",
    commits: "",
    project: first,
    named: "",
  });
  const { busy, error, act } = useAct("store_records", close, done);
  const put = (name) => (event) => set({ ...given, [name]: event.target.value });
  const ready = given.content.trim() && (given.project !== OTHER || given.named.trim());
  const submit = (event) => {
    event.preventDefault();
    act(wish(given), (result) =>
      result.stored ? `Stored as ${result.records[0].id}${taken(result)}` : "An identical record already exists",
    );
  };
  return html`
    <header><h2 id="dialog-title">Add a record</h2></header>
    <form class="body" id="adding" onSubmit=${submit}>
      <label>
        What is to be known
        ${" "}<small>One or two sentences. Well-known kinds of secrets are removed before storing.</small>
        <textarea autofocus required rows="4" maxlength="20000" value=${given.content} onInput=${put("content")}></textarea>
      </label>
      <div class="fields">
        <${Choice} label="Type" value=${given.type} options=${TYPES} onChange=${put("type")} />
        <label>Project
          <select value=${given.project} onChange=${put("project")}>
            ${known.map((one) => html`<option key=${one.id} value=${one.id}>${one.name}</option>`)}
            <option value=${EVERYWHERE}>Every project</option>
            <option value=${OTHER}>Another…</option>
          </select>
        </label>
      </div>
      <p class="muted">${MEANS[given.type]}</p>
      ${
        given.project === OTHER &&
        html`<label>Which project <small>A folder, such as /home/me/shop, or a name of your own.</small>
        <input required value=${given.named} maxlength="1000" onInput=${put("named")} />
      </label>`
      }
      <details>
        <summary>Category, importance, sources</summary>
        <div class="body">
          <div class="fields">
            <${Choice}
              label="Category"
              none="default for its type"
              value=${given.category}
              options=${CATEGORIES}
              onChange=${put("category")}
            />
            <${Choice}
              label="Importance (1–10)"
              none="default for its type"
              value=${given.importance}
              options=${GRADES}
              onChange=${put("importance")}
            />
          </div>
          <label>Files <small>One per line. The record is marked when one changes.</small>
            <textarea class="mono" value=${given.files} onInput=${put("files")}></textarea>
          </label>
          <label>
            Commits <small>One per line.</small>
            <textarea class="mono" value=${given.commits} onInput=${put("commits")}></textarea>
          </label>
        </div>
      </details>
      <${Failure} error=${error} />
    </form>
    <footer>
      <button onClick=${close}>Cancel</button>
      <button class="main" form="adding" disabled=${busy || !ready}>Store</button>
    </footer>
  `;
}
