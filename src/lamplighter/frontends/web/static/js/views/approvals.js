// What agents have asked the operator for: each request in full, and the operator's word on it.

import { batch, html, signal, useComputed, useEffect, useRef, useSignalEffect } from "../../vendor/preact.js";
import { call } from "../api.js";
import { count } from "../format.js";
import { addKeys } from "../keys.js";
import { status, want } from "../live.js";
import { Empty, Problem, Waiting } from "../parts/empty.js";
import { say, sayError } from "../parts/toast.js";
import { Lately } from "./approvals/lately.js";
import { Request } from "./approvals/request.js";
import { sentence } from "./approvals/words.js";

// What a request is about goes on meanwhile, and what was granted is used: neither is told as an event.
const LOOK_MS = 3000;
const EVENTS = 1000;

const requests = signal(null);
const lately = signal([]);
const error = signal(null);

let turns = 0;
let shown = 0;
/** What was asked for before what is shown says nothing any more, when it comes late. */
async function look() {
  const turn = (turns += 1);
  const found = await call("list_approvals")
    .then(inFull)
    .catch((failed) => ({ failed }));
  if (turn < shown) return;
  shown = turn;
  batch(() => {
    if (found.approvals) requests.value = found.approvals;
    error.value = found.failed ?? null;
  });
}

/** A list has the first rows of a plan only: nobody can grant what they do not see. They never change, so each is asked once. */
async function inFull({ approvals }) {
  const known = plans;
  plans = new Map();
  const whole = async (request) => {
    if (!(request.plan && request.arguments)) return request;
    const given = known.get(request.id) ?? (await wholeOf(request));
    if (!given) return request; // it is over by now
    plans.set(request.id, given);
    return { ...request, arguments: given };
  };
  return { approvals: await Promise.all(approvals.map(whole)) };
}
let plans = new Map();

const wholeOf = ({ id }) => call("list_approvals", { request: id }).then((found) => found.approvals[0].arguments);

async function lookBack() {
  const { events } = await call("list_events", { limit: EVENTS }).catch(() => ({ events: [] }));
  lately.value = events.filter(({ action }) => DECIDED.includes(action)).reverse();
}
const DECIDED = ["approval granted", "approval refused", "approval used", "approval withdrawn"];

async function decide(request, decision) {
  try {
    await call("decide_approval", { request: request.id, decision });
    const granted = decision === "grant";
    say(
      `${granted ? "Granted" : "Refused"}: ${sentence(request, granted)}`,
      "good",
      granted ? "valid for this call, once" : "nothing was done",
    );
  } catch (failed) {
    sayError(failed);
  }
  await Promise.all([look(), lookBack()]);
}

export function Approvals() {
  const title = useRef(null);
  const list = useRef(null);
  useEffect(() => want({}), []);
  const waiting = useComputed(() => status.value?.approvals);
  useSignalEffect(() => {
    void waiting.value;
    look();
    lookBack();
  });
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && requests.value?.length && look(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => addKeys(keys(list)), []);
  const decided = async (request, decision) => {
    await decide(request, decision);
    if (!document.activeElement || document.activeElement === document.body) title.current?.focus();
  };
  const found = requests.value;
  const asked = found?.filter(({ state }) => state === "asked") ?? [];
  return html`
    <div class="head">
      <h1 ref=${title} tabindex="-1">Approvals</h1>
      ${
        found &&
        html`
          <span class="muted" role="status">
            ${asked.length ? `${count(asked.length, "request", "requests")} waiting for you` : ""}
          </span>
        `
      }
    </div>
    ${error.value && html`<section class="panel"><${Problem} error=${error.value} /></section>`}
    ${!found && !error.value && html`<${Waiting} />`}
    ${
      found?.length === 0 && html`<section class="panel"><${Empty} title="No pending requests">${NOTHING}<//></section>`
    }
    <div class="stack" ref=${list}>
      ${found?.map((request) => html`<${Request} key=${request.id} request=${request} decide=${decided} />`)}
    </div>
    <${Lately} events=${lately.value} />
  `;
}

const NOTHING =
  "Requests appear here when an agent asks to use a tool, or to send to, end or kill a session that is not its own.";

function keys(list) {
  const step = (by) => () => {
    const cards = [...(list.current?.children ?? [])];
    const here = cards.findIndex((card) => card.contains(document.activeElement));
    cards[here < 0 ? 0 : Math.max(0, Math.min(cards.length - 1, here + by))]?.focus();
  };
  return [
    { keys: ["j"], does: "next request", act: step(1) },
    { keys: ["k"], does: "request before", act: step(-1) },
  ];
}
