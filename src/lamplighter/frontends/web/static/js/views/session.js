// One session: its terminal or what it has instead, what is known of it, and what can be done to it.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { endSession } from "../acts/end.js";
import { killSession } from "../acts/kill.js";
import { protectSession } from "../acts/protect.js";
import { sendTo } from "../acts/send.js";
import { addKeys } from "../keys.js";
import { detail, problem, want } from "../live.js";
import { Empty, Problem, Waiting } from "../parts/empty.js";
import { Verdict } from "../parts/verdict.js";
import { go, href, replace, route } from "../route.js";
import { Conversation } from "./session/conversation.js";
import { Events } from "./session/events.js";
import { Facts } from "./session/facts.js";
import { Handoff } from "./session/handoff.js";
import { Lineage } from "./session/lineage.js";
import { Picture } from "./session/picture.js";
import { Playback } from "./session/playback.js";
import { Processes } from "./session/processes.js";
import { Terminal } from "./session/terminal.js";

const TABS = {
  terminal: {
    title: (session) => (session.driver === "headless" ? "Log" : session.state === "ended" ? "Recording" : "Terminal"),
    View: Output,
  },
  conversation: { title: () => "Conversation", View: Conversation },
  processes: { title: (session) => (session.state === "ended" ? "Certificate" : "Processes"), View: Processes },
  events: { title: () => "Events", View: Events },
  handoff: { title: () => "Hand-off", View: Handoff },
  lineage: { title: () => "Lineage", View: Lineage },
};

function tabsOf(session) {
  const speaks = session.driver === "acp" || session.conversation || session.tokens;
  const hidden = new Set([...(speaks ? [] : ["conversation"]), ...(session.driver === "acp" ? ["terminal"] : [])]);
  return Object.keys(TABS).filter((name) => !hidden.has(name));
}

const WITHOUT = {
  logical: "An agent reports this session itself. Lamplighter holds no process or terminal for it.",
  registered:
    "This session runs in its own terminal. Lamplighter can see and end its processes, but cannot show its screen.",
};

function Output({ session }) {
  const isLog = session.driver === "headless";
  if (session.driver in WITHOUT)
    return html`<section class="panel"><${Empty} title="No terminal">${WITHOUT[session.driver]}<//></section>`;
  if (session.state === "ended") return html`<${Playback} key="recording" session=${session} isLog=${isLog} />`;
  if (session.state === "starting") return html`<${Waiting} />`;
  if (session.driver === "tmux") return html`<${Tmux} session=${session} />`;
  return html`<${Terminal} key="live" session=${session} isLog=${isLog} />`;
}

const Tmux = ({ session }) => {
  const place = session.tmux;
  const command = place?.socket ? `tmux -S ${place.socket} attach-session -t '=${place.name ?? place.session}'` : null;
  return html`<${Picture} session=${session} why=${command && { hint: command }} />`;
};

export function Session({ id, rest }) {
  const [asked, setAsked] = useState(null); // until then what is known is of the session that was looked at before
  useEffect(() => (want({ session: id }), setAsked(id)), [id]);
  useEffect(() => addKeys([{ keys: ["u", "Escape"], does: "back to the list", act: () => go(["sessions"]) }]), []);
  if (problem.value && asked === id)
    return html`<${Back} /><h1 class="sr">Session</h1><${Problem} error=${problem.value} />`;
  const session = asked === id ? detail.value : null;
  if (!session) return html`<${Back} /><h1 class="sr">Session</h1><${Waiting} />`;
  const tabs = tabsOf(session);
  const tab = tabs.includes(rest[0]) ? rest[0] : tabs[0];
  const { View } = TABS[tab];
  return html`
    <${Head} session=${session} />
    <${Tabs} session=${session} word=${id} tabs=${tabs} tab=${tab} />
    <div class="session">
      <div class="tab" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${tab}`}>
        <${View} key=${tab} session=${session} />
      </div>
      <${Facts} session=${session} />
    </div>
  `;
}

const Back = () => html`<a class="back" href="#/sessions">← Sessions</a>`;

/** What can be done to it; keys and buttons are the same. */
const ACTS = [
  { key: "s", word: "Send", does: "send text to it", act: sendTo, fits: ({ driver }) => !(driver in WITHOUT) },
  {
    key: "p",
    word: (session) => (session.protected ? "Unprotect" : "Protect"),
    does: "protect or unprotect it",
    act: protectSession,
  },
  { key: "e", word: "End", does: "end it", act: endSession },
  { key: "K", word: "Kill", does: "kill it", act: killSession, kind: "danger soft" },
];

const actsOf = (session) => (session.state === "ended" ? [] : ACTS.filter(({ fits }) => !fits || fits(session)));

function Head({ session }) {
  const { id, state } = session;
  useEffect(() => {
    const acts = actsOf(detail.peek() ?? session);
    return addKeys(acts.map(({ key, does, act }) => ({ keys: [key], does, act: () => act(detail.peek()) })));
  }, [id, state]);
  return html`
    <div class="session-head">
      <${Back} />
      <div class="head">
        <div class="row title">
          <h1>${session.name}</h1>
          <${Verdict} row=${session} />
          ${session.protected && html`<span class="chip">protected</span>`}
          <span class="muted">${session.agent}${session.project ? ` in ${session.project}` : ""}</span>
        </div>
        <div class="row acts">
          ${actsOf(session).map(
            ({ key, word, act, kind }) => html`
              <button key=${key} class=${kind ?? ""} onClick=${() => act(session)}>
                ${typeof word === "string" ? word : word(session)} <kbd>${key}</kbd>
              </button>
            `,
          )}
        </div>
      </div>
    </div>
  `;
}

function Tabs({ session, word, tabs, tab }) {
  const show = (name) => replace(["sessions", word, ...(name === tabs[0] ? [] : [name])]);
  // From where one is by now, not from where one was when this was drawn: keys may come faster.
  const step = (by) => {
    const now = route.peek().path[2] ?? tabs[0];
    const next = tabs[(tabs.indexOf(now) + by + tabs.length) % tabs.length];
    show(next);
    return next;
  };
  useEffect(
    () =>
      addKeys([
        { keys: ["]"], does: "next tab", act: () => void step(1) },
        { keys: ["["], does: "tab before", act: () => void step(-1) },
      ]),
    [tab, tabs.join(" ")],
  );
  const arrow = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    document.getElementById(`tab-${step(by)}`)?.focus();
  };
  return html`
    <div class="tabs" role="tablist" aria-label="About this session" onKeyDown=${arrow}>
      ${tabs.map(
        (name) => html`
          <a
            key=${name}
            id=${`tab-${name}`}
            role="tab"
            aria-selected=${name === tab}
            aria-controls="tab-panel"
            tabindex=${name === tab ? 0 : -1}
            href=${href(["sessions", word, ...(name === tabs[0] ? [] : [name])])}
          >
            ${TABS[name].title(session)}
          </a>
        `,
      )}
    </div>
  `;
}
