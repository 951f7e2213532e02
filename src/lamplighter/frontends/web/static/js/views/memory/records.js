// Records of a project: searched, filtered, a page at a time. What is asked for is in the address.

import { html, useEffect, useRef, useState } from "../../../vendor/preact.js";
import { count } from "../../format.js";
import { addKeys } from "../../keys.js";
import { useAnswer } from "../../parts/answer.js";
import { Empty, Problem, Waiting } from "../../parts/empty.js";
import { Ago } from "../../parts/tick.js";
import { href, replace } from "../../route.js";
import { CATEGORIES, Choice, SOURCES, STATES, TYPES } from "./fields.js";
import { pieces } from "./hits.js";
import { EVERYWHERE, nameOf, place, projects } from "./projects.js";
import { RecordCard, sourceName } from "./record.js";

const PAGE = 50;
const TYPING_MS = 200;

function asked(query, chosen) {
  const args = {
    ...place(chosen),
    state: query.state || "active",
    limit: PAGE,
    offset: PAGE * (Number(query.page) || 0),
  };
  if (query.type) args.types = [query.type];
  if (query.category) args.category = query.category;
  if (query.source) args.source = query.source;
  return query.q?.trim() ? ["search_records", { ...args, query: query.q }] : ["list_records", args];
}

export function Records({ chosen, query, changed }) {
  const put = (more) => replace(["memory", "records"], { ...query, page: "", ...more });
  const [name, args] = asked(query, chosen);
  const { result, error, busy, again } = useAnswer(name, args);
  const done = () => {
    again();
    changed();
  };
  return html`
    <${Filters} query=${query} chosen=${chosen} put=${put} />
    ${error && !result && html`<${Problem} error=${error} />`}
    ${!result && !error && html`<${Waiting} />`}
    ${
      result &&
      html`
        ${result.sessions?.length > 0 && html`<${FoundSessions} sessions=${result.sessions} query=${query.q} />`}
        <section class="panel records" aria-label="Records" aria-busy=${busy}>
          <header>
            <h2>${heading(result, query)}</h2>
            <small class="muted">${query.q ? "best first" : "newest first"}</small>
          </header>
          ${result.records.length === 0 && html`<${NoRecords} query=${query} chosen=${chosen} put=${put} />`}
          <ol>
            ${result.records.map(
              (record) => html`
                <li key=${record.id}>
                  <${RecordCard} record=${record} query=${query.q} withProject=${!chosen || !record.project} done=${done} />
                </li>
              `,
            )}
          </ol>
          <${Pages} total=${result.total} page=${Number(query.page) || 0} put=${put} />
        </section>
      `
    }
  `;
}

const heading = (result, query) => {
  const more = query.q && result.total >= 1000 ? "or more " : "";
  return query.q ? `${result.total} ${more}found` : count(result.total, "record");
};

function Filters({ query, chosen, put }) {
  const field = useRef(null);
  const [typed, setTyped] = useState(query.q ?? "");
  useEffect(() => addKeys([{ keys: ["/"], does: "search the memory", act: () => field.current.focus() }]), []);
  useEffect(() => {
    if ((query.q ?? "") === typed) return undefined;
    const timer = setTimeout(() => put({ q: typed }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const types = (projects.value ?? []).filter((one) => !chosen || (one.id ?? EVERYWHERE) === chosen);
  const number = (type) => types.reduce((all, one) => all + (one.types[type] ?? 0), 0);
  const chooses = (name) => (event) => put({ [name]: event.target.value });
  const named = (type) =>
    `${type.replaceAll("_", " ")}${(query.state || "active") === "active" && !query.q ? ` (${number(type)})` : ""}`;
  return html`
    <search class="filters">
      <input
        ref=${field}
        type="search"
        aria-label=${`Search the records of ${nameOf(chosen)}`}
        placeholder="Search: any words, a name, a path"
        value=${typed}
        onInput=${(event) => setTyped(event.target.value)}
      />
      <${Choice}
        hidden
        label="Type"
        none="Every type"
        value=${query.type ?? ""}
        options=${TYPES}
        name=${named}
        onChange=${chooses("type")}
      />
      <${Choice}
        hidden
        label="State"
        value=${query.state || "active"}
        options=${STATES}
        onChange=${chooses("state")}
        name=${(state) => (state === "all" ? "every state" : state)}
      />
      <${Choice}
        hidden
        label="Category"
        none="Every category"
        value=${query.category ?? ""}
        options=${CATEGORIES}
        onChange=${chooses("category")}
      />
      <${Choice}
        hidden
        label="Source"
        none=${query.q ? "Every source" : "All but inferred"}
        value=${query.source ?? ""}
        options=${SOURCES}
        name=${sourceName}
        onChange=${chooses("source")}
      />
    </search>
  `;
}

const filtered = (query) => ["q", "type", "category", "source", "state"].some((name) => query[name]);

const NoRecords = ({ query, chosen, put }) =>
  filtered(query)
    ? html`
      <div class="empty">
        <h3>No matching records in ${nameOf(chosen)}</h3>
        <p>Try other words or fewer filters. Searches do not include forgotten records.</p>
        <button onClick=${() => put({ q: "", type: "", category: "", source: "", state: "" })}>Clear search and filters</button>
      </div>
    `
    : html`
      <${Empty}
        title=${`No records for ${nameOf(chosen)} yet`}
        command="lamp remember 'the tests need a clock of their own'"
      >
        A session that ends and hands over leaves records here, and so do agents that store what they learn. By hand,
        in the project's folder:
      <//>
    `;

const FoundSessions = ({ sessions, query }) => html`
  <section class="panel found-sessions" aria-label="Sessions found">
    <header><h2>Matching sessions</h2><small class="muted">by their final summaries</small></header>
    <ol>
      ${sessions.map(
        (one) => html`
          <li key=${one.id}>
            <div class="row spread">
              <a class="name" href=${href(["sessions", one.id])}>${one.name}</a>
              <span class="muted">${one.project_name}${one.ended_at && html` · ended <${Ago} at=${one.ended_at} />`}</span>
            </div>
            <p class="words short">
              ${pieces(one.summary, query).map((piece, at) => (at % 2 ? html`<mark>${piece}</mark>` : piece))}
            </p>
          </li>
        `,
      )}
    </ol>
  </section>
`;

export function Pages({ total, page, put, size = PAGE }) {
  const last = Math.max(0, Math.ceil(total / size) - 1);
  if (last === 0 && page === 0) return null;
  const turn = (to) => {
    put({ page: to ? String(to) : "" });
    document.getElementById("main").scrollIntoView();
  };
  return html`
    <nav class="pages row spread" aria-label="Pages">
      <button disabled=${page === 0} onClick=${() => turn(page - 1)}>Newer</button>
      <span class="muted number">
        ${Math.min(total, page * size + 1)}–${Math.min(total, (page + 1) * size)} of ${total.toLocaleString("en")}
      </span>
      <button disabled=${page >= last} onClick=${() => turn(page + 1)}>Older</button>
    </nav>
  `;
}
