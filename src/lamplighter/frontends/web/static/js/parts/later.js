// A view that is fetched when it is first looked at, so that the page need not wait for those that nobody looks at yet.

import { html, signal, useEffect } from "../../vendor/preact.js";
import { unreachable } from "../api.js";
import { connection } from "../live.js";
import { Problem, Waiting } from "./empty.js";

const REST_MS = 10_000;

/** A component in place of the one that `load` promises. `bring` fetches it before it is needed. */
export function later(load) {
  const found = signal(null);
  const failed = signal(false);
  let loading = null;
  const bring = () =>
    (loading ??= load().then(
      (View) => (settled(), (found.value = View)),
      () => ((loading = null), (failed.value = true)),
    ));
  function Later(props) {
    bring();
    const missing = failed.value && !found.value && connection.value === "live";
    useEffect(() => (missing ? reloadSoon() : undefined), [missing]);
    if (found.value) return html`<${found.value} ...${props} />`;
    return failed.value ? html`<${Problem} error=${unreachable()} />` : html`<${Waiting} />`;
  }
  return Object.assign(Later, { bring });
}

// The daemon was away just then. A browser remembers for as long as the page is open what it could not fetch, so the page is
// loaded anew once the daemon is there; where that does not help, again and again, but less and less often.
function reloadSoon() {
  const times = history.state?.reloads ?? 0;
  const reload = () => {
    history.replaceState({ ...history.state, reloads: times + 1 }, "");
    location.reload();
  };
  const timer = setTimeout(reload, Math.max(0, REST_MS * 2 ** Math.min(times, 6) - performance.now()));
  return () => clearTimeout(timer);
}

const settled = () => history.state?.reloads && history.replaceState({ ...history.state, reloads: 0 }, "");
