// What was said in a session, as messages, following. Where an agent keeps no transcript, its output as text.

import { html, useEffect, useLayoutEffect, useRef, useState } from "../../../vendor/preact.js";
import { call } from "../../api.js";
import { clock, full } from "../../format.js";
import { Empty, Problem, Waiting } from "../../parts/empty.js";
import { Composer } from "./composer.js";

const LOOK_MS = 1000;
const FIRST = 200;
const PAGE = 1 << 20;
const NAMES = { user: "You", assistant: "Agent", tool: "Tool" };

/** {messages, text, whole, problem, all}: as messages, or as one text. */
function useSpoken(session) {
  const [found, setFound] = useState({ messages: null, text: null, whole: true, problem: null });
  const [all, setAll] = useState(false);
  useEffect(() => {
    let over = false;
    let timer = 0;
    let cursor = all ? 0 : null;
    let mode = "transcript";
    setFound((known) => ({ ...known, messages: all ? [] : known.messages }));
    const look = async () => {
      try {
        const more = document.hidden && cursor !== null ? false : await read();
        if (!over) timer = setTimeout(look, more ? 0 : LOOK_MS);
      } catch (problem) {
        if (over) return;
        if (problem.code === "UNSUPPORTED" && mode === "transcript") [mode, cursor] = ["output", 0];
        else setFound((known) => ({ ...known, problem }));
        timer = setTimeout(look, LOOK_MS);
      }
    };
    const read = async () => {
      const place = cursor === null ? { lines: FIRST } : { since: cursor };
      const page = await call("read_output", { session, mode, ...place, limit: PAGE });
      if (over) return false;
      const first = cursor === null;
      cursor = page.cursor;
      setFound((known) => add(known, page, mode, first));
      return page.more;
    };
    look();
    return () => ((over = true), clearTimeout(timer));
  }, [session, all]);
  return { ...found, showAll: () => setAll(true) };
}

function add(known, page, mode, first) {
  if (mode === "output")
    return page.text || known.text === null ? { ...known, text: (known.text ?? "") + page.text, problem: null } : known;
  if (!first && !page.messages.length && known.messages && !known.problem) return known;
  const messages = [...(first ? [] : (known.messages ?? [])), ...page.messages];
  return { ...known, messages, whole: first ? page.messages.length < FIRST : known.whole || !first, problem: null };
}

export function Conversation({ session }) {
  const found = useSpoken(session.id);
  const place = useRef(null);
  const atEnd = useRef(true);
  const size = found.messages?.length ?? found.text?.length ?? 0;
  // Who reads what was said before is not torn away from it.
  useLayoutEffect(
    () => void (atEnd.current && place.current && (place.current.scrollTop = place.current.scrollHeight)),
    [size],
  );
  if (found.problem && !size) return html`<section class="panel"><${Problem} error=${found.problem} /></section>`;
  if (found.messages === null && found.text === null) return html`<${Waiting} />`;
  const scrolled = ({ target }) => (atEnd.current = target.scrollHeight - target.scrollTop - target.clientHeight < 40);
  return html`
    <section class="panel talk" aria-label="Conversation">
      <div class="messages" ref=${place} onScroll=${scrolled} tabindex="0" role="log" aria-label="Messages">
        ${!size && html`<${Empty} title="No messages yet">Messages appear here as they arrive.<//>`}
        ${!found.whole && html`<button class="quiet" onClick=${found.showAll}>Show all messages</button>`}
        ${
          found.text !== null
            ? html`<pre class="text">${found.text}</pre>`
            : found.messages.map((message, place) => html`<${Message} key=${place} message=${message} />`)
        }
      </div>
      ${session.state === "running" && html`<${Composer} session=${session} />`}
    </section>
  `;
}

const Message = ({ message }) => html`
  <article class=${`message ${Object.hasOwn(NAMES, message.role) ? message.role : "other"}`}>
    <header>
      <strong>${NAMES[message.role] ?? message.role}</strong>
      ${
        message.at &&
        html`<time class="muted" dateTime=${message.at} title=${full(message.at)}>${clock(message.at)}</time>`
      }
    </header>
    <div class="text">${message.text}</div>
  </article>
`;
