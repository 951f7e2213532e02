// What happened to a session, and who did it: its part of the audit log, the newest first.

import { html, useEffect, useState } from "../../../vendor/preact.js";
import { call } from "../../api.js";
import { day, full } from "../../format.js";
import { Empty, Problem, Waiting } from "../../parts/empty.js";

const LOOK_MS = 2000;

/** Events so far, and those that come; none missing, none twice. */
function useEvents(session) {
  const [found, setFound] = useState({ events: null, problem: null });
  useEffect(() => {
    let over = false;
    let timer = 0;
    let last = 0;
    const look = async () => {
      try {
        const { events } = document.hidden && last ? { events: [] } : await call("list_events", { session, since: last });
        if (over) return;
        last = events.at(-1)?.n ?? last;
        setFound(({ events: known, problem }) => (known && !events.length && !problem ? { events: known, problem } : { events: [...(known ?? []), ...events], problem: null }));
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

export const detailWords = (detail) =>
  Object.entries(detail)
    .filter(([name]) => name !== "since" && name !== "key")
    .filter(([, value]) => value !== "" && value !== null && value !== false && !(typeof value === "object" && !Object.keys(value).length))
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(" · ");

const time = (moment) => new Date(moment).toLocaleTimeString("en-GB");

export function Events({ session }) {
  const { events, problem } = useEvents(session.id);
  if (problem && !events) return html`<section class="panel"><${Problem} error=${problem} /></section>`;
  if (!events) return html`<${Waiting} />`;
  if (!events.length) return html`<section class="panel"><${Empty} title="Nothing yet">What happens to the session is written down here.<//></section>`;
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
    </section>
  `;
}
