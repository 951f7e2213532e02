// What happened to a session, and who did it: its part of the audit log, the newest first.

import { html, useEffect, useState } from "../../../vendor/preact.js";
import { call } from "../../api.js";
import { day, full } from "../../format.js";
import { Empty, Problem, Waiting } from "../../parts/empty.js";

const LOOK_MS = 2000;
const FIRST = 1000;

/** The newest events so far, and those that come; none of these missing, none twice. `older`: there may be more before them. */
function useEvents(session) {
  const [found, setFound] = useState({ events: null, problem: null, older: false });
  useEffect(() => {
    let over = false;
    let timer = 0;
    let last = 0;
    const look = async () => {
      try {
        const { events } =
          document.hidden && last ? { events: [] } : await call("list_events", { session, since: last, limit: FIRST });
        if (over) return;
        last = events.at(-1)?.n ?? last;
        setFound((before) => add(before, events));
      } catch (problem) {
        if (!over) setFound((known) => ({ ...known, problem }));
      }
      if (!over) timer = setTimeout(look, LOOK_MS);
    };
    look();
    return () => ((over = true), clearTimeout(timer));
  }, [session]);
  return found;
}

const add = (before, events) =>
  before.events && !events.length && !before.problem
    ? before
    : {
        events: [...(before.events ?? []), ...events],
        problem: null,
        older: before.events ? before.older : events.length === FIRST,
      };

export const detailWords = (detail) =>
  Object.entries(detail)
    .filter(([name]) => name !== "since" && name !== "key")
    .filter(
      ([, value]) =>
        value !== "" && value !== null && value !== false && !(typeof value === "object" && !Object.keys(value).length),
    )
    .map(
      ([name, value]) => `${name.replaceAll("_", " ")}: ${typeof value === "object" ? JSON.stringify(value) : value}`,
    )
    .join(" · ");

const time = (moment) => new Date(moment).toLocaleTimeString("en-GB");

export function Events({ session }) {
  const { events, problem, older } = useEvents(session.id);
  if (problem && !events) return html`<section class="panel"><${Problem} error=${problem} /></section>`;
  if (!events) return html`<${Waiting} />`;
  if (!events.length)
    return html`
      <section class="panel"><${Empty} title="No events yet">Events of this session appear here.<//></section>
    `;
  return html`
    <section class="panel" aria-label="Events">
      <ol class="events">
        ${events.toReversed().map(
          (event) => html`
            <li key=${event.n}>
              <time dateTime=${event.at} title=${full(event.at)} class="muted number">${day(event.at)}, ${time(event.at)}</time>
              <strong>${event.action.replaceAll("_", " ")}</strong>
              <span class="muted">by ${event.by}</span>
              <span class="detail">${detailWords(event.detail)}</span>
            </li>
          `,
        )}
      </ol>
      ${
        older &&
        html`
          <p class="body muted">
            For earlier events, run <code>lamp events ${session.id} --limit 100000</code>
          </p>
        `
      }
    </section>
  `;
}
