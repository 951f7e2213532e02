// The page: logging in, which view is shown, and what is around it. Knows the views by name alone.

import { effect, html, render, useEffect, useLayoutEffect, useRef } from "../vendor/preact.js";
import { hasLogin, login } from "./api.js";
import { addKeys } from "./keys.js";
import { admit, connection, detail, status } from "./live.js";
import { Dialogs, openDialog } from "./parts/dialog.js";
import { Help } from "./parts/help.js";
import { later } from "./parts/later.js";
import "./parts/pointer.js";
import { sayError, Toasts } from "./parts/toast.js";
import { go, href, route } from "./route.js";
import { theme, toggleTheme } from "./theme.js";

const REST_MS = 1500;
const GUARANTEES = {
  kernel: "Verified kills",
  tree: "Kills verified by process tree",
  best_effort: "Best-effort kills",
};
const VIEWS = {
  sessions: {
    title: "Sessions",
    key: "1",
    View: later(() => import("./views/sessions.js").then((found) => found.Sessions)),
  },
  cleanup: {
    title: "Cleanup",
    key: "2",
    View: later(() => import("./views/cleanup.js").then((found) => found.Cleanup)),
  },
  approvals: {
    title: "Approvals",
    key: "3",
    View: later(() => import("./views/approvals.js").then((found) => found.Approvals)),
  },
  memory: { title: "Memory", key: "4", View: later(() => import("./views/memory.js").then((found) => found.Memory)) },
  timeline: {
    title: "Timeline",
    key: "5",
    View: later(() => import("./views/timeline.js").then((found) => found.Timeline)),
  },
};
const Session = later(() => import("./views/session.js").then((found) => found.Session));

const here = () => (Object.hasOwn(VIEWS, route.value.path[0] ?? "") ? route.value.path[0] : "sessions");
const viewAt = (name, path) => (name === "sessions" && path[1] ? Session : VIEWS[name].View);

function Navigation() {
  const waiting = status.value?.approvals ?? 0;
  return html`
    <nav class="side" aria-label="Views">
      <a class="brand" href="#/sessions" aria-label="Lamplighter">
        <img src="/icon.svg" alt="" width="28" height="28" /><span>Lamplighter</span>
      </a>
      <ul>
        ${Object.entries(VIEWS).map(
          ([name, { title }]) => html`
            <li key=${name}>
              <a href=${href([name])} aria-current=${here() === name ? "page" : null}>
                ${title}
                ${
                  name === "approvals" &&
                  waiting > 0 &&
                  html`<span class="badge" aria-label=${`${waiting} waiting`}>${waiting}</span>`
                }
              </a>
            </li>
          `,
        )}
      </ul>
      <div class="foot">
        <${Host} />
        <div class="row">
          <button class="quiet" onClick=${toggleTheme} aria-label=${`Use the ${theme.value === "dark" ? "light" : "dark"} theme`}>
            ${theme.value === "dark" ? "Light" : "Dark"}
          </button>
          <button class="quiet help" onClick=${() => openDialog(Help)}>Keys <kbd>?</kbd></button>
        </div>
      </div>
    </nav>
  `;
}

function Host() {
  const found = status.value;
  const words = { connecting: "connecting…", live: "live", lost: "disconnected", denied: "not logged in" };
  return html`
    <div class=${`host ${connection.value}`}>
      <span class="dot" aria-hidden="true"></span>${words[connection.value]}
      ${found && html`<small>${found.alive} alive · ${GUARANTEES[found.guarantee] ?? found.guarantee}</small>`}
    </div>
  `;
}

const Lost = () =>
  connection.value === "lost" &&
  html`
    <div class="banner" role="alert">
      <strong>The daemon does not respond.</strong> This is the last known state. Sessions keep running without it, and the
      page reconnects on its own. To start the daemon, run <code>lamp up</code>.
    </div>
  `;

const Denied = () => html`
  <main class="denied">
    <img src="/icon.svg" alt="" width="64" height="64" />
    <h1>Log in from your shell</h1>
    <p>Only someone who can run commands as you on this machine can see your sessions. In a terminal, run:</p>
    <pre><code>lamp open</code></pre>
    <p class="muted">
      It opens this page with a one-time link. If you followed such a link, it was already used or has expired.
    </p>
  </main>
`;

/** What had the focus is gone with its view: what follows is read, and tabbed through, from the top of the new one. */
function useFocus(main, view) {
  const before = useRef(view);
  useLayoutEffect(() => {
    if (before.current === view) return;
    before.current = view;
    if (!document.activeElement || document.activeElement === document.body)
      main.current?.focus({ preventScroll: true });
  }, [view]);
}

function App() {
  useEffect(
    () =>
      addKeys([
        { keys: ["?"], does: "show this help", act: () => openDialog(Help) },
        ...Object.entries(VIEWS).map(([name, { title, key }]) => ({
          keys: [key],
          does: title.toLowerCase(),
          act: () => go([name]),
        })),
      ]),
    [],
  );
  const { path, query } = route.value;
  const name = here();
  const main = useRef(null);
  useFocus(main, path.slice(0, 2).join("/") || name);
  if (connection.value === "denied") return html`<${Denied} /><${Toasts} />`;
  const View = viewAt(name, path);
  document.body.dataset.view = View === Session ? "session" : name; // a view's own style is for it alone
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <${Navigation} />
    <div class="content">
      <${Lost} />
      <main id="main" tabindex="-1" ref=${main}>
        <${View} key=${path.slice(0, 2).join("/") || name} id=${path[1]} rest=${path.slice(2)} query=${query} />
      </main>
    </div>
    <${Dialogs} />
    <${Toasts} />
  `;
}

// What waits for the operator is said where it is seen from another tab.
effect(() => {
  const waiting = status.value?.approvals ?? 0;
  const { path } = route.value;
  const session = here() === "sessions" && path[1] && (detail.value?.name ?? "Session");
  const title = session || VIEWS[here()].title;
  document.title = `${waiting ? `(${waiting}) ` : ""}${title} · Lamplighter`;
});

/** With a link in the address, also in that of a page that is open already: it is taken out of it at once. */
async function enter() {
  const link = /^#login=(.+)$/.exec(location.hash)?.[1];
  if (!link) return;
  history.replaceState(null, "", "#/sessions");
  route.value = { path: ["sessions"], query: {} };
  try {
    await login(link);
    admit();
  } catch (error) {
    if (!hasLogin()) connection.value = "denied";
    sayError(error);
  }
}

async function begin() {
  await enter();
  addEventListener("hashchange", enter);
  const place = document.getElementById("app");
  place.replaceChildren(); // what stood there until now is no part of it
  render(html`<${App} />`, place);
  if (connection.value !== "denied") bringTheRest();
}

/** The other views, once this one shows what it has: a click should find them here, also while the daemon is away. */
function bringTheRest() {
  const stop = effect(() => {
    if (connection.value !== "live") return;
    queueMicrotask(() => stop());
    setTimeout(() => {
      for (const { View } of [{ View: Session }, ...Object.values(VIEWS)]) View.bring();
    }, REST_MS);
  });
}

begin();
