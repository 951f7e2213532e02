// Open loops: what sessions left undone, since when, and how often each was carried on. Knows records; changes nothing by itself.

import { html } from "../../../vendor/preact.js";
import { count } from "../../format.js";
import { useAnswer } from "../../parts/answer.js";
import { Empty, Problem, Waiting } from "../../parts/empty.js";
import { replace } from "../../route.js";
import { nameOf, place } from "./projects.js";
import { RecordCard } from "./record.js";
import { Pages } from "./records.js";

const PAGE = 50;
const LONG = 5;
const MOST = 1000;
const ORDERS = {
  carried: (one, other) => other.carried - one.carried || one.created_at.localeCompare(other.created_at),
  oldest: (one, other) => one.created_at.localeCompare(other.created_at),
  newest: (one, other) => other.created_at.localeCompare(one.created_at),
};

export function Loops({ chosen, query, changed }) {
  const { result, error, again } = useAnswer("list_records", { ...place(chosen), types: ["open_loop"], limit: MOST });
  if (error && !result) return html`<${Problem} error=${error} />`;
  if (!result) return html`<${Waiting} />`;
  const order = Object.hasOwn(ORDERS, query.order ?? "") ? query.order : "carried";
  const sorted = [...result.records].sort(ORDERS[order]);
  const page = Math.min(Number(query.page) || 0, Math.max(0, Math.ceil(sorted.length / PAGE) - 1));
  const put = (more) => replace(["memory", "loops"], { ...query, page: "", ...more });
  const done = () => {
    again();
    changed();
  };
  return html`
    <section class="panel records" aria-label="Open loops">
      <header>
        <h2>${count(result.total, "open loop")}</h2>
        <div class="segmented" role="group" aria-label="Order">
          ${Object.keys(ORDERS).map(
            (name) => html`
              <button key=${name} aria-pressed=${name === order} onClick=${() => put({ order: name })}>
                ${name === "carried" ? "Most carried" : name === "oldest" ? "Oldest" : "Newest"}
              </button>
            `,
          )}
        </div>
      </header>
      ${sorted.length === 0 && html`<${NoLoops} chosen=${chosen} />`}
      <ol>
        ${sorted.slice(page * PAGE, (page + 1) * PAGE).map(
          (loop) => html`
            <li key=${loop.id}>
              <${RecordCard} record=${loop} withProject=${!chosen || !loop.project} done=${done}>
                <${Carried} times=${loop.carried} />
              <//>
            </li>
          `,
        )}
      </ol>
      ${result.total > MOST && html`<p class="note">Only the newest ${MOST} are shown.</p>`}
      <${Pages} total=${sorted.length} page=${page} put=${put} size=${PAGE} />
    </section>
  `;
}

/** How many sessions have handed off since and left it open. */
function Carried({ times }) {
  const words = times === 0 ? "not carried yet" : `carried ${count(times, "time")}`;
  const meaning = "how many sessions have handed off since and left it open";
  return html`
    <span class=${`carried ${times >= LONG ? "long" : ""}`} title=${meaning}>
      <span class="pips" aria-hidden="true">
        ${Array.from({ length: Math.min(times, 8) }, (_, place) => html`<i key=${place}></i>`)}
      </span>
      ${words}
    </span>
  `;
}

const NoLoops = ({ chosen }) => html`
  <${Empty} title="No open loops" command="lamp end --open-loop 'who owns the fixtures?'">
    Nothing of ${nameOf(chosen)} is left undone, as far as anybody said. A session leaves one when it ends or hands off:
  <//>
`;
